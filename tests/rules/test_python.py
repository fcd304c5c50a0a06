"""Derivatives of tf.py_function, of first and second order, several in one run of a session."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import MissingRuleError

X, V = np.array([1.0, 2.0]), np.array([1.0, 1.0])
# The derivatives of powers of small whole numbers, in float64.
EXACT = {"rtol": 1e-14}


@pytest.fixture
def cubed(graph):
    """(y, x): y = x ** 3 by a Python function."""
    x = tf.placeholder_with_default(X, [2])
    return tf.ensure_shape(tf.py_function(lambda t: t**3, [x], tf.float64), [2]), x


@pytest.mark.core
def test_all_derivatives_in_one_run(run, cubed):
    y, x = cubed
    first, second = [
        symgrad.Lop(y, x, V), symgrad.Rop(y, x, V), symgrad.Rop(y, x, V, method="double_vjp"),
    ], [
        symgrad.hvp(tf.reduce_sum(y), x, V), symgrad.Rop(symgrad.Lop(y, x, V), x, V),
        symgrad.Lop(symgrad.Rop(y, x, V), x, V), symgrad.Rop(symgrad.Rop(y, x, V), x, V),
    ]  # fmt: skip
    for got in run(first):
        np.testing.assert_allclose(got, 3 * X**2, **EXACT)
    for got in run(second):
        np.testing.assert_allclose(got, 6 * X, **EXACT)


@pytest.mark.parametrize("mode", ["auto", "rows", "columns"])
@pytest.mark.parametrize("block_size", [None, 1])
def test_jacobians(run, cubed, mode, block_size):
    y, x = cubed
    got = run(symgrad.jacobian(y, x, mode=mode, block_size=block_size))
    np.testing.assert_allclose(got, np.diag(3 * X**2), **EXACT)


def test_hessian_and_several_arguments(run, graph):
    a, b = (tf.placeholder_with_default(np.float64(v), []) for v in (2.0, 3.0))
    y, number = tf.py_function(lambda s, t, n: (s * s * t, n), [a, b, tf.constant(4)], [tf.float64, tf.int32])
    y = tf.ensure_shape(y, [])
    (aa, ab), (ba, bb) = run(symgrad.hessian(y, [a, b]))
    assert (aa, ab, ba, bb) == (6.0, 4.0, 4.0, 0.0)
    assert run(number) == 4


def test_a_function_that_gives_other_values_again(run, graph):
    x = tf.placeholder_with_default(X, [2])
    calls = []

    def drawn(t):
        calls.append(1)
        return t * float(len(calls))

    y = tf.ensure_shape(tf.py_function(drawn, [x], tf.float64), [2])
    with pytest.raises(tf.errors.OpError, match="other values when it runs again"):
        run(symgrad.Lop(y, x, V))


def test_a_function_that_leaves_tensorflow(run, graph):
    x = tf.placeholder_with_default(X, [2])
    y = tf.ensure_shape(tf.py_function(lambda t: np.sin(t.numpy()), [x], tf.float64), [2])
    with pytest.raises(tf.errors.OpError, match="no derivative comes out"):
        run(symgrad.Lop(y, x, V))


def test_tensorflows_own_gradient_is_not_differentiated(cubed):
    y, x = cubed
    w = tf.constant(V)
    (gradient,) = tf.gradients(y, x, grad_ys=w)
    with pytest.raises(MissingRuleError, match=r"gradient of a tf\.py_function"):
        symgrad.Lop(gradient, w, V)
