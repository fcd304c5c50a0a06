"""Jacobians of the examples of a batch, against the diagonal of the whole Jacobian."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import DisconnectedError, ShapeError

pytestmark = pytest.mark.core

ROUNDING = 1e-12  # of sums in float64
SETTINGS = [(mode, size) for mode in ("rows", "columns", "auto") for size in (1, 2, None)]


@pytest.mark.parametrize("static", [True, False])
def test_it_is_the_diagonal_of_the_jacobian(session, rng, static):
    value, w = rng.standard_normal((5, 3, 2)), tf.constant(rng.standard_normal((6, 4)))
    x = tf.constant(value) if static else tf.placeholder_with_default(value, [None, 3, 2])
    y = tf.reshape(tf.tanh(tf.reshape(x, [-1, 6]) @ w), [-1, 2, 2])
    built = {s: symgrad.batch_jacobian(y, x, mode=s[0], block_size=s[1]) for s in SETTINGS}
    whole = session.run(symgrad.jacobian(y, x))
    want = np.stack([whole[b, :, :, b] for b in range(5)])
    for setting, got in session.run(built).items():
        assert built[setting].shape.as_list() == [5 if static else None, 2, 2, 3, 2]
        np.testing.assert_allclose(got, want, rtol=ROUNDING, atol=ROUNDING, err_msg=str(setting))


def test_one_output_one_input_and_an_empty_batch(session):
    x = tf.placeholder(tf.float32, [None, 1])
    for mode, size in SETTINGS:
        built = symgrad.batch_jacobian(x**2, x, mode=mode, block_size=size)
        np.testing.assert_array_equal(session.run(built, {x: [[1], [3]]}), [[[2]], [[6]]])
        assert session.run(built, {x: np.zeros((0, 1))}).shape == (0, 1, 1)


def test_disconnected(session):
    x, other = tf.ones([2, 3]), tf.ones([2, 1])
    with pytest.raises(DisconnectedError, match="no path"):
        symgrad.batch_jacobian(x**2, other)
    assert symgrad.batch_jacobian(x**2, other, disconnected="none") is None
    zero = symgrad.batch_jacobian(x**2, other, disconnected="zero")
    np.testing.assert_array_equal(session.run(zero), np.zeros((2, 3, 1)))


def test_shapes_without_a_common_batch_are_refused():
    with tf.Graph().as_default():
        x = tf.ones([2, 3])
        with pytest.raises(ShapeError, match="is a scalar"):
            symgrad.batch_jacobian(tf.reduce_sum(x), x)
        with pytest.raises(ShapeError, match="first dimensions must be equal"):
            symgrad.batch_jacobian(tf.transpose(x), x)
        with pytest.raises(ShapeError, match="one y and one x"):
            symgrad.batch_jacobian([x, x], x)
        with pytest.raises(ShapeError, match="unknown rank"):
            symgrad.batch_jacobian(tf.placeholder_with_default(x, None), x)
        with pytest.raises(ShapeError, match="limits"):
            symgrad.batch_jacobian(tf.zeros([100, 100_000]), tf.zeros([100, 100_000]))
