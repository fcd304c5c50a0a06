"""Taylor series through loops, branches, arrays and calls of V1 and V2, against nested Rops and unrolled graphs."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES
from loops import LOOPS
from series import close, line, nested
from sessions import AS_BUILT
from worlds import control_flow

import symgrad

pytestmark = pytest.mark.core


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_v1_loops_and_branches_to_order_two(row, rng):
    graph = row.build()
    with graph.as_default(), tf.Session(config=AS_BUILT) as session:
        x, y = (graph.get_tensor_by_name(f"{name}:0") for name in "xy")
        v = rng.standard_normal(row.point.shape)
        got = symgrad.jet(y, x, line(v, 2))
        want = nested(y, x, v, 2)
        for g, w in zip(*session.run([got, want], {x: row.point}), strict=True):
            close(g, w)


_CONTROL = ("cond", "while", "map_fn", "scan", "function", "switch", "loop")


@pytest.mark.parametrize("case", [c for c in CASES if any(w in c.name for w in _CONTROL)], ids=lambda c: c.name)
def test_control_flow_to_order_three(case, run, rng, graph):
    ys, xs = case(rng)
    leaves, flat = tf.nest.flatten(xs), tf.nest.flatten(ys)
    v = [rng.standard_normal(x.shape.as_list()) for x in leaves]
    got = symgrad.jet(flat, leaves, [line(w, 3) for w in v], disconnected="zero")
    for y, found in zip(flat, got, strict=True):
        for g, w in zip(*run([found, nested(y, leaves, v, 3)]), strict=True):
            close(g, w)


@pytest.mark.parametrize("v2", [False, True])
def test_training_through_a_loop(v2, run, rng):
    """The gradient by the weights of a jet through a loop is that of the jet through the unrolled graph."""
    x, w = tf.constant(rng.standard_normal((4, 3))), tf.constant(rng.standard_normal((3, 3)) / 2)

    def step(h):
        return tf.tanh(h @ w) + x

    with control_flow(v2=v2):
        _, looped = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, step(h)), [0, x])
    unrolled = step(step(step(x)))
    v = rng.standard_normal((4, 3))
    pairs = []
    for y in (looped, unrolled):
        found = symgrad.jet(y, x, line(v, 3))
        pairs.append([found, tf.gradients(tf.reduce_sum(found[1] ** 2 + found[2]), w)[0]])
    (a, da), (b, db) = run(pairs)
    for g, h in zip(a, b, strict=True):
        close(g, h)
    close(da, db)


@pytest.mark.parametrize("d", [3, 6])
@pytest.mark.parametrize("v2", [False, True])
def test_a_laplacian_through_a_loop_and_a_branch(v2, d, run, rng):
    """Side by side and stacked; y = r^2 + 3 sin, then (r^2)^3, after a loop that squares by products."""
    x = tf.constant(rng.uniform(0.3, 0.7, (4, d)))

    def function(x):
        r2 = tf.reduce_sum(x * x, 1)
        _, power = tf.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, p * r2), [0, r2])
        return tf.cond(r2[0] > 0, lambda: power, lambda: r2)

    with control_flow(v2=v2):
        y = function(x)
    got, at = run([symgrad.laplacian(y, x), x])
    r2 = (at**2).sum(1)
    close(got, 6 * (4 + d) * r2**2)  # of r^6: 6 (6 + d - 2) r^4


@pytest.mark.parametrize("v2", [False, True])
def test_an_array_and_a_map(v2, run, rng):
    x = tf.constant(rng.uniform(0.3, 0.7, (3, 2)))
    with control_flow(v2=v2):
        y = tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row**2), x)
    want = tf.sin(x) * tf.reduce_sum(x**2, 1, keepdims=True)
    v = rng.standard_normal((3, 2))
    for g, w in zip(*run([symgrad.jet(y, x, line(v, 3)), nested(want, x, v, 3)]), strict=True):
        close(g, w)


def test_a_recurrent_network(run, rng):
    """`dynamic_rnn`'s loop by hand: jets along the inputs, by analysis where the cell is linear in them."""
    x = tf.constant(rng.standard_normal((2, 4, 3)))
    w = tf.constant(rng.standard_normal((3, 3)) / 2)
    with control_flow(v2=False):
        array = tf.TensorArray(tf.float64, 4).unstack(tf.transpose(x, [1, 0, 2]))
        body = lambda t, h: (t + 1, tf.exp(h @ w * 0.3) + array.read(t))  # noqa: E731
        _, h = tf.while_loop(lambda t, h: t < 4, body, [0, tf.zeros([2, 3], tf.float64)])
    state = tf.zeros([2, 3], tf.float64)
    for t in range(4):
        state = tf.exp(state @ w * 0.3) + x[:, t]
    v = rng.standard_normal((2, 4, 3))
    for g, w_ in zip(*run([symgrad.jet(h, x, line(v, 4)), symgrad.jet(state, x, line(v, 4))]), strict=True):
        close(g, w_)


def test_inside_of_a_function(run):
    """Built in the body of a tf.function: (x^5)''' = 60 x^2."""

    @tf.function(autograph=False)
    def third(x):
        y = x**2 * tf.function(lambda v: v**3)(x)
        return symgrad.jet(y, x, line(tf.ones_like(x), 3))[2]

    np.testing.assert_allclose(run(third(tf.constant([0.5, 2.0], tf.float64))), [15, 240], rtol=1e-13)
