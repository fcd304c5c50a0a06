"""Jacobians of each example by shared weights: those of the whole batch, or a refusal that names what is in the way."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad.errors import ControlFlowError, DisconnectedError, DtypeError, ShapeError

pytestmark = pytest.mark.core

ROUNDING = 1e-12  # of sums in float64, in other orders


def open_rows(array):
    return tf.placeholder_with_default(array, [None, *np.shape(array)[1:]])


def weights(rng, *shapes):
    return [
        tf.get_variable(f"w{i}", initializer=rng.standard_normal(s) / 2, use_resource=True)
        for i, s in enumerate(shapes)
    ]


def compare(session, y, xs, rows, feeds=None):
    built = symgrad.example_jacobian(y, xs, rows=rows)
    session.run(tf.global_variables_initializer())
    got, want = session.run((built, symgrad.jacobian(y, xs)), feeds)
    for g, w in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=ROUNDING, atol=ROUNDING * np.max(np.abs(w), initial=1.0))
    return built


def test_residuals_of_an_equation(session, rng):
    """Gradients by the inputs in y, whose ops keep what they know of the batch."""
    w = weights(rng, (2, 5), (5,), (5, 1))
    points, targets = open_rows(rng.standard_normal((7, 2))), open_rows(rng.standard_normal((7, 1)))
    u = tf.tanh(points @ w[0] + w[1]) @ w[2]
    slope = tf.gradients(u, points)[0]
    curved = tf.gradients(slope[:, 0], points)[0][:, :1]
    built = compare(session, (curved + u * slope[:, 1:] - targets)[:, 0] / np.sqrt(7), w, [points, targets])
    assert built[0].shape.as_list() == [None, 2, 5]
    fed = {points: rng.standard_normal((3, 2)), targets: np.zeros((3, 1))}
    assert session.run(built[0], fed).shape == (3, 2, 5)
    assert session.run(built[0], {points: np.zeros((0, 2)), targets: np.zeros((0, 1))}).shape == (0, 2, 5)


def test_several_outputs_and_rows_of_integers(session, rng):
    table, w, bias = weights(rng, (6, 3), (3, 4), (4,))
    words, labels = open_rows(rng.integers(0, 6, (5, 2))), tf.constant(rng.integers(0, 4, 5))
    logits = tf.reduce_sum(tf.tanh(tf.gather(table, words)), 1) @ w + bias
    built = compare(session, logits, {"t": table, "w": w}, words)
    assert built["t"].shape.as_list() == [None, 4, 6, 3]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    compare(session, losses, [table, w], [words, labels])


def test_constant_rows_without_gradients(session, rng):
    (w,) = weights(rng, (3, 2))
    x = tf.constant(rng.standard_normal((4, 3)))
    assert compare(session, tf.sin(x @ w), w, x).shape.as_list() == [4, 2, 3, 2]


def test_the_dropout_of_the_batch(session, rng):
    (w,) = weights(rng, (3, 2))
    x = open_rows(rng.standard_normal((6, 3)))
    compare(session, tf.nn.dropout(tf.tanh(x @ w), rate=0.5), w, x)


def test_numbers_that_hang_on_the_size_of_the_batch(session, rng):
    (w,) = weights(rng, (3, 1))
    x = open_rows(rng.standard_normal((6, 3)))
    of_mean = tf.gradients(tf.reduce_mean(tf.sin(x @ w)), x)[0]
    compare(session, of_mean / tf.sqrt(tf.cast(tf.shape(x)[0], tf.float64)), w, x)


@pytest.mark.parametrize("v2", [False, True])
def test_loops_and_branches(session, rng, v2):
    (w,) = weights(rng, (3, 3))
    x = open_rows(rng.standard_normal((4, 3)))
    with control_flow(v2=v2):
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a @ w)), [0, x])[1]
        y = tf.cond(tf.reduce_sum(w) > -99.0, lambda: y * tf.reduce_sum(w), lambda: y)
        walked = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) + 0.5), [0, x])[1]
    compare(session, y, w, x)
    compare(session, walked @ w, w, x)


def test_what_does_not_vectorise(session, rng):
    (w,) = weights(rng, (3, 4))
    x = open_rows(rng.standard_normal((4, 3)))
    compare(session, tf.nn.top_k(tf.tanh(x @ w), 2).values, w, x)


@pytest.mark.parametrize("static", [True, False])
def test_what_couples_examples_is_named(graph, rng, static):
    (w,) = weights(rng, (3, 2))
    value = rng.standard_normal((5, 3))
    x = tf.constant(value) if static else open_rows(value)
    h = tf.cast(x @ w, tf.float32)[:, tf.newaxis, tf.newaxis]
    normal = tf.raw_ops.FusedBatchNormV3(x=h, scale=[1.0, 1.0], offset=[0.0, 0.0], mean=[], variance=[], name="norm")
    before = len(graph.get_operations())
    with pytest.raises(ShapeError, match=r"FusedBatchNormV3 'norm' .*couples the examples"):
        symgrad.example_jacobian(normal.y, w, rows=x)
    assert [op.name for op in graph.get_operations()[before:]] == []
    mean = tf.reduce_mean(x @ w, 0, name="centre")
    with pytest.raises(ShapeError, match=r"Mean 'centre' \(.*test_example_jacobian.*couples the examples"):
        symgrad.example_jacobian(tf.tanh(x @ w - mean), w, rows=x)


def test_what_couples_examples_in_other_ways_stops_the_run(session, rng):
    (w,) = weights(rng, (3, 2))
    x = open_rows(rng.standard_normal((5, 3)))
    built = symgrad.example_jacobian(tf.cumsum(tf.tanh(x @ w)), w, rows=x)
    session.run(w.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError, match="couples the examples"):
        session.run(built)


def test_a_tensor_that_is_left_out_of_rows(session, rng):
    (w,) = weights(rng, (3, 1))
    x = open_rows(rng.standard_normal((5, 3)))
    with pytest.raises(ShapeError, match=r"rows lacks a tensor.*Candidates for rows: targets"):
        symgrad.example_jacobian(x @ w - tf.constant(np.ones((5, 1)), name="targets"), w, rows=x)
    open_targets = tf.placeholder(tf.float64, [None, 1], name="open_targets")
    built = symgrad.example_jacobian(x @ w - open_targets, w, rows=x)
    session.run(w.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Candidates for rows: open_targets"):
        session.run(built, {open_targets: np.ones((5, 1))})


def test_a_number_of_examples_that_the_graph_keeps(graph, rng):
    (w,) = weights(rng, (3, 1))
    x = tf.constant(rng.standard_normal((5, 3)))
    slope = tf.gradients(tf.sin(x @ w), x)[0]
    before = len(graph.get_operations())
    with pytest.raises(ShapeError, match=r"tf\.placeholder_with_default"):
        symgrad.example_jacobian(slope, w, rows=x)
    assert [op.name for op in graph.get_operations()[before:]] == []


def test_disconnected(session, rng):
    w, other = weights(rng, (3, 2), (4,))
    x = open_rows(rng.standard_normal((5, 3)))
    y = x @ w
    with pytest.raises(DisconnectedError, match="w1"):
        symgrad.example_jacobian(y, [w, other], rows=x)
    assert symgrad.example_jacobian(y, [w, other], rows=x, disconnected="none")[1] is None
    zeros = symgrad.example_jacobian(y, [w, other], rows=x, disconnected="zero")[1]
    session.run(w.initializer)
    np.testing.assert_array_equal(session.run(zeros), np.zeros((5, 2, 4)))
    with pytest.raises(DisconnectedError, match="depends on none of rows"):
        symgrad.example_jacobian(y, w, rows=tf.ones([5, 1]))


def test_bad_arguments(graph, rng):
    w, v = weights(rng, (3, 2), (2, 2))
    x = open_rows(rng.standard_normal((5, 3)))
    h = x @ w
    drawn = tf.raw_ops.RandomPoissonV2(shape=tf.zeros([0], tf.int32), rate=tf.exp(h), dtype=tf.float64)
    for error, match, arguments in (
        (ShapeError, "takes one y", ([h, h], w, x)),
        (ShapeError, "is a scalar", (tf.reduce_sum(h), w, x)),
        (ShapeError, "unknown rank", (h, w, tf.placeholder(tf.float64))),
        (ShapeError, "wanted as many", (tf.ones([4, 2]) + tf.cast(h, tf.float32)[:4], w, tf.ones([5, 1]))),
        (ShapeError, "is computed from rows", (h @ v, h, x)),
        (ShapeError, "rows are computed from xs", (tf.tanh(h) @ v, [w, v], h)),
        (DtypeError, "has the variable", (w @ v, v, w)),
        (ControlFlowError, "stateful op .*symgrad.jacobian", (h * drawn, w, x)),
    ):
        with pytest.raises(error, match=match):
            symgrad.example_jacobian(arguments[0], arguments[1], rows=arguments[2])
