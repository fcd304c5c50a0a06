"""Random graphs: Rop by both methods and Lop agree with each other and with central differences."""

import os

import numpy as np
import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import AS_BUILT

import symgrad

# `make fuzz` asks for more.
EXAMPLES = int(os.environ.get("SYMGRAD_FUZZ", "250"))

SHAPES = [(), (3,), (2, 3), (3, 2), (1, 3), (2, 1)]

# Smooth, and of values and slopes of about one, so that thirty in a row stay where differences are good to 1e-6.
UNARY = [
    tf.sin, tf.tanh, tf.sigmoid, tf.math.erf, tf.square, tf.negative, tf.nn.softplus, tf.identity,
    lambda a: tf.exp(-tf.square(a)), lambda a: tf.log(2 + tf.cos(a)), lambda a: tf.sqrt(1 + a * a) - 1,
    lambda a: tf.reduce_mean(a, keepdims=True), lambda a: tf.reshape(a, [-1]), tf.transpose,
    lambda a: tf.reverse(tf.reshape(a, [-1]), [0]), lambda a: tf.gather(tf.reshape(a, [-1]), [0, 0]),
    lambda a: tf.nn.softmax(tf.reshape(a, [1, -1])), lambda a: tf.cumsum(tf.reshape(a, [-1])) / 3,
    lambda a: tf.stop_gradient(a) * a, lambda a: tf.reshape(a, [-1])[:1],
]  # fmt: skip

BINARY = [
    lambda a, b: (a + b) / 2, lambda a, b: (a - b) / 2, lambda a, b: a * b, lambda a, b: a / (2 + tf.cos(b)),
    lambda a, b: tf.math.squared_difference(a, b) / 2, lambda a, b: tf.atan2(a, 2 + tf.cos(b)),
    lambda a, b: tf.pow(1.5 + tf.sin(a), b), lambda a, b: tf.where_v2(tf.fill(tf.shape(b), True), a, b),
]  # fmt: skip


def matrix_product(a, b):
    flat = [tf.reshape(t, [1, -1]) for t in (a, b)]
    return tf.matmul(flat[0], flat[0] * 0.3, transpose_b=True) @ tf.tanh(flat[1]) / 3


def joined(a, b):
    return tf.concat([tf.reshape(a, [-1]), tf.reshape(b, [-1])], 0)[:4]


ANY = [matrix_product, joined]

STEP = st.tuples(st.integers(0, len(UNARY) + len(BINARY) + len(ANY) - 1), st.integers(0, 29), st.integers(0, 29))
PROGRAMS = st.tuples(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), min_size=1, max_size=3),  # shapes, known or not
    st.lists(STEP, min_size=1, max_size=30),
    st.integers(1, 3),  # the number of ys
    st.integers(0, 2**16),  # the seed of the numbers
)


def placeholder(rng, shape, known):
    return tf.placeholder_with_default(rng.uniform(-1, 1, shape), shape if known else [None] * len(shape))


def build(xs, steps):
    """Each step applies an op to tensors made before; operands that do not broadcast are replaced by their means."""
    pool = list(xs)
    shapes = [tuple(np.shape(x.op.inputs[0])) for x in xs]
    for number, i, j in steps:
        a, b = pool[i % len(pool)], pool[j % len(pool)]
        if number < len(UNARY):
            y = UNARY[number](a)
        elif number < len(UNARY) + len(BINARY):
            function = BINARY[number - len(UNARY)]
            fits = broadcast(shapes[i % len(pool)], shapes[j % len(pool)])
            y = function(a, b if fits else tf.reduce_mean(b))
        else:
            y = ANY[number - len(UNARY) - len(BINARY)](a, b)
        pool.append(y)
        shapes.append(true_shape(y))
    return pool


def broadcast(a, b):
    if a is None or b is None:
        return False
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def true_shape(y):
    return tuple(y.shape.as_list()) if y.shape.is_fully_defined() else None


@settings(max_examples=EXAMPLES)
@given(PROGRAMS)
def test_methods_agree_with_each_other_and_with_differences(program):
    inputs, steps, count, seed = program
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session:
        xs = [placeholder(rng, shape, known) for shape, known in inputs]
        ys = build(xs, steps)[-count:]
        points = session.run(xs)
        v = [rng.uniform(-1, 1, p.shape) for p in points]
        u = [rng.uniform(-1, 1, y.shape) for y in session.run(ys)]
        rop = symgrad.Rop(ys, xs, v, method="forward", disconnected="zero")
        lop = symgrad.Lop(ys, xs, u, disconnected="zero")
        # The double VJP takes three quarters of the time, so it is for one graph in three.
        double = symgrad.Rop(ys, xs, v, method="double_vjp", disconnected="zero") if seed % 3 == 0 else rop
        pushed, pulled, again = session.run([rop, lop, double])
        eps = 6e-6  # the cube root of the precision
        ahead, behind = (session.run(ys, {x: p + s * eps * w for x, p, w in zip(xs, points, v)}) for s in (1, -1))
        stopped = any(op.type == "StopGradient" for op in session.graph.get_operations())
    for got, a, b in zip(pushed, ahead, behind):
        if not stopped:  # differences see through stop_gradient
            close(got, (a - b) / (2 * eps), 1e-6)
    for got, other in zip(pushed, again):
        close(got, other, 1e-9)  # two orders of the same sums of up to thirty products
    left, right = ([np.sum(a * b) for a, b in pairs] for pairs in (zip(u, pushed), zip(pulled, v)))
    assert abs(sum(left) - sum(right)) <= 1e-10 * max(1, np.max(np.abs([*left, *right])))


def close(got, want, tolerance):
    scale = max(1, np.max(np.abs(want), initial=0))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)
