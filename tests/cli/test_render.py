"""`symgrad render` in every format, and `symgrad view`."""

import json
import re
import webbrowser
from pathlib import Path
from urllib.parse import urlparse

import networkx as nx
import pydot
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.pb"
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            y = tf.tanh(x @ tf.get_variable("w", [4, 2], use_resource=False), name="y")
        tf.gradients(tf.reduce_sum(y, name="loss"), x)
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def run(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


STARTS = {".html": b"<!doctype html>", ".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".dot": b"digraph"}


@pytest.mark.parametrize("suffix", [*STARTS, ".json", ".graphml", ".SVG"])
def test_every_format(model, suffix, tmp_path, capsys):
    out = tmp_path / f"g{suffix}"
    code, said, err = run(["render", model, "-o", out], capsys)
    assert (code, err) == (0, "")
    assert "ops" in said
    assert out.read_bytes().startswith(STARTS.get(suffix.lower(), b""))
    readers = {
        ".json": lambda: nx.node_link_graph(json.loads(out.read_text()), edges="edges"),
        ".graphml": lambda: nx.read_graphml(out),
        ".dot": lambda: pydot.graph_from_dot_file(out)[0].get_subgraph_list() or True,
    }
    if suffix in (".json", ".graphml"):
        assert "layer/y" in readers[suffix]()
    elif suffix == ".dot":
        assert readers[suffix]()


def test_options_reach_the_picture(model, tmp_path, capsys):
    out = tmp_path / "g.html"
    assert run(["render", model, "-o", out, "--color", "type", "--fold", "0", "--ys", "layer/y"], capsys)[0] == 0
    page = out.read_text(encoding="utf-8")
    assert '"colour":"type"' in page
    assert '"opened":[]' in page
    assert "loss" not in page.partition('id="data"')[2].partition("</script>")[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "g.gif"], "--out: should end in one of .html, .svg, .png, .pdf, .dot, .json, .graphml"),
        (
            ["-o", "g.dot", "--color", "type"],
            "--color: has no meaning for a .dot file, only for .html, .svg, .png, .pdf",
        ),
        (["-o", "g.svg", "--color", "type"], "--color: color is 'type'; this picture can be coloured by role"),
        (["-o", "g.svg", "--size", "batch=3"], "--size: needs --color cost or flops or bytes"),
        (["-o", "g.json", "--fold", "1"], "--fold: has no meaning for a .json file"),
        (["-o", "g.json", "--no-functions"], "--functions: has no meaning for a .json file"),
        (["-o", "g.html", "--constants"], "--constants: has no meaning for a .html file"),
        (["-o", "g.html", "--color", "taste"], "--color: color is 'taste'; this graph can be coloured by role, type"),
    ],
)
def test_wrong_options_are_said_in_one_line(model, arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(["render", model, *arguments], capsys)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("color", "measure"), [("cost", "flops"), ("bytes", "bytes")])
def test_colours_by_cost(model, color, measure, tmp_path, capsys):
    for suffix in ("html", "svg"):
        command = ["render", model, "-o", tmp_path / f"g.{suffix}", "--color", color, "--size", "batch=32"]
        assert run(command, capsys)[::2] == (0, "")
    assert f'"colour":"{measure}"' in (tmp_path / "g.html").read_text(encoding="utf-8")
    assert f">{measure} " in (tmp_path / "g.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("option", "drawn"), [([], True), (["--no-functions"], False)])
def test_functions_are_drawn_unless_not_wanted(option, drawn, tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        tf2.function(tf.sin)(tf.placeholder(tf.float32, [3]))
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert run(["render", tmp_path / "model.pb", "-o", tmp_path / "g.svg", *option], capsys)[::2] == (0, "")
    assert ("f (function)" in (tmp_path / "g.svg").read_text(encoding="utf-8")) == drawn


def test_sizes_that_are_not_known_are_said(model, tmp_path, capsys):
    code, _, err = run(["render", model, "-o", tmp_path / "g.svg", "--color", "cost"], capsys)
    assert code == 0
    assert re.search(r"the results of \d+ ops \('.*\) are of unknown size, counted as 0; say, .* --size batch=32", err)


@pytest.mark.parametrize(("found", "said"), [(True, "Opened"), (False, "There is no browser to open")])
def test_view_opens_the_browser(model, found, said, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or found)
    code, out, _ = run(["view", model, "--color", "dtype"], capsys)
    assert code == 0
    assert out.startswith(said)
    (address,) = asked
    assert '"colour":"dtype"' in Path(urlparse(address).path).read_text(encoding="utf-8")
