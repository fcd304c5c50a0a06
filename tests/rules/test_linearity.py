"""Gradient functions that are not linear in the incoming gradient are named, not computed."""

import logging

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import NotLinearError

pytestmark = pytest.mark.core

METHODS = pytest.mark.parametrize("method", ["forward", "double_vjp"])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def with_gradient(gradient):
    """An identity with a gradient of its own at some x, and that x."""
    x = tf.constant([2.0, -3.0], tf.float64)
    return tf.custom_gradient(lambda v: (v * 1.0, gradient))(x), x


MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])

NOT_LINEAR = {
    "clip by value": lambda dy: tf.clip_by_value(dy, -1, 1),
    "clip by norm": lambda dy: tf.clip_by_norm(dy, 1.0),
    "square": lambda dy: dy * dy,
    "tanh": tf.tanh,
    "offset": lambda dy: dy + 1,
    "weight decay": lambda dy: 2 * dy + tf.range(2, dtype=tf.float64),
    "quotient": lambda dy: 1 / dy,
    "mask of itself": lambda dy: tf.where(dy > 0, dy, tf.zeros_like(dy)),
    "mask by a product": lambda dy: dy * tf.cast(dy > 0, dy.dtype),
    "constant": tf.ones_like,
    "its sign": tf.sign,
    "stopped": tf.stop_gradient,
    "power": lambda dy: dy**3,
    "padded by something": lambda dy: tf.concat([dy, [1.0, 1.0]], 0)[:2],
}

LINEAR = {
    "itself": lambda dy: dy,
    "scaled": lambda dy: 3 * dy / 2 - dy,
    "reversed": lambda dy: -dy[::-1],
    "masked": lambda dy: tf.where([True, False], dy, tf.zeros_like(dy)),
    "guarded": lambda dy: tf.where(tf.math.is_nan(dy), tf.zeros_like(dy), dy),
    "through a matrix": lambda dy: tf.linalg.matvec(MATRIX, dy),
    "solved": lambda dy: tf.linalg.solve(MATRIX, dy[:, None])[:, 0],
    "padded by zeros": lambda dy: tf.concat([dy, tf.zeros([2], tf.float64)], 0)[:2],
    "zero": tf.zeros_like,
    "in a branch": lambda dy: tf.cond(tf.constant(True), lambda: dy * 2, lambda: dy),
    "by a gradient op": lambda dy: tf.raw_ops.TanhGrad(y=MATRIX[0], dy=dy),
}


@METHODS
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_not_linear(name, method):
    y, x = with_gradient(NOT_LINEAR[name])
    with pytest.raises(NotLinearError, match="IdentityN"):
        symgrad.Rop(y, x, [1, 1], method=method)


@METHODS
@pytest.mark.parametrize("name", LINEAR)
def test_linear(name, method):
    """The Rop is then the adjoint of what the gradient function does."""
    y, x = with_gradient(LINEAR[name])
    u, v = np.array([0.3, -2.0]), np.array([1.5, 0.7])
    with tf.Session() as session:
        pulled, pushed = session.run([symgrad.Lop(y, x, u), symgrad.Rop(y, x, v, method=method)])
    np.testing.assert_allclose(u @ pushed, pulled @ v, rtol=1e-12)  # float64, sums of two terms


@METHODS
def test_an_overridden_gradient_is_looked_at(method, graph):
    name = f"SymgradTestClipped_{method}"
    tf.RegisterGradient(name)(lambda op, dy: tf.minimum(dy, 0.1))
    x = tf.constant([2.0])
    with graph.gradient_override_map({"Identity": name}):
        y = tf.identity(x, name="clipped")
    with pytest.raises(NotLinearError, match=r"'clipped'.*Minimum"):
        symgrad.Rop(y, x, [1.0], method=method)


def test_inside_a_loop():
    x = tf.constant([2.0, -3.0], tf.float64)
    clipped = tf.custom_gradient(lambda v: (v * 1.0, lambda dy: tf.clip_by_value(dy, -1, 1)))
    y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, clipped(v)), [0, x])[1]
    with pytest.raises(NotLinearError):
        symgrad.Rop(y, x, [1, 1])


def test_lop_takes_any_gradient_function():
    y, x = with_gradient(NOT_LINEAR["clip by value"])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(symgrad.Lop(y, x, [5.0, 0.5])), [1, 0.5])


def test_what_the_graph_does_not_show_is_logged(caplog):
    y, x = with_gradient(lambda dy: tf.raw_ops.Cholesky(input=dy[:, None, None])[:, 0, 0])
    with caplog.at_level(logging.INFO, logger="symgrad"):
        symgrad.Rop(y, x, [1, 1])
    assert "check_linear" in caplog.text
