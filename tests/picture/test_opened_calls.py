"""Functions in pictures: an op that calls functions is a box that opens to what they compute."""

import json
import re

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad._picture._layout import plan
from symgrad._picture._opened_calls import with_functions
from symgrad._picture._svg import to_open
from symgrad.errors import ShapeError
from symgrad.graph import build, cost, lint, to_html, to_svg


@pytest.fixture(scope="module")
def calls():
    """A V2 loop with its gradient, and a function whose branches call nothing."""
    was = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2, 3], name="x")
            w = tf.get_variable("w", [3, 3], use_resource=True)

            def turn(i, h):
                return i + 1, tf.tanh(tf.matmul(h, w, name="product"), name="tanh")

            _, h = tf.while_loop(lambda i, h: i < 5, turn, [0, x], name="loop")
            y = tf2.function(lambda a: tf.cond(a[0, 0] > 0, lambda: tf.exp(a), lambda: tf.sin(a), name="branch"))(h)
            tf.gradients(tf.reduce_sum(y, name="loss"), [x, w])
    finally:
        if not was:
            tf.disable_control_flow_v2()
    return build(graph)


def test_bodies_are_in_the_graph(calls):
    whole = with_functions(calls)
    assert list(calls) == list(whole)[: len(calls)]
    types = {name: kind for name, kind in whole.nodes(data="type") if name not in calls}
    (product,) = [name for name, kind in types.items() if name.startswith("loop/body/") and kind == "MatMul"]
    assert "loop/cond" in {scope for _, scope, _ in whole.graph["inlined"]}
    assert {"Exp", "Sin"} <= {types[name] for name in types if "then_branch" in name or "else_branch" in name}
    # x goes into the loop's bodies, what they return into the loop's op, and on from there
    assert "loop" not in whole.succ["x"]
    arguments = [name for name in whole.succ["x"] if name.startswith(("loop/body/", "loop/cond/"))]
    assert [whole.nodes[name]["type"] for name in arguments] == ["Placeholder"] * 2
    assert any(source.startswith("loop/body/") for source in whole.pred["loop"])
    loops = {name for name, kind in calls.nodes(data="type") if kind.endswith("While")}
    assert {name for name in whole.succ["loop"] if name in calls} == set(calls.succ["loop"]) - loops
    # the gradient of the product is in the loop that runs backwards, and is paired with it
    of_product = {types[name] for name, pair in whole.nodes(data="pair") if pair == product}
    assert "MatMul" in of_product


def test_a_graph_without_calls_stays_as_it_is():
    with tf.Graph().as_default() as graph:
        tf.sin(tf.placeholder(tf.float32, [3]))
    built = build(graph)
    assert with_functions(built) is built


def test_gradients_in_bodies_lie_beside_their_forward_ops(calls):
    picture = plan(with_functions(calls))
    groups = {op.name: op.group for op in picture.ops}
    for op in picture.ops:
        if op.pair in groups:
            assert groups[op.name] == groups[op.pair]
            assert op.column == 1
    body = next(i for i, group in enumerate(picture.groups) if group.name == "loop/body")
    assert picture.groups[body].label == "body (function)"
    assert picture.groups[picture.groups[body].parent].is_call
    assert all(picture.groups[body].counts[:2])


def test_calls_are_open_in_svg_where_there_is_room_and_closed_in_html(calls):
    picture = plan(with_functions(calls))
    loop = next(i for i, group in enumerate(picture.groups) if group.is_call and group.name == "loop")
    assert loop in to_open(picture, None)
    assert loop not in to_open(picture, None, calls=False)
    assert loop in to_open(picture, 2, calls=False)
    svg = to_svg(calls)
    assert "body (function)" in svg
    assert "more in functions" in svg
    assert "body (function)" not in to_svg(calls, functions=False)
    data = json.loads(re.search(r'type="application/json"[^>]*>([^<]*)<', to_html(calls))[1])
    assert "body (function)" in data["groups"]["label"]
    assert data["groups"]["label"].index("loop") not in data["opened"]


def stored(body=tf.sin):
    """A GraphDef with a call of a function, and that function."""
    with tf.Graph().as_default() as graph:
        tf2.function(body)(tf.placeholder(tf.float32, [3], name="x"))
    graph_def = graph.as_graph_def()
    return graph_def, graph_def.library.function[0]


def test_a_function_that_calls_itself_ends():
    graph_def, function = stored()
    call = next(node for node in graph_def.node if node.op.endswith("PartitionedCall"))
    inner = function.node_def.add()
    inner.CopyFrom(call)
    inner.name = "again"
    inner.input[:] = [function.signature.input_arg[0].name]
    graph = build(graph_def)
    whole = with_functions(graph)
    assert len(whole) < 200
    assert "too many functions to draw" in whole.graph["closed"].values()
    assert lint(graph) == []
    assert cost(graph)["unknown"]["types"] == {call.op: 1}
    with pytest.raises(ShapeError, match="a function in it calls itself"):
        cost(graph, sizes={"batch": 2})


def test_a_function_that_is_not_there_is_said():
    graph_def, _ = stored()
    graph_def.library.Clear()
    assert "not opened: the graph has no function named" in to_html(build(graph_def))


def test_saving_is_left_out(tmp_path):
    module = tf2.Module()
    module.v = tf2.Variable([1.0])
    module.f = tf2.function(lambda x: x * module.v, input_signature=[tf2.TensorSpec([1])])
    tf2.saved_model.save(module, str(tmp_path), signatures=module.f)
    graph = build(tmp_path)
    assert "SaveV2" in {node["type"] for _, node in with_functions(graph).nodes(data=True)}
    svg = to_svg(graph, fold=9)
    assert "f (function)" in svg
    assert "SaveV2" not in svg
    assert "SaveV2" in to_svg(graph, fold=9, constants=True)


def test_hostile_names_in_functions_stay_text():
    hostile = "</script><img src=x onerror=alert(1)>"
    graph_def, function = stored(lambda x: tf.exp(tf.sin(x, name="inner")))
    for node in function.node_def:
        node.name = node.name.replace("inner", hostile)
        node.input[:] = [text.replace("inner", hostile) for text in node.input]
        if node.name == hostile:
            node.device = hostile
    graph = build(graph_def)
    assert any(hostile in name for name in with_functions(graph))
    for text in (to_html(graph), to_svg(graph, fold=9)):
        assert "<img" not in text
        assert text.count("</script>") in (0, 2)
