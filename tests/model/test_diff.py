"""`diff` on pairs of graphs whose difference was made on purpose."""

import json

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.graph import build, diff


def model(*, layers=("first", "second"), optimizer=None, activation=tf.tanh, units=3, skip=False):
    with tf.Graph().as_default() as graph:
        x = h = tf.placeholder(tf.float32, [None, 3], name="x")
        for layer in layers:
            with tf.variable_scope(layer):
                w = tf.get_variable("w", [3, units], use_resource=False, initializer=tf.zeros_initializer())
                h = activation(tf.matmul(h, w), name="h")
        if skip:
            h = tf.add(x, x, name="out")
        else:
            h = tf.add(h, x, name="out")
        loss = tf.reduce_sum(h, name="loss")
        if optimizer is not None:
            optimizer.minimize(loss, name="train")
    return graph


def test_equal_graphs_of_any_kind(tmp_path):
    graph = model(optimizer=tf.train.MomentumOptimizer(0.1, 0.9))
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="")
    for other in (model(optimizer=tf.train.MomentumOptimizer(0.1, 0.9)), tmp_path / "model.pb", imported):
        found = diff(build(graph), build(other))
        assert found["equal"], found
        assert found["same"] == len(graph.get_operations())


def test_stripped_defaults_are_no_change():
    graph = model()
    with graph.as_default():
        stripped = tf.train.export_meta_graph(strip_default_attrs=True).graph_def
    assert not any("transpose_a" in node.attr for node in stripped.node)
    assert diff(build(graph), build(stripped))["equal"]


def test_what_an_optimizer_adds():
    found = diff(build(model()), build(model(optimizer=tf.train.MomentumOptimizer(0.1, 0.9))))
    assert found["removed"] == found["changed"] == found["rewired"] == []
    assert found["types"]["ApplyMomentum"] == {"added": 2, "removed": 0}
    assert found["roles"]["variable"] == {"added": 2, "removed": 0}  # the slots
    assert found["roles"]["backward"]["added"] > 5
    assert "first/w/Momentum" in found["added"]
    swapped = diff(build(model(optimizer=tf.train.MomentumOptimizer(0.1, 0.9))), build(model()))
    assert swapped["removed"] == found["added"]
    assert json.loads(json.dumps(found)) == found


def test_changed_attributes_values_and_shapes():
    with tf.Graph().as_default() as a:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        tf.matmul(x, tf.constant([[1.0], [2.0], [3.0]], name="c"), name="y")
    with tf.Graph().as_default() as b, tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [3, 2], name="x")
        tf.matmul(x, tf.constant([[1.0], [2.0], [4.0]], name="c"), transpose_a=True, name="y")
    what = {row["name"]: row["what"] for row in diff(build(a), build(b))["changed"]}
    assert what["x"]["output 0"] == ["float32[2, 3]", "float32[3, 2]"]
    assert what["c"]["value"] == [[[1.0], [2.0], [3.0]], [[1.0], [2.0], [4.0]]]
    assert what["y"]["transpose_a"] == [False, True]
    assert what["y"]["device"] == ["", "/device:CPU:0"]
    assert set(what["y"]) == {"transpose_a", "device"}


def test_large_constants_are_told_apart():
    graphs = []
    for last in (1.0, 2.0):
        with tf.Graph().as_default() as graph:
            tf.constant([0.0] * 99 + [last], name="c")
        graphs.append(graph)
    (row,) = diff(*map(build, graphs))["changed"]
    old, new = row["what"]["value"]
    assert old != new
    assert old.startswith("float32[100]")


def test_another_type_under_the_same_name():
    found = diff(build(model()), build(model(activation=tf.sigmoid)))
    assert found["added"] == found["removed"] == ["first/h", "second/h"]
    assert found["types"] == {"Tanh": {"added": 0, "removed": 2}, "Sigmoid": {"added": 2, "removed": 0}}


def test_rewired():
    found = diff(build(model()), build(model(skip=True)))
    assert found["rewired"] == [{"name": "out", "now": "out", "before": ["second/h:0", "x:0"], "after": ["x:0", "x:0"]}]
    assert found["added"] == found["removed"] == found["changed"] == []


def test_control_inputs_are_compared_without_order():
    graphs = []
    for order in (("a", "b"), ("b", "a"), ("a",)):
        with tf.Graph().as_default() as graph:
            ops = {name: tf.no_op(name=name) for name in ("a", "b")}
            with tf.control_dependencies([ops[name] for name in order]):
                tf.no_op(name="c")
        graphs.append(build(graph))
    assert diff(graphs[0], graphs[1])["equal"]
    assert diff(graphs[0], graphs[2])["rewired"][0]["after"] == ["^a"]


@pytest.mark.parametrize("prefix", ["import", "outer/inner"])
def test_a_graph_under_a_prefix_is_the_same(prefix):
    graph = model(optimizer=tf.train.GradientDescentOptimizer(0.1))
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name=prefix)
    found = diff(build(graph), build(imported))
    assert found["equal"], found
    assert found["renamed"] == [{"before": "", "after": prefix, "ops": len(graph.get_operations())}]
    back = diff(build(imported), build(graph))
    assert back["equal"]
    assert back["renamed"][0]["before"] == prefix


def test_renamed_layers_keep_their_order():
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    found = diff(build(model(optimizer=optimizer)), build(model(layers=("encoder", "decoder"), optimizer=optimizer)))
    assert found["equal"], found
    renamed = {(row["before"], row["after"]) for row in found["renamed"]}
    assert {("first", "encoder"), ("second", "decoder")} <= renamed


def test_a_change_within_a_renamed_scope():
    found = diff(build(model(layers=("a", "b"))), build(model(layers=("c", "d"), activation=tf.sigmoid)))
    assert found["added"] == ["c/h", "d/h"]
    assert {row["name"]: row["now"] for row in found["rewired"]} == {"b/MatMul": "d/MatMul", "out": "out"}


def test_graphs_with_nothing_in_common():
    with tf.Graph().as_default() as a:
        tf.sin(tf.placeholder(tf.float32, name="x"), name="y")
    with tf.Graph().as_default() as b:
        tf.constant(1, name="c")
    found = diff(build(a), build(b))
    assert (found["added"], found["removed"], found["same"]) == (["c"], ["x", "y"], 0)


def calling(activation=tf.tanh, *, scope="", inner=tf.sin, calls=1):
    """Functions that call a function, under names with other numbers each time."""

    @tf2.function
    def function(x):
        @tf2.function
        def deeper(x):
            return inner(x, name="deep")

        return activation(deeper(x), name="h")

    with tf.Graph().as_default() as graph, tf.name_scope(scope):
        for i in range(calls):
            function(tf.placeholder(tf.float32, [3], name=f"x{i}"))
    return graph


@pytest.mark.parametrize("scope", ["", "renamed"])
def test_functions_that_do_the_same(scope):
    a, b = calling(), calling(scope=scope)
    names = [{f.signature.name for f in graph.as_graph_def().library.function} for graph in (a, b)]
    assert names[0].isdisjoint(names[1])
    for other in (b, b.as_graph_def()):
        found = diff(build(a), build(other))
        assert found["equal"], found


def test_functions_that_differ(tmp_path):
    (tmp_path / "b.pb").write_bytes(calling(tf.sigmoid, calls=2).as_graph_def().SerializeToString())
    a = build(calling(calls=2))
    found = diff(a, build(tmp_path / "b.pb"))
    assert found["added"] == found["removed"] == found["changed"] == found["rewired"] == []
    assert not found["equal"]
    (row,) = found["functions"]  # once, though two ops call it
    call = next(name for name, node in a.nodes(data=True) if node["type"].endswith("PartitionedCall"))
    assert row["within"] == [call, "f"]
    assert row["types"] == {"Tanh": {"added": 0, "removed": 1}, "Sigmoid": {"added": 1, "removed": 0}}
    assert json.loads(json.dumps(found)) == found


def test_functions_within_functions_that_differ():
    found = diff(build(calling()), build(calling(inner=tf.cos)))
    (row,) = found["functions"]
    assert len(row["within"]) == 4
    assert row["types"] == {"Sin": {"added": 0, "removed": 1}, "Cos": {"added": 1, "removed": 0}}


def test_functions_that_are_not_there():
    missing = calling(tf.sigmoid).as_graph_def()
    missing.library.Clear()
    (row,) = diff(build(calling()), build(missing))["functions"]
    assert "has no function named" in row["error"]
