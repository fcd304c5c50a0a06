"""`summary`, `fold`, `gradient_graph` and `attributes` against graphs whose content is known."""

import json

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.graph import along, attributes, between, build, fold, gradient_graph, summary


@pytest.fixture(scope="module")
def model():
    """Two layers, one frozen; an op without gradient on the way; Momentum on the other."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("frozen"):
            w = tf.get_variable("w", [4, 3], use_resource=False)
            h = tf.tanh(tf.stop_gradient(x @ w, name="stop"))
        with tf.variable_scope("head"):
            v = tf.get_variable("v", [3, 2], use_resource=True)
            y = tf.matmul(h, v, name="y")
        loss = tf.reduce_mean(tf.square(y), name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, var_list=[v])
    return graph


def test_summary(model):
    graph = build(model)
    found = summary(graph)
    assert json.loads(json.dumps(found)) == {**found, "orders": {str(k): v for k, v in found["orders"].items()}}
    assert found["ops"] == len(model.get_operations())
    assert found["edges"] == sum(len(op.inputs) + len(op.control_inputs) for op in model.get_operations())
    assert sum(found["types"].values()) == sum(found["roles"].values()) == found["ops"]
    assert found["inputs"] == [{"name": "x", "type": "Placeholder", "dtype": "float32", "shape": [None, 4]}]
    assert [output["name"] for output in found["outputs"]] == ["loss"]
    variables = {v["name"]: (v["dtype"], v["shape"], v["elements"], v["trained"]) for v in found["variables"]}
    assert variables["frozen/w"] == ("float32", [4, 3], 12, False)
    assert variables["head/v"] == ("float32", [3, 2], 6, True)
    assert [name for name, row in variables.items() if row[3]] == ["head/v"]
    assert found["parameters"] == 6
    scopes = {row["scope"]: row for row in found["scopes"]}
    assert scopes["frozen"]["backward"] == 0
    assert scopes["head"]["backward"] > 0
    assert scopes["head"]["paired"] == 1
    assert found["no_gradient"] == [{"type": "StopGradient", "reason": "not differentiable", "ops": ["frozen/stop"]}]


def test_summary_of_a_file_without_tensorflows_help():
    nodes = [
        tf.NodeDef(name="x", op="Placeholder"),
        tf.NodeDef(name="m", op="ContribMystery", input=["x"]),
        tf.NodeDef(name="y", op="Tanh", input=["m"]),
    ]
    nodes[0].attr["dtype"].type = nodes[2].attr["T"].type = tf.float32.as_datatype_enum
    found = summary(build(tf.GraphDef(node=nodes)))
    assert found["no_gradient"] == [{"type": "ContribMystery", "reason": "no gradient registered", "ops": ["m"]}]
    assert [output["name"] for output in found["outputs"]] == ["y"]


def test_summary_of_nothing():
    found = summary(build(tf.Graph()))
    assert (found["ops"], found["parameters"], found["outputs"]) == (0, 0, [])


def test_fold(model):
    graph = build(model)
    folded = fold(graph)
    nodes = folded.nodes
    assert sum(count for _, count in folded.nodes(data="ops")) == len(graph)
    assert sorted(name for node in folded for name in nodes[node]["members"]) == sorted(graph)
    assert nodes["∇ head"]["pair"] == "head"
    assert nodes["∇ head"]["role"] == "backward"
    assert nodes["x"]["type"] == "Placeholder"
    assert nodes["head"]["type"] == "scope"
    assert "∇ frozen" not in folded
    crossing = sum(1 for a, b in graph.edges() if _group(folded, a) != _group(folded, b))
    assert sum(count for _, _, count in folded.edges(data="count")) == crossing
    assert len(fold(graph, 99)) >= len(folded)
    with pytest.raises(ValueError, match="depth is 0"):
        fold(graph, 0)


def _group(folded, name):
    return next(node for node in folded if name in folded.nodes[node]["members"])


def test_gradient_graph_has_the_way_and_the_new_ops_only():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        aside = tf.exp(x, name="aside")
        y = tf.sin(tf.tanh(x, name="h"), name="y")
        tf.gradients(aside + y, x)
        before = {op.name for op in graph.get_operations()}
        found = gradient_graph(y, x)
        new = {op.name for op in graph.get_operations()} - before
    forward = {name for name, role in found.nodes(data="role") if role == "forward"}
    backward = {name for name, role in found.nodes(data="role") if role == "backward"}
    assert forward == {"x", "h", "y"}
    assert backward == new
    (name,) = found.graph["gradients"]
    value = np.float32([0.1, 0.2, -0.3])
    with tf.Session(graph=graph) as session:
        # the gradient that it names is the derivative, in float32 to a few units in the last place
        want = np.cos(np.tanh(value)) * (1 - np.tanh(value) ** 2)
        np.testing.assert_allclose(session.run(name, {"x:0": value}), want, rtol=1e-5)


def test_gradients_of_symgrad_are_paired_as_tensorflows():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.sin(tf.tanh(x, name="h"), name="y")
        symgrad.gradients(y, x)
    pairs = {pair for _, pair in build(graph).nodes(data="pair") if pair}
    assert pairs == {"h", "y"}
    assert {pair for _, pair in build(graph.as_graph_def()).nodes(data="pair") if pair} == pairs


def test_parts_keep_the_order_of_the_graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        for i in range(20):
            tf.exp(x, name=f"aside_{i}")
        h = x
        for i in range(9):
            h = tf.tanh(h, name=f"h_{i}")
        found = gradient_graph(h, x)
    whole = build(graph)
    parts = [build(graph, ys="h_8", xs="x"), between(whole, "x", "h_8"), along(whole, ys="h_8", xs="x"), found]
    for part in parts:
        assert len(part) > 9
        assert list(part) == [name for name in whole if name in part]
        assert list(part.edges()) == [edge for edge in whole.edges() if set(edge) <= set(part)]


@pytest.mark.parametrize("form", ["live", "graph_def", "path", "bytes"])
def test_attributes(form, tmp_path):
    with tf.Graph().as_default() as live:
        x = tf.placeholder(tf.float32, [1, 8, 8, 3], name="x")
        tf.nn.conv2d(x, tf.ones([3, 3, 3, 2]), strides=[1, 2, 2, 1], padding="SAME", name="conv")
        tf.constant([[1, 2], [3, 4]], name="c")
    tf.train.write_graph(live, str(tmp_path), "g.pb", as_text=False)
    data = live.as_graph_def()
    sources = {"live": live, "graph_def": data, "path": tmp_path / "g.pb", "bytes": data.SerializeToString()}
    graph = build(sources[form])
    found = attributes(graph, "conv")
    assert (found["strides"], found["padding"], found["T"]) == ([1, 2, 2, 1], "SAME", "float32")
    assert attributes(graph, "c")["value"].tolist() == [[1, 2], [3, 4]]
    assert attributes(graph, "x")["shape"] == (1, 8, 8, 3)
    with pytest.raises(LookupError, match="nope"):
        attributes(graph, "nope")
