"""`cost`, `critical_path` and `from_run_metadata` against closed formulas, TensorFlow's profiler and traced runs."""

import json
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad._tf import while_loop_v2
from symgrad.errors import GraphMismatchError, ShapeError
from symgrad.graph import build, cost, critical_path, from_run_metadata


def by_type(graph, **options):
    found = cost(build(graph), **options)
    assert not found["unknown"]["types"], found["unknown"]
    return {kind: row["flops"] for kind, row in found["types"].items() if row["flops"]}


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
def test_matmul_and_its_gradient(ta, tb):
    m, k, n = 5, 7, 3
    with tf.Graph().as_default() as graph:
        a = tf.ones([k, m] if ta else [m, k])
        b = tf.ones([n, k] if tb else [k, n])
        y = tf.matmul(a, b, transpose_a=ta, transpose_b=tb)
        forward = by_type(graph)["MatMul"]
        tf.gradients(y, [a, b])
    assert forward == 2 * m * k * n
    assert by_type(graph)["MatMul"] == 3 * forward  # y, and dy b^T, a^T dy


def test_batched_matmul_and_einsum():
    with tf.Graph().as_default() as graph:
        a, b = tf.ones([4, 1, 5, 7]), tf.ones([6, 7, 3])
        tf.matmul(a, b)
        tf.einsum("bij,jk->bik", tf.ones([4, 5, 7]), tf.ones([7, 3]))
    found = by_type(graph)
    assert found["BatchMatMulV2"] == 4 * 6 * 2 * 5 * 7 * 3
    assert found["Einsum"] == 2 * 4 * 5 * 7 * 3


@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, "SAME", 1), (2, "VALID", 1), (1, "VALID", 2)])
def test_conv2d_and_its_gradient(stride, padding, groups):
    batch, size, kernel, cin, cout = 2, 9, 3, 4, 6
    with tf.Graph().as_default() as graph:
        x = tf.ones([batch, size, size, cin])
        w = tf.ones([kernel, kernel, cin // groups, cout])
        tf.gradients(tf.nn.conv2d(x, w, stride, padding), [x, w])
    out = -(-size // stride) if padding == "SAME" else -(-(size - kernel + 1) // stride)
    want = 2 * batch * out * out * cout * kernel * kernel * cin // groups
    found = by_type(graph)
    assert [found[kind] for kind in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")] == [want] * 3


def test_depthwise_and_pooling():
    with tf.Graph().as_default() as graph:
        x, w = tf.ones([2, 8, 8, 4]), tf.ones([3, 3, 4, 2])
        y = tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")
        z = tf.nn.avg_pool2d(y, 2, 2, "VALID") + tf.nn.max_pool2d(y, 2, 2, "VALID")
        tf.gradients(z, [x, w])
    found = by_type(graph)
    want = 2 * 2 * 8 * 8 * 8 * 9
    assert found["DepthwiseConv2dNative"] == found["DepthwiseConv2dNativeBackpropInput"] == want
    assert found["DepthwiseConv2dNativeBackpropFilter"] == want
    pooled = 2 * 4 * 4 * 8
    assert found["AvgPool"] == found["MaxPool"] == 4 * pooled
    assert (found["AvgPoolGrad"], found["MaxPoolGrad"]) == (2 * 4 * pooled, 4 * pooled + pooled)


def test_batch_norm_and_its_gradient():
    batch, size, channels = 3, 5, 4
    count = batch * size * size * channels
    with tf.Graph().as_default() as graph:
        x = tf.ones([batch, size, size, channels])
        scale, offset = tf.ones([channels]), tf.zeros([channels])
        y, _, _ = tf.nn.fused_batch_norm(x, scale, offset)
        tf.gradients(y, [x, scale, offset])
        tf.nn.fused_batch_norm(x, scale, offset, mean=scale, variance=scale, is_training=False, name="inference")
    graph = build(graph)
    cost(graph)
    norms = {node["type"]: node["flops"] for name, node in graph.nodes(data=True) if not name.startswith("inference")}
    assert norms["FusedBatchNormV3"] == 7 * count + 6 * channels
    assert norms["FusedBatchNormGradV3"] == 9 * count + 6 * channels
    inference = next(node["flops"] for name, node in graph.nodes(data=True) if name.startswith("inference"))
    assert inference == 3 * count + 4 * channels


def test_lstm_and_its_gradient():
    """Hochreiter and Schmidhuber's cell with forget gates, as ops and as one op; three steps."""
    batch, inputs, cells, steps = 2, 5, 4, 3
    with tf.Graph().as_default() as graph:
        w, bias = tf.ones([inputs + cells, 4 * cells]), tf.zeros([4 * cells])
        x = [tf.ones([batch, inputs], name=f"x{t}") for t in range(steps)]
        c = h = tf.zeros([batch, cells])
        for t in range(steps):
            i, j, f, o = tf.split(tf.nn.bias_add(tf.concat([x[t], h], 1) @ w, bias), 4, 1)
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
        of_cell = batch * cells * steps
        product = 8 * of_cell * (inputs + cells)
        forward = cost(build(graph))["flops"]
        tf.gradients(h, [w, *x])
    assert forward == product + 4 * of_cell + 19 * of_cell
    found = by_type(graph)
    assert found["MatMul"] == 3 * product
    # Three gates with a sigmoid and two tanh in each step, three operations for each element of their gradients.
    assert found["SigmoidGrad"] == 3 * 3 * of_cell
    assert found["TanhGrad"] == 2 * 3 * of_cell
    with tf.Graph().as_default() as graph:
        zeros = [tf.zeros([cells])] * 3
        state = tf.zeros([batch, cells])
        tf.raw_ops.LSTMBlockCell(
            x=tf.ones([batch, inputs]), cs_prev=state, h_prev=state, w=tf.ones([inputs + cells, 4 * cells]),
            wci=zeros[0], wcf=zeros[1], wco=zeros[2], b=tf.zeros([4 * cells]),
        )  # fmt: skip
    assert by_type(graph) == {"LSTMBlockCell": forward // steps}


@pytest.mark.parametrize("peephole", [False, True])
def test_block_lstm_and_its_gradient(peephole):
    """The gradient of each product is two products; of the gates as derived by Gers, Schraudolph and Schmidhuber."""
    steps, batch, inputs, cells = 3, 2, 5, 4
    of_cell = batch * cells
    with tf.Graph().as_default() as graph:
        x, w = tf.ones([steps, batch, inputs]), tf.ones([inputs + cells, 4 * cells])
        vectors = {name: tf.ones([cells]) for name in ("wci", "wcf", "wco")}
        state = tf.zeros([batch, cells])
        common = {"cs_prev": state, "h_prev": state, "w": w, **vectors, "b": tf.zeros([4 * cells])}
        block = tf.raw_ops.BlockLSTM(seq_len_max=tf.constant(steps, tf.int64), x=x, use_peephole=peephole, **common)
        tf.gradients(block.h, [x, w])
        cell = tf.raw_ops.LSTMBlockCell(x=x[0], use_peephole=peephole, **common)
        i, cs, f, o, ci, co, h = cell
        tf.raw_ops.LSTMBlockCellGrad(
            x=x[0], i=i, cs=cs, f=f, o=o, ci=ci, co=co, cs_grad=cs, h_grad=h, use_peephole=peephole, **common
        )
    found = by_type(graph)
    product = 8 * of_cell * (inputs + cells)
    gates = 4 + 19 + (3 * 2 if peephole else 0)
    assert found["LSTMBlockCell"] == product + gates * of_cell
    assert found["BlockLSTM"] == steps * found["LSTMBlockCell"]
    # o, c, and three gates; c of the step before. Peepholes: into c three times, and three products summed over rows.
    of_gates = (4 + 5 + 3 * 4 + 1) * of_cell + ((3 * 2 * of_cell + 3 * (2 * of_cell - cells)) if peephole else 0)
    assert found["LSTMBlockCellGrad"] == of_gates
    added = 2 * of_cell + 4 * of_cell + (3 * cells if peephole else 0)
    assert found["BlockLSTMGrad"] == steps * (2 * product + of_gates + added)


def test_decompositions():
    """Counts of Golub and Van Loan, Matrix Computations, for m x n with m > n and for its transpose."""
    m, n = 9, 6
    with tf.Graph().as_default() as graph:
        x = tf.ones([2, m, n])
        tf.linalg.qr(x, name="thin"), tf.linalg.qr(x, full_matrices=True, name="full")
        tf.linalg.svd(x, compute_uv=False, name="values"), tf.linalg.svd(x, name="svd")
        tf.linalg.svd(tf.ones([n, m]), full_matrices=True, name="all")
        tf.linalg.qr(tf.ones([n, m]), name="wide")
        tf.linalg.eigh(tf.ones([n, n]), name="eigh"), tf.linalg.det(tf.ones([n, n]), name="det")
        tf.linalg.solve(tf.ones([n, n]), tf.ones([n, 5]), name="solve")
    graph = build(graph)
    assert not cost(graph)["unknown"]["types"]
    flops = {name: node["flops"] for name, node in graph.nodes(data=True)}
    reflections = 2 * m * n * n - 2 * n**3 // 3
    assert flops["thin"] == 2 * 2 * reflections
    assert flops["full"] == 2 * (reflections + 4 * (m * m * n - m * n * n + n**3 // 3))
    assert flops["wide"] == 2 * (4 * n**3 // 3) + (m - n) * 2 * n * n
    assert flops["values"] == 2 * (4 * m * n * n - 4 * n**3 // 3)
    assert flops["svd"] == 2 * (14 * m * n * n + 8 * n**3)
    assert flops["all"] == 4 * m * m * n + 8 * m * n * n + 9 * n**3
    assert flops["eigh"] == 9 * n**3
    assert flops["det"] == 2 * n**3 // 3
    assert flops["solve"] == 2 * n**3 // 3 + 2 * n * n * 5


def test_resizing_and_its_gradient():
    large, small = 2 * 8 * 8 * 3, [2, 4, 4, 3]
    with tf.Graph().as_default() as graph:
        x = tf.ones(small)
        for method in ("BILINEAR", "BICUBIC", "NEAREST_NEIGHBOR"):
            tf.gradients(tf.image.resize(x, [8, 8], method=getattr(tf.image.ResizeMethod, method)), x)
    found = by_type(graph)
    line, mix = 4 + 3, 2 + 1  # four products summed; a + (b - a) t
    assert (found["ResizeBilinear"], found["ResizeBicubic"]) == (3 * mix * large, 5 * line * large)
    assert found["ResizeBilinearGrad"] == 4 * 3 * large  # to each neighbour g times two weights is added
    assert found["ResizeBicubicGrad"] == 16 * 3 * large
    assert found["ResizeNearestNeighborGrad"] == large


def test_agrees_with_the_profiler_of_tensorflow():
    with tf.Graph().as_default() as graph:
        x = tf.ones([2, 8, 8, 3])
        w, v = tf.ones([3, 3, 3, 4]), tf.ones([64, 5])
        h = tf.nn.max_pool2d(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), tf.ones([4])), 2, 2, "SAME")
        y = tf.nn.softmax(tf.reshape(h, [2, 64]) @ v)
        loss = tf.reduce_mean(tf.math.squared_difference(y, 1.0)) + tf.nn.l2_loss(w) + tf.reduce_sum(tf.math.rsqrt(y))
        tf.gradients(loss, [w, v])
        options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.float_operation())
        want = tf.profiler.profile(graph, options=options.with_empty_output().build(), cmd="op").total_float_ops
    found = by_type(graph)
    # What the profiler has no statistic for.
    for kind in ("Prod", "FloorDiv", "Maximum"):
        found.pop(kind, None)
    assert sum(found.values()) == pytest.approx(want, rel=0.01)  # it counts integer ops of shapes in part
    assert want > 10_000


def test_resnet50_has_the_multiply_adds_of_its_paper():
    """Table 1 of He et al. (2016), Deep residual learning for image recognition, CVPR: 3.8e9 multiply-adds."""
    keras = pytest.importorskip("tf_keras")
    with tf.Graph().as_default() as graph:
        keras.backend.set_learning_phase(0)
        images = keras.Input([224, 224, 3])
        logits = keras.applications.ResNet50(weights=None, input_tensor=images).output
    found = cost(build(graph), sizes={"batch": 1}, fetches=logits)
    products = found["types"]["Conv2D"]["flops"] + found["types"]["MatMul"]["flops"]
    assert products / 2 == pytest.approx(3.8e9, rel=0.03)
    assert found["unknown"] == {"types": {}, "ops": [], "loops": []}


def mlp():
    x = tf.placeholder(tf.float32, [None, 128], name="x")
    h = x
    for i in range(4):
        h = tf.tanh(h @ tf.get_variable(f"w{i}", [128, 128], use_resource=False))
    return tf.reduce_sum(h * h), tf.train.GradientDescentOptimizer(0.1), {x: np.ones([64, 128])}, {"batch": 64}


def conv_net():
    x = tf.placeholder(tf.float32, [None, 32, 32, 3], name="x")
    h = x
    for i, (a, b) in enumerate([(3, 16), (16, 16), (16, 32)]):
        w = tf.get_variable(f"w{i}", [3, 3, a, b], use_resource=True)
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, w, 1, "SAME"), tf.get_variable(f"b{i}", [b], use_resource=True)))
        h = tf.nn.max_pool2d(h, 2, 2, "SAME")
    y = tf.reshape(h, [-1, 512]) @ tf.get_variable("v", [512, 10])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.ones([16, 10]) / 10, logits=y))
    return loss, tf.train.MomentumOptimizer(0.1, 0.9), {x: np.ones([16, 32, 32, 3])}, {"batch": 16}


def v1_rnn():
    steps, batch, cells = 20, 32, 64
    x = tf.placeholder(tf.float32, [steps, batch, cells], name="x")
    w = tf.get_variable("w", [2 * cells, cells], use_resource=False)
    inputs, outputs = tf.TensorArray(tf.float32, steps).unstack(x), tf.TensorArray(tf.float32, steps)

    def body(i, h, out):
        h = tf.tanh(tf.concat([inputs.read(i), h], 1) @ w)
        return i + 1, h, out.write(i, h)

    start = [0, tf.zeros([batch, cells]), outputs]
    _, _, out = tf.while_loop(lambda i, h, out: i < steps, body, start, name="loop")
    loss = tf.reduce_sum(tf.square(out.stack()))
    sizes = {"loop/while_context": steps}
    return loss, tf.train.GradientDescentOptimizer(0.1), {x: np.ones([steps, batch, cells])}, sizes


@pytest.fixture
def v1_control_flow():
    was = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    yield
    if was:
        tf.enable_control_flow_v2()


def traced(graph, fetch, feeds):
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True  # or another graph than ours runs
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Session(graph=graph, config=config) as session:
        session.run("init")
        session.run(fetch, feeds)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(fetch, feeds, options=options, run_metadata=metadata)
    return metadata


@pytest.mark.usefixtures("v1_control_flow")
@pytest.mark.parametrize("model", [mlp, conv_net, v1_rnn])
def test_peak_is_that_of_a_traced_run(model):
    with tf.Graph().as_default() as graph:
        loss, optimizer, feeds, sizes = model()
        step = optimizer.minimize(loss)
        tf.global_variables_initializer()
    nodes = build(graph)
    found = cost(nodes, sizes=sizes, fetches=step)
    measured = from_run_metadata(nodes, traced(graph, step, feeds))
    # Kernels take some working memory of their own, and TensorFlow's order is another where both would do.
    assert found["peak"]["bytes"] == pytest.approx(measured["peak"], rel=0.2)
    assert found["peak"]["op"] in nodes
    assert sum(size for _, size in found["peak"]["live"]) <= found["peak"]["bytes"]
    assert set(measured["matched"]) <= set(nodes)
    assert measured["roles"]["backward"]["time"] > 0
    path = critical_path(nodes, "time")
    assert 0 < path["weight"] <= measured["time"]
    assert path["parallelism"] >= 1


@pytest.mark.usefixtures("v1_control_flow")
def test_turns_of_a_loop_and_of_its_gradient():
    with tf.Graph().as_default() as graph:
        loss, _, _, sizes = v1_rnn()
        w = graph.get_tensor_by_name("w/read:0")
        tf.gradients(loss, w)
    graph = build(graph)
    once = cost(graph)
    assert sorted(once["unknown"]["loops"]) == ["gradients/loop/while_context", "loop/while_context"]
    product = 2 * 32 * 128 * 64
    assert once["types"]["MatMul"]["flops"] == 3 * product
    told = cost(graph, sizes=sizes)
    assert told["unknown"]["loops"] == []
    assert told["types"]["MatMul"]["flops"] == 3 * 20 * product


@pytest.fixture(scope="module")
def dense():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"):
            y = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [4, 3], use_resource=False)))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y, name="loss"), name="train")
    return graph


def test_totals_add_up_and_are_plain(dense):
    graph = build(dense)
    found = cost(graph, sizes={"batch": 10}, fetches="train")
    assert json.loads(json.dumps(found))["flops"] == found["flops"]
    for key in ("roles", "types"):
        assert sum(row["flops"] for row in found[key].values()) == found["flops"]
        assert sum(row["bytes"] for row in found[key].values()) == found["bytes"]
    assert sum(row["flops"] + row["backward_flops"] for row in found["scopes"].values()) == found["flops"]
    layer = found["scopes"]["layer"]
    assert layer["flops"] == 2 * 10 * 4 * 3 + 10 * 3
    assert layer["backward_flops"] == 2 * 2 * 10 * 4 * 3 + 10 * 3  # of x too: TensorFlow waits for both
    assert found["roles"]["update"]["flops"] == 2 * 12
    assert found["kept"]["variables"] == 4 * 12
    assert found["kept"]["inputs"] == 4 * 10 * 4
    assert graph.nodes["layer/MatMul"]["flops"] == 2 * 10 * 4 * 3
    assert "flops" not in graph.nodes["layer/w/Assign"]  # not fetched


@pytest.mark.parametrize("form", ["graph_def", "path"])
def test_files_know_as_much_as_live_graphs(dense, form, tmp_path):
    source = dense.as_graph_def()
    if form == "path":
        (tmp_path / "model.pb").write_bytes(source.SerializeToString())
        source = tmp_path / "model.pb"
    want = cost(build(dense), sizes={"batch": 10}, fetches="train")
    got = cost(build(source), sizes={"x": (10, 4)}, fetches="train")
    assert {key: got[key] for key in ("flops", "bytes", "peak", "unknown")} == {
        key: want[key] for key in ("flops", "bytes", "peak", "unknown")
    }


def test_what_is_not_known_is_said(dense):
    assert "layer/MatMul" in cost(build(dense))["unknown"]["ops"]
    node = tf.NodeDef(name="odd", op="OpOfAnotherWorld")
    assert cost(build(tf.GraphDef(node=[node])))["unknown"]["types"] == {"OpOfAnotherWorld": 1}


def test_sizes_that_do_not_fit_are_refused(dense):
    with pytest.raises(ShapeError, match=r"sizes\['x'\] is \[10, 5\].*\[None, 4\]"):
        cost(build(dense), sizes={"x": [10, 5]})
    with pytest.raises(GraphMismatchError, match="'nothing'"):
        cost(build(dense), sizes={"nothing": 3})
    with pytest.raises(GraphMismatchError, match="'nothing'"):
        cost(build(dense), fetches="nothing")


@pytest.mark.parametrize("converted", [True, False])
def test_gradients_that_become_dense(converted):
    with tf.Graph().as_default() as graph:
        table = tf.get_variable("table", [1000, 8], use_resource=False)
        rows = tf.gather(table * 2.0 if converted else table, [1, 2, 1])
        tf.gradients(tf.reduce_sum(rows), table)
    found = cost(build(graph))["dense"]
    if not converted:
        assert found == []
        return
    assert {(row["gather"], row["slices_bytes"], row["bytes"]) for row in found} == {("GatherV2", 3 * 8 * 4, 32000)}


def test_critical_path_of_two_branches():
    with tf.Graph().as_default() as graph:
        x = tf.ones([8, 8], name="x")
        long = tf.matmul(tf.matmul(x, x, name="a"), x, name="b")
        tf.add(long, tf.matmul(x, x, name="side"), name="sum")
    found = critical_path(build(graph))
    product = 2 * 8 * 8 * 8
    assert found["path"] == ["x", "a", "b", "sum"]
    assert (found["weight"], found["total"]) == (2 * product + 64, 3 * product + 64)
    with pytest.raises(GraphMismatchError, match="from_run_metadata"):
        critical_path(build(graph), "time")


def test_cost_is_linear():
    """Counted, not timed: the calls of Python functions for each op do not grow with the graph."""
    counts = []
    for layers in (20, 80):
        with tf.Graph().as_default() as graph:
            x = h = tf.ones([4, 4])
            for _ in range(layers):
                h = tf.tanh(h)
            tf.gradients(h, x)
        graph = build(graph)
        cost(graph)  # what is imported late is there now
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            cost(graph)
            critical_path(graph)
        finally:
            sys.setprofile(None)
        counts.append(calls / len(graph))
    assert counts[1] == pytest.approx(counts[0], rel=0.15)


def test_run_metadata_without_a_trace(dense):
    with pytest.raises(ValueError, match="FULL_TRACE"):
        from_run_metadata(build(dense), tf.RunMetadata())


def test_cost_leaves_no_notes_on_the_graph():
    with tf.Graph().as_default() as source:
        x = tf.placeholder(tf.float64, [3])
        _, y = while_loop_v2(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, x])
        tf.gradients(y, x)
    graph = build(source)
    before = set(graph.graph)
    cost(graph)
    cost(graph, sizes={"batch": 3})
    assert set(graph.graph) - before <= {"library"}
