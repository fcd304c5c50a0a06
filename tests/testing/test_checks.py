"""The checks find what is planted: a gradient off by 0.1 %, one that is not linear, one with a term missing."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.testing import check_adjoint, check_linear, numeric_jacobian, verify_grad

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def cube_with(gradient):
    """x^3 of three numbers, with a gradient function of (dy, x) of its own."""

    @tf.custom_gradient
    def cube(x):
        return x**3, lambda dy: gradient(dy, x)

    x = tf.constant([0.5, -1.0, 2.0], tf.float64)
    return cube(x), x


def right(dy, x):
    return dy * 3 * x**2


def test_a_right_gradient_passes_every_check():
    y, x = cube_with(right)
    assert verify_grad(y, x) < 1e-8
    assert check_linear(y, x) < 1e-14
    assert check_adjoint(y, x) < 1e-14


def test_verify_grad_finds_a_gradient_off_by_a_thousandth():
    y, x = cube_with(lambda dy, x: right(dy, x) * 1.001)
    with pytest.raises(AssertionError, match=r"xs\[0\] .*the gradient is .*the central difference"):
        verify_grad(y, x)


def test_verify_grad_finds_one_wrong_element_of_many():
    def off_in_one_place(dy, x):
        return right(dy, x) * tf.one_hot(57, 200, 1.001, 1.0, dtype=tf.float64)

    @tf.custom_gradient
    def cube(x):
        return x**3, lambda dy: off_in_one_place(dy, x)

    x = tf.constant(np.random.default_rng(3).standard_normal(200))
    with pytest.raises(AssertionError, match="off by"):
        verify_grad(cube(x), x)


def test_verify_grad_finds_a_missing_term():
    """The derivative of x * sin(x) without that of the second factor, as a misplaced stop_gradient leaves it."""
    x = tf.constant([0.5, 1.0], tf.float64)
    with pytest.raises(AssertionError, match="off by"):
        verify_grad(x * tf.stop_gradient(tf.sin(x)), x)


def test_check_linear_finds_a_clipped_gradient():
    y, x = cube_with(lambda dy, x: tf.clip_by_value(right(dy, x), -0.5, 0.5))
    with pytest.raises(AssertionError, match="not linear"):
        check_linear(y, x)


def test_check_linear_finds_a_squared_gradient():
    y, x = cube_with(lambda dy, x: right(dy * dy, x))
    with pytest.raises(AssertionError, match="not linear"):
        check_linear(y, x)


def test_check_linear_finds_an_added_constant():
    y, x = cube_with(lambda dy, x: right(dy, x) + 1e-3)
    with pytest.raises(AssertionError, match="not linear"):
        check_linear(y, x)


def test_check_adjoint_uses_one_mask_of_dropout():
    x = tf.ones([50], tf.float64)
    y = tf.nn.dropout(x * 3.0, rate=0.5)
    assert check_adjoint(y, x) < 1e-14


def test_session_feeds_and_seed_are_used():
    p = tf.placeholder(tf.float64, [2])
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0]), use_resource=True)
    y = tf.sin(p * v)
    with tf.Session() as session:
        session.run(v.initializer)
        for check in (check_adjoint, check_linear, verify_grad):
            assert check(y, [p, v], session=session, feed_dict={p: [0.3, 0.4]}, seed=5) < 1e-8
        session.run(v.assign([3.0, 4.0]))
        jacobian = numeric_jacobian(y, v, session=session, feed_dict={p: [0.3, 0.4]})
        np.testing.assert_allclose(jacobian, np.diag(np.cos([0.9, 1.6]) * [0.3, 0.4]), atol=1e-8)  # d sin(pv)/dv
        np.testing.assert_array_equal(session.run(v), [3.0, 4.0])  # put back


def test_a_variable_is_put_back_when_a_run_fails():
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0]), use_resource=True)
    y = tf.debugging.check_numerics(tf.log(v - 1.0), "nan") + tf.placeholder(tf.float64, [2])
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            numeric_jacobian(y, v, session=session)
        np.testing.assert_array_equal(session.run(v), [1.0, 2.0])


def test_numeric_jacobian_has_the_structure_of_ys_and_of_xs_inside():
    a, b = tf.constant([1.0, 2.0], tf.float64), tf.constant(3.0, tf.float64)
    found = numeric_jacobian([a * b], {"a": a, "b": b})
    np.testing.assert_allclose(found[0]["a"], 3 * np.eye(2), atol=1e-8)
    np.testing.assert_allclose(found[0]["b"], [1.0, 2.0], atol=1e-8)
