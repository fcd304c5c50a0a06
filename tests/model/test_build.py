"""`symgrad.graph.build`: every attribute of nodes and edges, from every kind of source."""

import keras
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad.errors import GraphMismatchError, LoadError
from symgrad.graph import between, build


@pytest.fixture(scope="module")
def training():
    """A small training graph with a variable of each kind."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("dense"):
            w = tf.get_variable("w", initializer=tf.random.stateless_uniform([3, 2], [1, 2]), use_resource=False)
            b = tf.get_variable("b", initializer=tf.zeros([2]), use_resource=True)
            h = tf.tanh(tf.nn.bias_add(x @ w, b), name="h")
        loss = tf.reduce_sum(tf.square(h), name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=tf.train.get_or_create_global_step())
    return graph


def test_nodes_of_a_live_graph(training):
    graph = build(training)
    assert list(graph) == [op.name for op in training.get_operations()]
    assert graph.graph["source"] is training
    for op in training.get_operations():
        node = graph.nodes[op.name]
        assert set(node) == {
            "type", "device", "scope", "frame", "function", "role", "pair", "order", "dead", "outputs",
        }  # fmt: skip
        assert (node["type"], node["device"], node["frame"], node["function"]) == (op.type, op.device, None, None)
        assert node["scope"] == op.name.rpartition("/")[0]
        assert node["outputs"] == tuple(
            (t.dtype.base_dtype.name, None if t.shape.rank is None else tuple(t.shape.as_list())) for t in op.outputs
        )


def test_edges_of_a_live_graph(training):
    graph = build(training)
    got = sorted(
        (a, b, e["kind"], e["output"], e["input"], e["dtype"], e["shape"]) for a, b, e in graph.edges(data=True)
    )
    want = []
    for op in training.get_operations():
        for i, t in enumerate(op.inputs):
            shape = None if t.shape.rank is None else tuple(t.shape.as_list())
            want.append((t.op.name, op.name, "data", t.value_index, i, t.dtype.base_dtype.name, shape))
        want += [(c.name, op.name, "control", -1, -1, "", None) for c in op.control_inputs]
    assert got == sorted(want)


def test_roles(training):
    graph = build(training)
    roles = dict(graph.nodes(data="role"))
    want = {
        "x": "forward",
        "dense/w": "variable",
        "dense/b": "variable",
        "dense/w/Assign": "update",
        "dense/h": "forward",
        "loss": "forward",
        "gradients/grad_ys_0/Const": "backward",
        "gradients/dense/h_grad/TanhGrad": "backward",
        "Momentum/update_dense/w/ApplyMomentum": "update",
        "Momentum/update_dense/b/ResourceApplyKerasMomentum": "update",
        "Momentum/update_dense/b/ResourceApplyMomentum": "update",
        "Momentum/update": "update",
        "Momentum/learning_rate": "constant",
        "stateless_random_uniform": "update",
    }
    assert {name: roles[name] for name in want if name in roles} == {k: v for k, v in want.items() if k in roles}
    assert set(roles.values()) == {"forward", "backward", "update", "variable", "constant"}
    made_by_gradients = {name for name in graph if name.startswith("gradients/")}
    assert {name for name, role in roles.items() if role == "backward"} == made_by_gradients


@pytest.mark.parametrize("form", ["graph_def", "bytes", "path", "text path", "meta graph", "imported"])
def test_the_same_graph_from_every_source(training, form, tmp_path):
    live = build(training)
    graph_def = training.as_graph_def(add_shapes=True)
    if form == "graph_def":
        graph = build(graph_def)
    elif form == "bytes":
        graph = build(graph_def.SerializeToString())
    elif form in ("path", "text path"):
        tf.io.write_graph(graph_def, str(tmp_path), "model.pb", as_text=form == "text path")
        graph = build(tmp_path / "model.pb")
    elif form == "meta graph":
        graph = build(tf.MetaGraphDef(graph_def=graph_def))
    else:
        with tf.Graph().as_default() as other:
            tf.import_graph_def(training.as_graph_def(), name="")
        graph = build(other)
    assert dict(graph.nodes(data=True)) == dict(live.nodes(data=True))
    assert sorted(map(str, graph.edges(data=True))) == sorted(map(str, live.edges(data=True)))


def test_a_graph_def_without_shapes_has_those_that_are_stored(training):
    graph = build(training.as_graph_def())
    assert graph.nodes["x"]["outputs"] == (("float32", (None, 3)),)
    assert graph.nodes["dense/w"]["outputs"] == (("float32", (3, 2)),)
    assert graph.nodes["dense/h"]["outputs"] == (("float32", None),)


def test_ops_that_tensorflow_never_heard_of():
    nodes = [
        tf.NodeDef(name="a", op="ContribMystery"),
        tf.NodeDef(name="b", op="ContribOther", input=["a:2", "a", "^a"], device="/gpu:0"),
    ]
    graph = build(tf.GraphDef(node=nodes))
    assert graph.nodes["a"]["outputs"] == (("unknown", None),) * 3
    assert graph.nodes["b"] == {
        "type": "ContribOther", "device": "/gpu:0", "scope": "", "frame": None, "function": None, "role": "forward",
        "pair": None, "order": 0, "dead": False, "outputs": (),
    }  # fmt: skip
    assert sorted((e["output"], e["input"], e["kind"]) for _, _, e in graph.edges(data=True)) == [
        (-1, -1, "control"), (0, 1, "data"), (2, 0, "data"),
    ]  # fmt: skip


def test_frames_of_nested_loops():
    with tf.Graph().as_default() as graph:
        was_v2 = tf.control_flow_v2_enabled()
        tf.disable_control_flow_v2()
        try:

            def inner(s):
                body = lambda j, t: (j + 1, tf.sin(t, name="deep"))  # noqa: E731
                return tf.while_loop(lambda j, _: j < 2, body, [0, s], name="in")[1]

            tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, inner(s)), [0, tf.constant(1.0)], name="out")
        finally:
            if was_v2:
                tf.enable_control_flow_v2()
    frame = dict(build(graph).nodes(data="frame"))
    assert frame["out/in/deep"] == "out/in/while_context"
    assert frame["out/in/Enter"] == "out/in/while_context"
    assert frame["out/in/Exit"] == "out/in/while_context"
    assert frame["out/add"] == "out/while_context"
    assert frame["out/Exit"] == "out/while_context"
    assert frame["Const"] is None
    with graph.as_default():
        after = tf.negative(graph.get_tensor_by_name("out/Exit_1:0"), name="after")
    assert build(graph).nodes[after.op.name]["frame"] is None


def test_func_graph():
    @tf2.function(input_signature=[tf2.TensorSpec([2], tf2.float32)])
    def f(x):
        with tf2.GradientTape() as tape:
            tape.watch(x)
            y = tf2.reduce_sum(tf2.sin(x))
        return tape.gradient(y, x)

    graph = build(f.get_concrete_function().graph)
    assert {"Sin", "Cos", "Sum"} <= {kind for _, kind in graph.nodes(data="type")}


def test_what_is_traced():
    """A function with a signature, a concrete one, models of both Keras: the graph that TensorFlow traces."""
    signature = [tf2.TensorSpec([2], tf2.float32)]
    function = tf2.function(tf2.sin, input_signature=signature)
    sources = [function, function.get_concrete_function(), keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])]
    sources.append(tf_keras.Sequential([tf_keras.Input((3,)), tf_keras.layers.Dense(2)]))
    found = [{kind for _, kind in build(source).nodes(data="type")} for source in sources]
    assert all("Sin" in types for types in found[:2])
    assert all("MatMul" in types for types in found[2:])


def test_a_model_that_was_made_in_a_graph_is_that_graph():
    with tf.Graph().as_default() as graph:
        x = tf_keras.Input((3,))
        model = tf_keras.Model(x, tf_keras.layers.Dense(2)(x))
    assert set(build(model)) == set(build(graph))


@pytest.mark.parametrize(
    ("source", "way"),
    [
        (tf2.function(tf2.sin), r"get_concrete_function\(tf.TensorSpec"),
        (keras.Sequential([keras.layers.Dense(2)]), "call it once on data"),
    ],
    ids=["function", "model"],
)
def test_what_does_not_say_its_inputs(source, way):
    with pytest.raises(LoadError, match=way):
        build(source)


def test_between(training):
    graph = build(training)
    way = between(graph, "x", "loss")
    assert {way.nodes[name]["type"] for name in way} == {"Placeholder", "MatMul", "BiasAdd", "Tanh", "Square", "Sum"}
    assert set(between(graph, "x:0", ["loss:0", "dense/h"])) == set(way)
    assert len(between(graph, "loss", "x")) == 0
    with pytest.raises(GraphMismatchError, match="no op named 'nope'"):
        between(graph, "x", "nope")


def test_ys_and_xs_keep_the_way_and_its_gradients(training):
    graph = build(training, ys="dense/h", xs="dense/w")
    assert {"dense/w", "dense/w/read", "dense/h", "x"} <= set(graph)
    assert "loss" not in graph
    backward = {graph.nodes[name]["pair"] for name in graph if graph.nodes[name]["role"] == "backward"}
    assert "dense/h" in backward
    assert "loss" not in backward


@pytest.mark.parametrize("source", [3, None, [1], object()])
def test_what_is_no_graph(source):
    with pytest.raises(LoadError, match=r"expected a tf\.Graph, a FuncGraph, a GraphDef, a path or bytes"):
        build(source)


def test_an_empty_graph_is_a_graph():
    assert len(build(tf.Graph())) == 0
    assert len(build(tf.GraphDef())) == 0


def test_shapes_are_plain_numbers(training):
    for _, node in build(training).nodes(data=True):
        for _, shape in node["outputs"]:
            assert shape is None or {type(size) for size in shape} <= {int, type(None)}


def test_what_writes_a_part_of_a_variable_is_an_update_and_what_scatters_into_a_tensor_is_none():
    with tf.Graph().as_default() as graph:
        variable = tf.get_variable("v", [4], use_resource=True)
        variable[1:2].assign([3.0])
        tf.tensor_scatter_nd_update(tf.placeholder(tf.float32, [4]), [[0]], [1.0])
        tf.scatter_nd([[0]], [1.0], [4])
    kinds = dict(build(graph).nodes(data="type"))
    roles = dict(build(graph).nodes(data="role"))
    of_type = {kind: roles[name] for name, kind in kinds.items()}
    assert of_type["ResourceStridedSliceAssign"] == "update"
    assert {of_type["TensorScatterUpdate"], of_type["ScatterNd"]} == {"forward"}
