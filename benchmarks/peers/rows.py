"""Each row of the benchmark: candidates that compute the same numbers, checked against each other before timing."""

import functools
import time

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.ops.parallel_for.control_flow_ops import pfor
from tensorflow.python.ops.parallel_for.gradients import jacobian as pfor_jacobian

import symgrad

from . import models

# Candidates of one row agree to this, relative to the largest element: float32 sums in different orders.
AGREE = 1e-3


def tensorflow_rows(options):
    """Quartiles of milliseconds by row and candidate, for everything that runs in this process."""
    found = {}
    for name, build in ROWS.items():
        if options.only in name:
            found[name] = _row(build, options.seconds)
            print(name, {k: round(v["ms"][1], 3) for k, v in found[name].items()}, flush=True)
    return found


def _row(build, seconds):
    from __main__ import alternate

    graph = tf.Graph()
    with graph.as_default():
        tensors, others = build()
        start = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    try:  # outside of the graph, where functions that are called run eagerly
        session.run(start)
        calls = {name: _callable(session, t) for name, t in tensors.items()}
        calls.update(others)
        _check(calls)
        ours = tensors["symgrad"]
        calls["symgrad by session.run"] = lambda: session.run(ours)
        return alternate(calls, seconds)
    finally:
        session.close()


def _callable(session, tensor):
    options = config_pb2.CallableOptions()
    options.fetch.append(tensor.name)
    run = session._make_callable_from_options(options)
    return lambda: run()[0]


def _check(calls):
    want = np.asarray(calls["symgrad"]())
    for name, call in calls.items():
        got = np.asarray(call())
        off = np.max(np.abs(got.reshape(want.shape) - want)) / np.max(np.abs(want))
        if not off < AGREE:
            raise AssertionError(f"{name} is off by {off:.2g}")


def _jax(function, x, arrays, take):
    """JAX's candidates: `take` makes of a function of x the derivatives by name; compiled, waited for."""
    import jax

    arrays, x = [jax.numpy.asarray(a) for a in arrays], jax.numpy.asarray(x)
    calls = {}
    for name, derivative in take(lambda v: function(v, arrays)).items():
        compiled = jax.jit(derivative)
        calls[name] = lambda compiled=compiled: compiled(x).block_until_ready()
    return calls


def _both_modes(f):
    import jax

    return {"JAX jacrev": jax.jacrev(f), "JAX jacfwd": jax.jacfwd(f)}


def _tape(function, w):
    """GradientTape.jacobian in a tf.function of x."""

    @tf.function(autograph=False)
    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, w)
        return tape.jacobian(y, x)

    return derivative


def _tape_called(function, arrays, x0):
    """The same function called eagerly, as code of TensorFlow 2 calls it; made at the first call, outside of graphs."""

    @functools.cache
    def made():
        return _tape(function, [tf2.Variable(a, trainable=False) for a in arrays]), tf2.constant(x0)

    def call():
        derivative, x = made()
        return derivative(x)

    return call


def _row_loop(y, x):
    n = y.shape.num_elements()
    flat = tf.reshape(y, [-1])
    rows = tf.while_loop(
        lambda i, rows: i < n,
        lambda i, rows: (i + 1, rows.write(i, tf.gradients(flat[i], x)[0])),
        [0, tf.TensorArray(tf.float32, n)],
    )[1]
    return rows.stack()


def _jacobian(tf_function, jax_function, arrays, x0, *, loop=True):
    def build():
        x, w = tf.Variable(x0, use_resource=True) + 0.0, models.variables(arrays)
        y = tf_function(x, w)
        tensors = {
            "symgrad": symgrad.jacobian(y, x),
            "pfor": pfor_jacobian(y, x),
        }
        tensors["tape in the graph"] = _tape(tf_function, w)(x)
        if loop and y.shape.num_elements() <= 256:
            tensors["while_loop rows"] = _row_loop(y, x)
        others = {"tape": _tape_called(tf_function, arrays, x0)}
        return tensors, {**others, **_jax(jax_function, x0, arrays, _both_modes)}

    return build


def _mlp(n, m, h):
    arrays = models.weights(models.mlp_shapes(n, m, h))
    return _jacobian(models.tf_mlp, models.jax_mlp, arrays, models.point(1, m), loop=n <= 256)


def _by_kernels():
    arrays, x0 = models.weights(models.CONV), models.point(1, 784)

    def by_kernel(library_function):
        return lambda kernel, others: library_function(others[0], [others[1], kernel, others[2]])

    return _jacobian(by_kernel(models.tf_conv), by_kernel(models.jax_conv), [x0, arrays[0], arrays[2]], arrays[1])


def _rnn():
    arrays = models.weights(models.RNN)
    return _jacobian(models.tf_rnn, models.jax_rnn, arrays, models.point(models.STEPS, models.INPUTS), loop=False)


def _rnn_v1():
    """TensorFlow vectorises a V1 loop only while V2 control flow is off; its tape makes V2 loops."""
    arrays, x0 = models.weights(models.RNN), models.point(models.STEPS, models.INPUTS)

    def build():
        x, w = tf.Variable(x0, use_resource=True) + 0.0, models.variables(arrays)
        y = models.tf_rnn_v1(x, w)
        tensors = {"symgrad": symgrad.jacobian(y, x)}
        tf.disable_control_flow_v2()
        try:
            tensors["pfor"] = pfor_jacobian(y, x)
        finally:
            tf.enable_control_flow_v2()
        return tensors, _jax(models.jax_rnn, x0, arrays, _both_modes)

    return build


def _batch():
    arrays, x0 = models.weights(models.mlp_shapes(10, 100, 128)), models.point(64, 100)

    def build():
        x, w = tf.Variable(x0, use_resource=True) + 0.0, models.variables(arrays)
        y = models.tf_mlp(x, w)

        @tf.function(autograph=False)
        def tape(x):
            with tf.GradientTape() as t:
                t.watch(x)
                y = models.tf_mlp(x, w)
            return t.batch_jacobian(y, x)

        rows = pfor(lambda i: tf.gradients(y[:, i], x)[0], 10)
        tensors = {"symgrad": symgrad.batch_jacobian(y, x), "pfor": tf.transpose(rows, [1, 0, 2]), "tape": tape(x)}
        return tensors, _jax(models.jax_mlp, x0, arrays, _jax_batch)

    return build


def _jax_batch(f):
    import jax

    return {"JAX vmap(jacrev)": jax.vmap(jax.jacrev(f)), "JAX vmap(jacfwd)": jax.vmap(jax.jacfwd(f))}


def _rop(tf_function, jax_function, arrays, x0, *, unknown_batch=False, loop=None):
    v0 = models.point(*x0.shape[::-1]).reshape(x0.shape)

    def build():
        x, w, v = tf.Variable(x0, use_resource=True) + 0.0, models.variables(arrays), tf.Variable(v0, use_resource=True)
        if unknown_batch:
            x = tf.placeholder_with_default(x, [None, *x0.shape[1:]])
        y = tf_function(x, w)
        u = tf.ones_like(y)
        tensors = {"symgrad": symgrad.Rop(y, x, v + 0.0)}
        if loop != "V1":  # through which there is no second gradient
            tensors["double VJP by hand"] = tf.gradients(tf.gradients(y, x, u)[0], u, v + 0.0)[0]
        if not loop:  # it has no rule for lists
            tensors["ForwardAccumulator"] = _accumulator(tf_function, x, w, v + 0.0)
        import jax

        jv = jax.numpy.asarray(v0)
        return tensors, _jax(jax_function, x0, arrays, lambda f: {"JAX jvp": lambda x: jax.jvp(f, (x,), (jv,))[1]})

    return build


def _accumulator(tf_function, x, w, v):
    @tf.function(autograph=False)
    def derivative(x, v):
        with tf2.autodiff.ForwardAccumulator(x, v) as accumulator:
            y = tf_function(x, w)
        return accumulator.jvp(y)

    return derivative(x, v)


def _second(size, kind):
    shapes = models.HESSIANS[size]
    p0, x0 = models.point(size) * np.float32(0.3), models.point(16, shapes[0][0])
    v0 = models.point(size)[::-1].copy()

    def build():
        import jax
        import jax.numpy as jnp

        p, x, v = (tf.Variable(a, use_resource=True) + 0.0 for a in (p0, x0, v0))
        y = models.loss(p, x, shapes, tf)
        jx, jv = jnp.asarray(x0), jnp.asarray(v0)

        def f(p):
            return models.loss(p, jx, shapes, jnp)

        (g,) = tf.gradients(y, p)
        if kind == "hessian":
            tensors = {
                "symgrad": symgrad.hessian(y, p),
                "pfor": pfor_jacobian(g, p),
                "tf.hessians": tf.hessians(y, p)[0],
            }
            modes = {"JAX hessian": jax.hessian(f), "JAX jacrev(jacrev)": jax.jacrev(jax.jacrev(f))}
        elif kind == "hvp":
            u = tf.ones_like(g)
            tensors = {
                "symgrad": symgrad.hvp(y, p, v),
                "reverse over reverse by hand": tf.gradients(g, p, v)[0],
                "double VJP by hand": tf.gradients(tf.gradients(g, p, u)[0], u, v)[0],
            }
            modes = {"JAX jvp(grad)": lambda p: jax.jvp(jax.grad(f), (p,), (jv,))[1]}
        else:
            tensors, modes = _gauss_newton(p, x, v, shapes, jx, jv)
        return tensors, _jax(lambda p, _: p, p0, [], lambda _: modes)

    return build


def _gauss_newton(p, x, v, shapes, jx, jv):
    import jax
    import jax.numpy as jnp

    z = models.network(p, x, shapes, tf)
    y = tf.reduce_sum(z**2)
    u = tf.ones_like(z)
    jv_hand = tf.gradients(tf.gradients(z, p, u)[0], u, v)[0]
    hand = tf.gradients(z, p, 2.0 * jv_hand)[0]

    def outputs(p):
        return models.network(p, jx, shapes, jnp)

    def product(p):
        z, jv_ = jax.jvp(outputs, (p,), (jv,))
        hjv = jax.jvp(jax.grad(lambda z: jnp.sum(z**2)), (z,), (jv_,))[1]
        return jax.vjp(outputs, p)[1](hjv)[0]

    return {"symgrad": symgrad.ggnvp(y, z, p, v), "by hand": hand}, {"JAX": product}


def builds():
    """Seconds and ops to build 400 rows of a 400 x 400 network's Jacobian, the median of five graphs."""
    found = {}
    for name, make in {
        "symgrad rows": lambda y, x: symgrad.jacobian(y, x, mode="rows"),
        "symgrad columns": lambda y, x: symgrad.jacobian(y, x, mode="columns"),
        "symgrad auto": symgrad.jacobian,
        "symgrad one at a time": lambda y, x: symgrad.jacobian(y, x, mode="rows", block_size=1),
        "pfor": pfor_jacobian,
    }.items():
        taken = []
        for _ in range(5):
            with tf.Graph().as_default() as graph:
                x = tf.constant(models.point(1, 400))
                y = models.tf_mlp(x, models.variables(models.weights(models.mlp_shapes(400, 400, 128))))
                before, begin = len(graph.get_operations()), time.perf_counter()
                make(y, x)
                taken.append(time.perf_counter() - begin)
                ops = len(graph.get_operations()) - before
        found[name] = {"seconds": float(np.median(taken)), "ops": ops}
    return found


_CONV = models.weights(models.CONV)
_MLP = models.weights(models.mlp_shapes(256, 400, 256))
_RNN = models.weights(models.RNN)
_RNN_POINT = models.point(models.STEPS, models.INPUTS)

ROWS = {
    "Rop MLP": _rop(models.tf_mlp, models.jax_mlp, _MLP, models.point(32, 400)),
    "Rop MLP, unknown batch": _rop(models.tf_mlp, models.jax_mlp, _MLP, models.point(32, 400), unknown_batch=True),
    "Rop conv net": _rop(models.tf_conv, models.jax_conv, _CONV, models.point(8, 784)),
    "Rop RNN, V2 loop": _rop(models.tf_rnn, models.jax_rnn, _RNN, _RNN_POINT, loop="V2"),
    "Rop RNN, V1 loop": _rop(models.tf_rnn_v1, models.jax_rnn, _RNN, _RNN_POINT, loop="V1"),
    **{f"Jacobian MLP {n}x{m}": _mlp(n, m, h) for n, m, h in models.MLPS},
    "Jacobian conv logits by image": _jacobian(models.tf_conv, models.jax_conv, _CONV, models.point(1, 784)),
    "Jacobian conv logits by kernels": _by_kernels(),
    "Jacobian RNN 160x80": _rnn(),
    "Jacobian RNN 160x80, V1 loop": _rnn_v1(),
    "batch Jacobian 64x10x100": _batch(),
    **{f"{kind} {size}": _second(size, kind) for kind in ("hvp", "hessian", "GGN product") for size in models.HESSIANS},
}
