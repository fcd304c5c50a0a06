"""Sizes that only the session knows, in either behaviour of TensorFlow: elements of V1 shapes are never None."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad import _sizes
from symgrad.testing import numeric_jacobian

pytestmark = pytest.mark.core

SHAPES = [[None, 3], [2, None], [None, None]]  # of a placeholder that is fed a [2, 3]
JACOBIANS = [{}, {"mode": "rows"}, {"mode": "columns"}, {"block_size": 1}, {"block_size": 4}]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_of_a_jacobian(shape, session, rng):
    x = tf.placeholder(tf.float64, shape)
    w = tf.constant(rng.standard_normal((3, 2)))
    y = tf.tanh(x @ w)
    feeds = {x: rng.standard_normal((2, 3))}
    built = [symgrad.jacobian(y, x, **options) for options in JACOBIANS]
    assert all(b.shape.is_compatible_with([2, 2, 2, 3]) and b.shape[1:2].is_fully_defined() for b in built)
    want = numeric_jacobian(y, x, session=session, feed_dict=feeds)
    for got in session.run(built, feeds):
        np.testing.assert_allclose(got, want, atol=1e-8)  # central differences in float64
    per_example = session.run([symgrad.batch_jacobian(y, x, mode=mode) for mode in ("rows", "columns")], feeds)
    for got in per_example:
        np.testing.assert_allclose(got, np.einsum("bibj->bij", want), atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_second_derivatives_and_products(shape, session, rng):
    x = tf.placeholder(tf.float64, shape)
    y = tf.sin(x) * x
    point, v = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    diagonal = 2 * np.cos(point) - point * np.sin(point)  # (x sin x)''
    loss = tf.reduce_sum(y)
    hessian, hvp, ggnvp = session.run(
        [symgrad.hessian(loss, x), symgrad.hvp(loss, x, v), symgrad.ggnvp(tf.reduce_sum(y**2) / 2, y, x, v)], {x: point}
    )
    np.testing.assert_allclose(hessian.reshape(6, 6), np.diag(diagonal.ravel()), atol=1e-14)  # float64
    np.testing.assert_allclose(hvp, diagonal * v, rtol=1e-13)
    np.testing.assert_allclose(ggnvp, (np.sin(point) + point * np.cos(point)) ** 2 * v, rtol=1e-13)


def test_an_unknown_rank(session, rng):
    x = tf.placeholder(tf.float64, None)
    y = x**3
    point = rng.standard_normal((2, 3))
    np.testing.assert_allclose(session.run(symgrad.Rop(y, x, tf.ones_like(x)), {x: point}), 3 * point**2, rtol=1e-14)
    got = session.run(symgrad.jacobian(y, x), {x: point})
    np.testing.assert_allclose(got.reshape(6, 6), np.diag(3 * point.ravel() ** 2), rtol=1e-14)


def test_a_branch_of_v2_is_vectorised(session, caplog):
    """The vectoriser expects of `tf.cond` the list that that of V2 gives."""
    x = tf.constant([0.5, 1.0], tf.float64)
    y = tf.function(lambda a: tf.cond(a[0] > 0, lambda: tf.sin(a) * a, lambda: a))(x)
    with caplog.at_level("INFO", "symgrad"):
        jacobian = symgrad.jacobian(y, x, mode="rows")
    assert not caplog.records  # nothing went one vector at a time
    values = np.array([0.5, 1.0])
    np.testing.assert_allclose(session.run(jacobian), np.diag(np.sin(values) + values * np.cos(values)), rtol=1e-14)


def test_sizes_are_numbers_or_none():
    shape = tf.TensorShape([None, 3])
    assert _sizes.known_sizes(shape) == [None, 3]
    assert [_sizes.known_along(shape, axis) for axis in (0, 1)] == [None, 3]
    assert _sizes.known_sizes(tf.TensorShape(None)) == []
    assert _sizes.known_along(tf.TensorShape(None), 0) is None
    assert _sizes.stacked(2, shape).as_list() == [2, None, 3]


def test_an_array_of_v1_beside_an_empty_loop_of_v2(session):
    """A copied block knows the shapes that are told by constants outside of it, such as that of a list of nothing."""
    x = tf.placeholder_with_default(np.zeros((2, 0)), None)
    with control_flow(v2=True):
        rows = tf.map_fn(lambda row: tf.fill([0], tf.reduce_sum(row)), x)
    with control_flow(v2=False):
        y = tf.TensorArray(x.dtype, 2).write(0, rows).write(1, tf.sin(rows)).concat()
    for mode in ("rows", "columns"):
        assert session.run(symgrad.jacobian(y, x, mode=mode, disconnected="zero")).shape == (4, 0, 2, 0)
