"""`symgrad.graph.to_svg`: well-formed, deterministic, mirrored, and safe with any name."""

from xml.etree import ElementTree

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad._picture._colours import RAMP, ramp
from symgrad.graph import build, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def network(layers=2):
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 4], name="x")
        for i in range(layers):
            with tf.variable_scope(f"layer{'ABCDEFGH'[i]}"):
                w = tf.get_variable("w", [4, 4], use_resource=False)
                h = tf.tanh(h @ w)
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h, name="loss"))
    return graph


def boxes(svg):
    """Label to (x, y) of every box and frame."""
    root = ElementTree.fromstring(svg)
    found = {}
    for group in root.iter(f"{SVG}g"):
        text = group.find(f"{SVG}text")
        rect = group.find(f"{SVG}rect")
        if text is not None and rect is not None:
            found.setdefault(text.text, []).append((float(rect.get("x")), float(rect.get("y"))))
    return found


def test_is_well_formed_and_written(tmp_path):
    graph = build(network())
    text = to_svg(graph, tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == text
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert float(root.get("width")) > 0
    assert float(root.get("height")) > 0


def test_the_same_graph_gives_the_same_text():
    assert to_svg(build(network())) == to_svg(build(network()))


def test_a_gradient_stands_to_the_right_of_its_forward_op_in_the_same_row():
    found = boxes(to_svg(build(network())))
    forward = sorted(found["Tanh"], key=lambda p: p[1])
    gradient = sorted(found["TanhGrad"], key=lambda p: p[1])
    assert len(forward) == len(gradient) == 2
    for (fx, fy), (gx, gy) in zip(forward, gradient, strict=True):
        assert gx > fx
        assert gy == fy
    assert forward[0][1] < forward[1][1], "inputs above outputs"


def test_fold_zero_draws_only_the_outermost_scopes():
    found = boxes(to_svg(build(network()), fold=0))
    assert set(found) == {
        "x", "loss", "layerA", "layerB", "GradientDescent",
    }  # fmt: skip


def test_fold_deep_draws_every_op_once():
    graph = build(network())
    text = to_svg(graph, fold=99, constants=True)
    titles = [t.text.splitlines()[0] for t in ElementTree.fromstring(text).iter(f"{SVG}title") if t.text]
    for name in graph:
        assert titles.count(name) >= 1, name


HOSTILE = [
    "</title><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a&b<c>'\"",
    "\u202egnp.exe",
    "tab\tnewline\nnull\x00bell\x07",
    "javascript:alert(1)",
    "]]>",
    "very/" * 60 + "deep",
    "x" * 5000,
    "ein_Wort_für_ümläut_表",
]


@pytest.mark.parametrize("constants", [False, True])
def test_hostile_names_stay_text(constants):
    nodes = [tf.NodeDef(name=name, op="Weird<op>&" if i % 2 else "Abs") for i, name in enumerate(HOSTILE)]
    nodes += [tf.NodeDef(name=f"{name}_after", op="Abs", input=[name]) for name in HOSTILE if name[0] != "^"]
    text = to_svg(build(tf.GraphDef(node=nodes)), constants=constants, title="<script>")
    root = ElementTree.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "defs", "marker", "path", "rect", "g", "text", "title",
    }  # fmt: skip
    for element in root.iter():
        assert not any(key.startswith("on") or "href" in key for key in element.attrib)
    assert "\u202e" not in text


def test_an_empty_graph_is_a_picture_too():
    with tf.Graph().as_default() as one_op:
        tf.placeholder(tf.float32, [2], name="x")
    empty, drawn = (ElementTree.fromstring(to_svg(build(graph))) for graph in (tf.Graph(), one_op))
    assert float(empty.get("width")) > 0
    assert float(empty.get("height")) > 0
    assert "x" in drawn.itertext()
    assert "x" not in empty.itertext()


def test_like_named_scopes_fold_into_one():
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [2], name="x")
        for _ in range(7):
            with tf.name_scope("block"):
                h = tf.sin(h)
        tf.identity(h, name="y")
    found = boxes(to_svg(build(graph), fold=0))
    assert set(found) == {"x", "block ×7", "y"}
    assert len(boxes(to_svg(build(graph), fold=0, series=False))) == 9


@pytest.fixture
def v1_control_flow():
    was = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    yield
    if was:
        tf.enable_control_flow_v2()


@pytest.mark.usefixtures("v1_control_flow")
def test_the_box_of_a_v1_loop_says_so():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        with tf.name_scope("outer"):
            _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v)), [0, x], name="steps")
        tf.gradients(y, x)
    labels = {text.text for text in ElementTree.fromstring(to_svg(build(graph), fold=9)).iter(f"{SVG}text")}
    assert "steps (loop)" in labels
    assert not any("outer" in label and "loop" in label for label in labels)


def fills(svg):
    """Label to the fill of its box."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        text, rects = group.find(f"{SVG}text"), group.findall(f"{SVG}rect")
        if text is not None and rects:
            found[text.text] = rects[-1].get("fill")
    return found


def test_numbers_of_nodes_can_be_the_colour():
    with tf.Graph().as_default() as live:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("both"):
            y = tf.sin(tf.cos(x, name="cos"), name="sin")
        tf.exp(y, name="exp")
    graph = build(live)
    for name, number in {"both/cos": 600.0, "both/sin": 400.0, "exp": 10.0}.items():
        graph.nodes[name]["seconds"] = number
    folded = to_svg(graph, fold=0, color="seconds")
    found = fills(folded)
    assert found["both"] == RAMP[-1], "the sum over the group is the largest of the picture"
    assert found["exp"] == RAMP[0]
    assert found["x"] == "#f5f5f5", "no number"
    assert "seconds 10<" in folded
    assert ">1,000<" in folded
    found = fills(to_svg(graph, fold=9, color="seconds"))
    assert found["cos"] == RAMP[-1]
    assert found["sin"] == ramp(np.log(40) / np.log(60))
    with pytest.raises(ValueError, match="color is 'flops'; this picture can be coloured by role, seconds"):
        to_svg(graph, color="flops")
