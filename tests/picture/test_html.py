"""`symgrad.graph.to_html` and `show`: one file, nothing from outside, data that stays data."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import networkx as nx
import pytest
import tensorflow.compat.v1 as tf

from symgrad.graph import build, show, to_html

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "&lt;b&gt;\u2028'\"`${alert(1)}",
    "\u202egnp.exe\u0000\u001b[2J",
    "@data@ @script@ \\1 \\g<0>",
    "ein_Wort_für_ümläut_表",
]


class Elements(HTMLParser):
    """Every element and the text in scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.at = [], [], -1
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.inside.append("")
        self.at = len(self.found) - 1

    def handle_endtag(self, tag):
        self.at = -1

    def handle_data(self, data):
        if self.at >= 0:
            self.inside[self.at] += data

    def text(self, tag, **attrs):
        wanted = [i for i, (name, own) in enumerate(self.found) if name == tag and attrs.items() <= own.items()]
        assert len(wanted) == 1
        return self.inside[wanted[0]]


def network():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [4, 4], use_resource=False)
            y = tf.reduce_sum(tf.tanh(x @ w), name="y")
        tf.gradients(y, x)
    return graph


def data_of(page):
    return json.loads(Elements(page).text("script", type="application/json"))


def test_is_one_file_without_addresses(tmp_path):
    page = to_html(build(network()), tmp_path / "g.html")
    assert (tmp_path / "g.html").read_text(encoding="utf-8") == page
    assert (tmp_path / "g.html").read_bytes() == page.encode()
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", page)


def test_the_same_graph_gives_the_same_text():
    assert to_html(build(network()), color="type") == to_html(build(network()), color="type")


def test_the_policy_allows_exactly_the_script_and_style_in_the_file():
    elements = Elements(to_html(build(network())))
    policy = next(own["content"] for tag, own in elements.found if own.get("http-equiv") == "Content-Security-Policy")
    digests = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("script", elements.text("script", type="module")), ("style", elements.text("style")))
    }
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests['script']}'; style-src 'sha256-{digests['style']}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_ops_carry_what_the_panel_tells():
    graph = build(network())
    data = data_of(to_html(graph))
    ops, names = data["ops"], names_of(data)
    assert set(names) == set(graph)
    at = names.index("layer/matmul")
    assert data["types"][ops["type"][at]] == "MatMul"
    assert data["outputs"][ops["outputs"][at]] == ["float32 [?, 4]"]
    assert "transpose_a = False" in data["attributes"][ops["attributes"][at]]
    assert re.search(r"test_html\.py:\d+$", data["wheres"][ops["where"][at]])
    backward = [i for i, pair in enumerate(ops["pair"]) if pair == at]
    assert backward
    assert {graph.nodes[names[i]]["pair"] for i in backward} == {"layer/matmul"}


def names_of(data):
    """Names of the ops, by the rule in `_pack`."""
    groups, ops = data["groups"], data["ops"]
    group_names = []
    for i, name in enumerate(groups["name"]):
        around = groups["parent"][i]
        while around > 0 and groups["kind"][around] == 2:
            around = groups["parent"][around]
        derived = f"{group_names[around]}/{groups['label'][i]}" if around > 0 else groups["label"][i]
        group_names.append(name or derived)
    return [
        group_names[group] if last == 0 else f"{data['scopes'][scope]}/{last}" if data["scopes"][scope] else last
        for group, last, scope in zip(ops["group"], ops["last"], ops["scope"], strict=True)
    ]


def test_details_stay_out_when_asked():
    data = data_of(to_html(build(network()), details=False))
    assert data["attributes"] == [[]]
    assert data["wheres"] == [""]


def test_edges_survive_packing():
    graph = build(network())
    data = data_of(to_html(graph))
    names = names_of(data)
    edges = {
        (names[b - back], names[b]) for b, back in zip(data["edges"]["target"], data["edges"]["back"], strict=True)
    }
    assert edges == {(a, b) for a, b in graph.edges() if a != b}


def test_numbers_of_nodes_become_colourings():
    graph = build(network())
    nx.set_node_attributes(graph, {"layer/matmul": 2.5, "layer/y": float("nan")}, "seconds")
    data = data_of(to_html(graph, color="seconds"))
    assert data["colour"] == "seconds"
    values = dict(zip(names_of(data), data["numbers"]["seconds"], strict=True))
    assert values["layer/matmul"] == 2.5
    assert {value for name, value in values.items() if name != "layer/matmul"} == {None}
    with pytest.raises(ValueError, match=r"color is 'flops'; this graph can be coloured by role, .*, seconds"):
        to_html(graph, color="flops")


def test_a_graph_whose_file_is_gone_has_a_picture_without_attributes(tmp_path):
    (tmp_path / "g.pb").write_bytes(network().as_graph_def().SerializeToString())
    graph = build(tmp_path / "g.pb")
    assert len(data_of(to_html(graph))["attributes"]) > 1
    (tmp_path / "g.pb").unlink()
    assert data_of(to_html(graph))["attributes"] == [[]]


def test_hostile_names_stay_data():
    nodes = [
        tf.NodeDef(name=name, op=f"Op{name}", device=name, attr={name: tf.AttrValue(s=name.encode())})
        for name in HOSTILE
    ]
    page = to_html(build(tf.GraphDef(node=nodes)), title=HOSTILE[0])
    plain = to_html(build(network()))
    tags = [[(tag, own.get("id")) for tag, own in Elements(each).found] for each in (page, plain)]
    assert tags[0] == tags[1], "no element more than with harmless names"
    names = names_of(data_of(page))
    for name in HOSTILE:
        if name.isprintable():
            assert name in names
    assert not re.search("[\u202e\u0000\u001b\u2028]", page)


def test_an_empty_graph_and_a_graph_by_hand_have_pictures_too():
    assert data_of(to_html(build(tf.Graph())))["ops"]["last"] == []
    by_hand = nx.MultiDiGraph([("a", "b"), ("b", "c")])
    assert names_of(data_of(to_html(by_hand))) == ["a", "b", "c"]


def test_show_puts_the_page_into_a_frame_that_cannot_reach_out():
    graph = build(network())
    shown = show(graph, height=300, title='a "quoted" <title>')._repr_html_()
    frame = Elements(shown)
    assert [tag for tag, _ in frame.found] == ["iframe"]
    (_, attrs) = frame.found[0]
    assert attrs["sandbox"] == "allow-scripts"
    assert "300px" in attrs["style"]
    assert attrs["srcdoc"] == to_html(graph, title='a "quoted" <title>')
    assert html.escape("<title>") in attrs["srcdoc"]
