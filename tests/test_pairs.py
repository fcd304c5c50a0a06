"""`symgrad._pairs`: no wrong and no missing pair, live and after export and import.

The truth is `op._original_op`, which `tf.gradients` sets while it builds and which no file keeps.
"""

import contextlib

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.graph import build


@contextlib.contextmanager
def control_flow(version):
    before = tf.control_flow_v2_enabled()
    (tf.enable_control_flow_v2 if version == 2 else tf.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf.enable_control_flow_v2 if before else tf.disable_control_flow_v2)()


def variable(name, shape):
    return tf.get_variable(name, shape, use_resource=False)


def conv_net(**options):
    x = tf.placeholder(tf.float32, [2, 8, 8, 3], name="x")
    h = tf.nn.conv2d(x, variable("k1", [3, 3, 3, 4]), padding="SAME", name="conv")
    h, *_ = tf.nn.fused_batch_norm(h, tf.ones([4]), tf.zeros([4]), name="bn")
    h = tf.nn.max_pool2d(tf.nn.relu(h + 1.0), 2, 2, "SAME")
    h = tf.reshape(h, [2, -1]) @ variable("w", [64, 5])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.ones([2, 5]) / 5, logits=h))
    tf.gradients(loss, tf.trainable_variables(), **options)


def colocated():
    conv_net(colocate_gradients_with_ops=True)


def gated():
    conv_net(gate_gradients=True)


def adam():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    table = variable("table", [10, 4])
    h = tf.tanh(x @ variable("w", [4, 4]) + tf.gather(table, [1, 1, 3]))
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(h * h))


def third_order():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.reduce_sum(tf.sin(x) * tf.exp(x))
    for _ in range(3):
        (y,) = tf.gradients(tf.reduce_sum(y), x)


def while_loop(version):
    with control_flow(version):
        w = variable("w", [3, 3])
        state = tf.ones([2, 3])
        _, state = tf.while_loop(lambda i, _: i < 4, lambda i, s: (i + 1, tf.tanh(s @ w)), [0, state], name="loop")
        tf.gradients(tf.reduce_sum(state), w)


def nested_while_v1():
    with control_flow(1):
        w = variable("w", [3])

        def inner(s):
            return tf.while_loop(lambda j, _: j < 2, lambda j, t: (j + 1, tf.sin(t * w)), [0, s])[1]

        _, s = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, inner(s) + s), [0, tf.ones([3])])
        tf.gradients(s, w)


def cond(version):
    with control_flow(version):
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * 2.0, lambda: tf.exp(x) - x, name="branch")
        tf.gradients(tf.square(y), x)


def custom_gradient():
    @tf.custom_gradient
    def clipped(x):
        def grad(dy):
            with tf.name_scope("inner_grad"):
                return tf.clip_by_norm(dy * tf.sign(x), 1.0)

        return tf.abs(x, name="magnitude"), grad

    x = tf.placeholder(tf.float32, [3], name="inner")
    tf.gradients(tf.sin(clipped(tf.sin(x))), x)


@tf.RegisterGradient("PairsTestScaled")
def _scaled_gradient(op, dy):
    return 3.0 * dy * tf.cos(op.inputs[0])


def gradient_override_map():
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.get_default_graph().gradient_override_map({"Sin": "PairsTestScaled"}):
        y = tf.sin(tf.exp(x))
    tf.gradients(tf.exp(y), x)


def towers_in_each_other():
    """One scope name inside the other, and the gradients taken inside a scope too."""
    for scope in ("net", "tower/net", "tower/tower/net"):
        with tf.name_scope(scope + "/"):
            x = tf.placeholder(tf.float32, [3], name="x")
            y = tf.reduce_sum(tf.tanh(tf.exp(x, name="t"), name="u"))
        with tf.name_scope("tower/" if "/" in scope else "other"):
            tf.gradients(y, x)


def copy_beside_its_original():
    x = tf.placeholder(tf.float32, [3], name="net/x")
    y = tf.reduce_sum(tf.tanh(tf.exp(x, name="net/t"), name="net/u"))
    tf.gradients(y, x)
    copied = tf.get_default_graph().as_graph_def()
    for prefix in ("copy", "net", "gradients"):
        tf.import_graph_def(copied, name=prefix)


def scopes_that_look_like_gradients():
    """The user's own scopes end in `_grad`, hold manual derivatives, and share the word that tf.gradients uses."""
    x = tf.placeholder(tf.float32, [3], name="x")
    sigmoid = tf.sigmoid(x, name="sigmoid")
    with tf.name_scope("layer"):
        z = tf.identity(sigmoid, name="z")
        with tf.name_scope("sigmoid_grad"):
            manual = tf.multiply(z, 1.0 - sigmoid, name="Mul")
    with tf.name_scope("gradients"):
        h = tf.tanh(manual, name="h")
        with tf.name_scope("h_grad"):
            k = tf.square(h, name="k")
    with tf.name_scope("x_grad"):
        k = tf.exp(k, name="x")
    tf.gradients(k, x, name="")
    tf.gradients(k, x, name="derivative")
    tf.gradients(k, x)


def names_ending_in_grad():
    """Ops whose own names end in _grad and in numbers, so that scopes read x_grad_grad and x_grad_1_grad."""
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.sin(tf.exp(tf.tanh(x, name="a"), name="a_grad"), name="a_grad_1")
    y = tf.square(tf.cos(y, name="a_grad_grad"), name="a_1")
    tf.gradients(y, x)
    tf.gradients(y, x)


def only_negations():
    """No backward op touches a forward tensor, except the seed."""
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.gradients(tf.negative(tf.identity(tf.negative(x))), x)


def user_seeds():
    x = tf.placeholder(tf.float32, [3], name="x")
    v = tf.placeholder(tf.float32, [3], name="v")
    (u,) = tf.gradients(tf.sin(x), x, grad_ys=v)
    tf.gradients(u, v, grad_ys=tf.tanh(v))


def function_call():
    @tf2.function
    def f(t):
        return tf.sin(t) * t

    x = tf.placeholder(tf.float32, [3], name="x")
    tf.gradients(f(tf.exp(x)), x)


def lstm_v1():
    with control_flow(1):
        x = tf.placeholder(tf.float32, [5, 2, 3], name="x")
        w = variable("w", [7, 16])

        def step(i, h, c, outputs):
            gates = tf.concat([x[i], h], 1) @ w
            a, f, o, g = tf.split(gates, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(a) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            return i + 1, h, c, outputs.write(i, h)

        outputs = tf.TensorArray(tf.float32, 5)
        zeros = tf.zeros([2, 4])
        *_, outputs = tf.while_loop(lambda i, *_: i < 5, step, [0, zeros, zeros, outputs])
        tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(outputs.stack()))


def embedding():
    """IndexedSlices that are summed."""
    table = variable("table", [10, 3])
    a = tf.gather(table, [0, 1])
    b = tf.gather(table, [1, 2])
    tf.gradients(tf.reduce_sum(a * b), table)


CASES = {
    "conv net": conv_net,
    "colocated gradients": colocated,
    "gated gradients": gated,
    "Adam": adam,
    "third order": third_order,
    "while V1": lambda: while_loop(1),
    "while V2": lambda: while_loop(2),
    "nested while V1": nested_while_v1,
    "cond V1": lambda: cond(1),
    "cond V2": lambda: cond(2),
    "custom_gradient": custom_gradient,
    "gradient_override_map": gradient_override_map,
    "towers in each other": towers_in_each_other,
    "copy beside its original": copy_beside_its_original,
    "scopes that look like gradients": scopes_that_look_like_gradients,
    "names ending in _grad": names_ending_in_grad,
    "only negations": only_negations,
    "user seeds": user_seeds,
    "function call": function_call,
    "LSTM V1": lstm_v1,
    "embedding": embedding,
}


def truth(graph):
    return {op.name: op._original_op.name for op in graph.get_operations() if op._original_op is not None}


def differences(graph, want, prefix=""):
    """Ops whose pair is not what TensorFlow recorded."""
    nodes = graph.nodes
    return {name: (nodes[prefix + name]["pair"], pair) for name, pair in want.items()
            if nodes[prefix + name]["pair"] != prefix + pair or nodes[prefix + name]["role"] != "backward"}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("prefix", ["", "imp", "imp/sub"], ids=["same names", "prefix", "prefix of two"])
def test_imported_pairs_are_those_tensorflow_recorded(name, prefix):
    with tf.Graph().as_default() as graph:
        CASES[name]()
    want = truth(graph)
    assert want
    live = build(graph)
    assert differences(live, want) == {}
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name=prefix)
    assert truth(imported) == {}
    prefix = prefix and prefix + "/"
    found = build(imported)
    assert differences(found, want, prefix) == {}
    roles = {node: found.nodes[prefix + node]["role"] for node in live}
    assert roles == dict(live.nodes(data="role"))
    orders = {node: found.nodes[prefix + node]["order"] for node in live}
    assert orders == dict(live.nodes(data="order"))


def test_an_imported_part_of_a_live_graph_is_paired_too():
    with tf.Graph().as_default() as graph:
        third_order()
        want = truth(graph)
        tf.import_graph_def(graph.as_graph_def(), name="copy")
    found = build(graph)
    assert differences(found, want) == {}
    assert differences(found, want, "copy/") == {}


def test_orders_of_a_third_derivative():
    with tf.Graph().as_default() as graph:
        third_order()
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="")
    for found in (build(graph), build(imported)):
        orders = dict(found.nodes(data="order"))
        assert set(orders.values()) == {0, 1, 2, 3}
        for name, order in orders.items():
            pair = found.nodes[name]["pair"]
            assert order == (0 if pair is None else orders[pair] + 1)


def test_plumbing_goes_with_the_op_it_serves():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        w = variable("w", [3])
        h = tf.multiply(x, w, name="h")
        y = tf.add(tf.sin(h), tf.exp(h), name="y")
        z = tf.square(y + tf.square(w), name="z")
        tf.gradients(z, w)
    pair = dict(build(graph.as_graph_def()).nodes(data="pair"))
    seeds = {pair[name] for name in pair if name.startswith("gradients/grad_ys_0") or name == "gradients/Shape"}
    assert seeds == {"z"}
    sums = {name for name in pair if build(graph).nodes[name]["type"] == "AddN"}
    assert {name: pair[name] for name in sums} == {"gradients/AddN": "h", "gradients/AddN_1": "w/read"}


@pytest.mark.parametrize("flat", [False, True])
def test_forward_ops_recomputed_in_a_gradient_scope_stay_forward(flat):
    """As checkpointing does: the backward pass reads copies of forward ops that lie in the scope of the call."""
    scope = "" if flat else "net/"
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        i = tf.identity(x, name=scope + "Identity")
        s = tf.reshape(i, [3], name=scope + "Reshape")
        h = tf.tanh(s, name=scope + "Tanh")
        y = tf.reduce_sum(tf.square(h), name="y")
        tf.gradients(y, x)
    graph_def = graph.as_graph_def()
    made = []
    for name, source in (("Identity", "x"), ("Reshape", "Identity"), ("Tanh", "Reshape")):
        node = graph_def.node.add()
        node.CopyFrom(next(n for n in graph_def.node if n.name == scope + name))
        node.name = f"gradients/{scope}{name}"
        node.input[0] = source if source == "x" else f"gradients/{scope}{source}"
        made.append(node.name)
    (backward,) = [n for n in graph_def.node if n.op == "TanhGrad"]
    backward.input[0] = made[-1]
    found = build(graph_def)
    assert {name: found.nodes[name]["role"] for name in made} == dict.fromkeys(made, "forward")
    want = truth(graph)
    assert differences(found, want) == {}


def test_dead_ops():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 4, 4, 3], name="x")
        scale = tf.placeholder(tf.float32, [3], name="scale")
        y, *_ = tf.nn.fused_batch_norm(x, scale, tf.zeros([3]), name="bn")
        product = tf.multiply(y, tf.constant(2.0), name="product")
        (g,) = tf.gradients(product, scale)
        before = build(graph)
        tf.identity(g, name="taken")
        after = build(graph)
    consumed = {name for name in before if before.out_degree(name)}
    dead = {name for name, is_dead in before.nodes(data="dead") if is_dead}
    assert dead
    assert not dead & consumed
    assert g.op.name not in dead
    assert all(before.nodes[name]["role"] == "backward" for name in dead)
    assert {name for name, is_dead in after.nodes(data="dead") if is_dead} == {
        name for name in after if after.nodes[name]["role"] == "backward" and not after.out_degree(name)
    }


def test_a_pair_in_another_graph_is_backward_without_a_pair():
    """As in the body of a V2 loop's gradient, whose forward ops are in the body of the loop."""
    with tf.Graph().as_default():
        y = tf.sin(tf.ones([2]))
    with tf.Graph().as_default() as body:
        with body._original_op(y.op):
            tf.negative(tf.ones([2]), name="made")
        tf.negative(tf.ones([2]), name="plain")
    nodes = build(body).nodes
    assert (nodes["made"]["role"], nodes["made"]["pair"], nodes["made"]["order"]) == ("backward", None, 1)
    assert nodes["plain"]["role"] == "forward"


def test_a_resnet50_of_keras_with_gradients():
    keras = pytest.importorskip("tf_keras")
    with control_flow(1), tf.Graph().as_default() as graph:  # V1, so that each batch norm is two branches
        model = keras.applications.ResNet50(weights=None)
        loss = tf.reduce_sum(model.output)
        tf.gradients(loss, model.trainable_variables)
    want = truth(graph)
    assert len(graph.get_operations()) > 8000
    assert differences(build(graph), want) == {}
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="imp")
    found = build(imported)
    assert differences(found, want, "imp/") == {}
    unpaired = [n for n, node in found.nodes(data=True) if node["role"] == "backward" and node["pair"] is None]
    assert unpaired == []
