"""Bodies of loops, branches and functions; variables, V1 loops and signatures of built graphs."""

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.errors import GraphMismatchError
from symgrad.graph import attributes, bodies, build, cost, diff, lint, regions, summary, to_html, variables, walk


@pytest.fixture
def control_flow(request):
    """V1 or V2 control flow, whatever was on before."""
    was = tf.control_flow_v2_enabled()
    (tf.enable_control_flow_v2 if request.param == 2 else tf.disable_control_flow_v2)()
    yield request.param
    (tf.enable_control_flow_v2 if was else tf.disable_control_flow_v2)()


def calls():
    """A loop of five turns over tanh(h w), a branch in a function, and the gradients of it all."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 3], use_resource=True)

        def turn(i, h):
            return i + 1, tf.tanh(tf.matmul(h, w, name="product"), name="tanh")

        _, h = tf.while_loop(lambda i, h: i < 5, turn, [0, x], name="loop")

        @tf2.function
        def function(a):
            return tf.cond(
                tf.reduce_sum(a) > 0, lambda: tf.exp(a, name="exp"), lambda: tf.sin(tf.cos(a)), name="branch"
            )

        y = tf.identity(function(h), name="y")
        tf.gradients(tf.reduce_sum(y), [x, w])
    return graph


v2 = pytest.mark.parametrize("control_flow", [2], indirect=True)


@v2
@pytest.mark.parametrize("form", ["live", "graph_def", "path"])
def test_bodies_can_be_walked_into(control_flow, form, tmp_path):
    source = calls()
    if form != "live":
        source = source.as_graph_def()
    if form == "path":
        (tmp_path / "model.pb").write_bytes(source.SerializeToString())
        source = tmp_path / "model.pb"
    graph = build(source)
    found = dict(walk(graph))
    assert found[()] is graph
    types = {way: {node["type"] for _, node in body.nodes(data=True)} for way, body in found.items()}
    assert {"MatMul", "Tanh", "ReadVariableOp"} <= types["loop", "body"]
    assert "Less" in types["loop", "cond"]
    function = next(name for name, node in graph.nodes(data=True) if node["type"].endswith("PartitionedCall"))
    (way,) = [way for way in found if way[:1] == (function,) and way[-1] == "then_branch"]
    assert len(way) == 4
    assert "Exp" in types[way]
    for way, body in found.items():
        if way:
            assert {node["function"] for _, node in body.nodes(data=True)} == {body.graph["function"]}
            assert all(body.nodes[name]["type"] == "Placeholder" for name in body.graph["inputs"])
            assert all(result.partition(":")[0] in body for result in body.graph["outputs"])
    constant = next(n for n, node in found["loop", "cond"].nodes(data=True) if node["type"] == "Const")
    assert attributes(found["loop", "cond"], constant)["value"] == 5


@v2
@pytest.mark.parametrize("live", [True, False])
def test_gradients_in_bodies_know_their_forward_ops(control_flow, live):
    source = calls()
    graph = build(source if live else source.as_graph_def())
    loop = next(n for n, d in graph.nodes(data=True) if d["type"].endswith("While") and d["role"] == "backward")
    assert graph.nodes[loop]["pair"] == "loop"
    body, forward = bodies(graph, loop)["body"], bodies(graph, "loop")["body"]
    pairs = {node["type"]: node["pair"] for _, node in body.nodes(data=True) if node["pair"] is not None}
    assert forward.nodes[pairs["TanhGrad"]]["type"] == "Tanh"
    assert forward.nodes[pairs["MatMul"]]["type"] == "MatMul"
    assert {node["order"] for _, node in body.nodes(data=True) if node["role"] == "backward"} == {1}
    sums = [node["role"] for _, node in body.nodes(data=True) if node["type"] == "AddN"]
    assert set(sums) == {"backward"}
    assert all(node["role"] != "backward" for _, node in forward.nodes(data=True))


@v2
def test_cost_of_bodies(control_flow):
    graph = build(calls())
    found = cost(graph, sizes={"batch": 2, "loop": 5})
    assert not any(found["unknown"].values()), found["unknown"]
    elements = 2 * 3
    product = 2 * elements * 3
    turn = 1 + product + elements  # i + 1; h w; tanh
    counter = 1  # TensorFlow counts the turns too
    condition = 1
    assert graph.nodes["loop"]["flops"] == 5 * (turn + counter + condition)
    call = next(
        n for n, d in graph.nodes(data=True) if d["type"].endswith("PartitionedCall") and d["role"] == "forward"
    )
    # The sum and its comparison; the dearer branch is that with two functions, and what it keeps is moved only.
    assert graph.nodes[call]["flops"] == (elements - 1) + 1 + 2 * elements
    backward = next(n for n, d in graph.nodes(data=True) if d["type"].endswith("While") and d["role"] == "backward")
    # Two products, TanhGrad, the sum of the gradients of w; counter and condition.
    assert graph.nodes[backward]["flops"] == 5 * (2 * product + 3 * elements + 9 + 2)
    kept = {name: size for name, size in found["peak"]["live"] if name.startswith("loop:")}
    assert 5 * 9 * 4 in kept.values()  # w of every turn
    assert list(kept.values()).count(5 * elements * 4) == 2  # h and tanh


@v2
def test_turns_that_nobody_told(control_flow):
    unknown = cost(build(calls()), sizes={"batch": 2})["unknown"]
    assert "loop" in unknown["loops"]
    assert not unknown["ops"]


@v2
def test_turns_of_a_loop_within_a_function(control_flow):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")

        @tf2.function
        def function(a):
            return tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.sin(h)), [0, a], name="inner")[1]

        tf.identity(function(x), name="y")
    graph = build(graph)
    once, told = cost(graph), cost(graph, sizes={"inner": 4})
    assert [loop.rpartition(".")[2] for loop in once["unknown"]["loops"]] == ["inner"]
    assert told["unknown"]["loops"] == []
    assert told["flops"] == 4 * once["flops"] == 4 * (3 + 3)  # sin; i + 1, the counter, the condition
    with pytest.raises(GraphMismatchError, match="'outer'"):
        cost(graph, sizes={"outer": 4})


def test_a_function_gives_the_shape_that_its_body_gives():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.sin(tf2.function(lambda a: tf.reshape(a, [-1]))(x), name="y")
    found = cost(build(graph), sizes={"batch": 2})
    assert found["types"]["Sin"]["flops"] == 6
    assert not any(found["unknown"].values())


@v2
def test_result_of_a_branch_that_is_not_the_batch(control_flow):
    """What a branch gives need not begin with the batch: then the op whose shape was assumed is listed."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        flat = tf.cond(x[0, 0] > 0, lambda: tf.reshape(x, [-1]), lambda: tf.reshape(2 * x, [-1]), name="branch")
        tf.sin(flat, name="y")
    assert cost(build(graph), sizes={"batch": 2})["unknown"]["ops"] == ["branch"]


def test_ops_that_call_nothing_and_functions_that_are_not_there():
    with tf.Graph().as_default() as graph:
        tf.sin(tf.placeholder(tf.float32, name="x"), name="y")
    assert bodies(build(graph), "y") == {}
    with pytest.raises(GraphMismatchError, match="'z'"):
        bodies(build(graph), "z")
    node = tf.NodeDef(name="call", op="PartitionedCall")
    node.attr["f"].func.name = "lost"
    with pytest.raises(GraphMismatchError, match="'lost'"):
        bodies(build(tf.GraphDef(node=[node])), "call")
    assert cost(build(tf.GraphDef(node=[node])))["unknown"]["types"] == {"PartitionedCall": 1}


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("live", [True, False])
def test_variables(resource, live):
    with tf.Graph().as_default() as graph:
        w = tf.get_variable("w", [3, 2], use_resource=resource)
        mean = tf.get_variable("mean", [2], trainable=False, use_resource=resource)
        y = tf.matmul(tf.placeholder(tf.float32, [None, 3]), w, name="y")
        tf.assign_sub(mean, 0.1 * (mean - tf.reduce_mean(y, 0)), name="average")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y - mean), name="train")
        tf.train.Saver([w], name="save")
        names = {op.name: op.type for op in graph.get_operations()}
    rows = {row["name"]: row for row in variables(build(graph if live else graph.as_graph_def()))}
    assert set(rows) == {"w", "mean", "w/Momentum"}
    types = {key: [names[op] for op in rows["w"][key]] for key in ("initializers", "restores", "updates")}
    assert types == {
        "initializers": ["AssignVariableOp" if resource else "Assign"],
        "restores": ["AssignVariableOp" if resource else "Assign"],
        "updates": ["ResourceApplyMomentum" if resource else "ApplyMomentum"],
    }
    assert rows["w"]["slots"] == ["w/Momentum"]
    assert "y" in rows["w"]["reads"]
    assert rows["w"]["trained"]
    (update,) = rows["w/Momentum"]["updates"]
    assert update == rows["w"]["updates"][0]
    assert [names[op] for op in rows["mean"]["updates"]] == ["AssignSubVariableOp" if resource else "AssignSub"]
    assert rows["mean"]["initializers"] == ["mean/Assign"]
    assert rows["mean"]["slots"] == rows["mean"]["restores"] == []


@pytest.mark.parametrize("control_flow", [1], indirect=True)
def test_regions_of_v1_loops(control_flow):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")

        def outer(i, h):
            _, h = tf.while_loop(lambda j, h: j < 2, lambda j, h: (j + 1, tf.sin(h)), [0, h], name="inner")
            return i + 1, tf.exp(h)

        _, y = tf.while_loop(lambda i, h: i < 3, outer, [0, x], name="outer")
        tf.gradients(tf.reduce_sum(y), x)
    graph = build(graph)
    found = regions(graph)
    inner = next(frame for frame in found if "inner" in frame and not frame.startswith("gradients"))
    assert found[inner]["parent"] == "outer/while_context"
    assert found["outer/while_context"]["parent"] is None
    assert {graph.nodes[name]["type"] for name in found[inner]["ops"]} >= {"Sin", "Enter", "Merge", "NextIteration"}
    assert found["gradients/outer/while_context"]["pair"] == "outer/while_context"
    assert found[inner]["pair"] is None
    sizes = {"outer/while_context": 3, inner: 2}
    assert cost(graph, sizes=sizes)["types"]["Sin"]["flops"] == 3 * 2 * 3


def test_signatures_of_a_saved_model(tmp_path):
    class Model(tf2.Module):
        @tf2.function(input_signature=[tf2.TensorSpec([None, 3], tf2.float32, name="a")])
        def __call__(self, a):
            return {"twice": 2 * a}

    tf2.saved_model.save(Model(), str(tmp_path))
    graph = build(tmp_path)
    signature = graph.graph["signatures"]["serving_default"]
    assert signature["inputs"] == {"a": {"name": "serving_default_a:0", "dtype": "float32", "shape": [None, 3]}}
    assert set(signature["outputs"]) == {"twice"}
    assert signature["method"] == "tensorflow/serving/predict"
    assert summary(graph)["signatures"] == graph.graph["signatures"]
    assert any(node["type"] == "Mul" for _, body in walk(graph) for _, node in body.nodes(data=True))
    assert build(tf.Graph()).graph["signatures"] == {}


def two_meta_graphs(folder):
    """A SavedModel with another function and another constant for each tag."""
    builder = tf.saved_model.Builder(str(folder))
    for tag, activation in (("train", tf.tanh), ("serving", tf.sin)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            y = tf2.function(lambda x, activation=activation: activation(x))(x)
            tf.reduce_sum(y * tf.constant(float(len(tag)), name="c"), name="loss")
            if tag == "train":
                builder.add_meta_graph_and_variables(session, [tag])
            else:
                builder.add_meta_graph([tag])
    builder.save()
    return folder


def test_whatever_is_read_later_is_read_from_the_same_meta_graph(tmp_path):
    path = two_meta_graphs(tmp_path / "model")
    for tag, activation in (("train", "Tanh"), ("serving", "Sin")):
        graph = build(path, tags=[tag])
        assert attributes(graph, "c")["value"] == len(tag)
        call = next(name for name, node in graph.nodes(data=True) if node["type"].endswith("PartitionedCall"))
        assert activation in {node["type"] for _, node in bodies(graph, call)["f"].nodes(data=True)}
        assert cost(graph, sizes={"batch": 2})["unknown"]["ops"] == []
        assert lint(graph) == []
        assert f"value = float32 [] {float(len(tag))}" in to_html(graph)
    assert diff(build(path, tags="train"), graph)["changed"][0]["what"]["value"] == [5.0, 7.0]
