"""JSON and GraphML come back from networkx as they went; PNG and PDF are what they claim to be."""

import io
import json
import re
import sys
import zlib

import networkx as nx
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from matplotlib import image

from symgrad.graph import build, to_graphml, to_json, to_pdf, to_png, to_svg


@pytest.fixture(scope="module")
def graph():
    with tf.Graph().as_default() as live:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [4, 4], use_resource=False)
            y = tf.reduce_sum(tf.tanh(x @ w) * x, name="y")
        with tf.control_dependencies([y]):
            tf.no_op(name="after")
        tf.gradients(y, x)
    return build(live)


def as_lists(value):
    return json.loads(json.dumps(value))


def test_json_comes_back(graph, tmp_path):
    text = to_json(graph, tmp_path / "g.json")
    assert (tmp_path / "g.json").read_text() == text
    back = nx.node_link_graph(json.loads(text), edges="edges")
    assert {name: as_lists(node) for name, node in graph.nodes(data=True)} == dict(back.nodes(data=True))
    assert {(*edge[:3], str(as_lists(edge[3]))) for edge in graph.edges(keys=True, data=True)} == {
        (*edge[:3], str(edge[3])) for edge in back.edges(keys=True, data=True)
    }


def test_json_takes_measured_numbers(graph):
    copy = graph.copy()
    nx.set_node_attributes(copy, np.float32(0.5), "seconds")
    assert {node["seconds"] for node in json.loads(to_json(copy))["nodes"]} == {0.5}


def test_graphml_comes_back(graph, tmp_path):
    text = to_graphml(graph, tmp_path / "g.graphml")
    back = nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    assert (tmp_path / "g.graphml").read_text(encoding="utf-8") == text
    assert set(back) == set(graph)
    assert sorted(back.edges()) == sorted(graph.edges())
    for name in graph:
        for key in ("type", "role", "order", "dead", "pair"):
            assert back.nodes[name].get(key) == graph.nodes[name][key]
    assert back.nodes["layer/matmul"]["outputs"] == "float32 [?, 4]"
    kinds = sorted((a, b, kind) for a, b, kind in graph.edges(data="kind"))
    assert sorted((a, b, kind) for a, b, kind in back.edges(data="kind")) == kinds


def test_hostile_names_survive_json_and_stay_legal_in_graphml():
    names = ["</node><!--", 'a"b', "&amp;", "null\x00bell\x07", "\u202eexe"]
    hostile = build(tf.GraphDef(node=[tf.NodeDef(name=name, op="Abs") for name in names]))
    assert [node["id"] for node in json.loads(to_json(hostile))["nodes"]] == names
    back = nx.parse_graphml(to_graphml(hostile))
    assert sorted(back) == sorted([*names[:3], "null\ufffdbell\ufffd", "\ufffdexe"])


def test_png_is_the_picture(graph, tmp_path):
    to_png(graph, tmp_path / "g.png", scale=1.5)
    pixels = image.imread(tmp_path / "g.png")
    width, height = (float(value) for value in re.search(r'width="([\d.]+)" height="([\d.]+)"', to_svg(graph)).groups())
    assert pixels.shape[:2] == pytest.approx((1.5 * height, 1.5 * width), abs=1.5)
    blue, orange = np.array([0x00, 0x72, 0xB2]) / 255, np.array([0xD5, 0x5E, 0x00]) / 255
    for colour in (blue, orange):
        assert np.sum(np.all(np.abs(pixels[..., :3] - colour) < 0.02, axis=-1)) > 50, "lines of both halves"


def test_pdf_has_vector_letters(graph, tmp_path):
    to_pdf(graph, tmp_path / "g.pdf", fold=9)
    content = (tmp_path / "g.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert re.search(rb"/Type\s*/Font\b", content + b"".join(_streams(content))), "letters are set in a font"
    assert b"/Subtype /Image" not in content


def _streams(content):
    for match in re.finditer(rb"stream\r?\n", content):
        try:
            yield zlib.decompressobj().decompress(io.BytesIO(content[match.end() :]).read())
        except zlib.error:
            continue


@pytest.mark.parametrize(
    ("missing", "advice"),
    [(None, r"pip install 'symgrad\[pictures\]'"), (OSError("no library called cairo"), "apt-get install libcairo2")],
)
def test_without_cairo_it_says_what_to_install(graph, tmp_path, monkeypatch, missing, advice):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "cairosvg":
                raise missing or ImportError(name)

    monkeypatch.delitem(sys.modules, "cairosvg", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ImportError, match=advice):
        to_pdf(graph, tmp_path / "g.pdf")


def test_pictures_of_the_way_alone(graph):
    text = to_svg(graph, ys="layer/y", xs="x", fold=9)
    assert "layer/Tanh" in text
    assert "layer/w\n" not in text
    assert "after" not in text


def test_legend_names_only_what_occurs(graph):
    full = to_svg(graph, fold=9, title="")
    assert "value used in another column" in full
    with tf.Graph().as_default() as plain:
        tf.sin(tf.placeholder(tf.float32, [1], name="x"))
    alone = to_svg(build(plain), title="")
    for entry in ("value used in another column", "folded ops", "order only", ">gradient<"):
        assert entry not in alone
