"""Rules that speak for some inputs only, and what TensorFlow's gradient functions keep silent about."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import MissingRuleError

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(value):
    with tf.Session() as session:
        return session.run(value)


def image(rng, channels=6):
    return tf.constant(rng.standard_normal((1, 2, 2, channels)), tf.float32)


def test_a_hessian_raises_where_the_rule_answers_for_the_incoming_gradient_only(rng):
    x = image(rng)
    with pytest.raises(MissingRuleError, match="LRNGrad"):
        symgrad.hvp(tf.reduce_sum(tf.nn.lrn(x) ** 2), x, tf.ones_like(x))


def test_a_hessian_that_needs_no_more_than_the_incoming_gradient_is_whole(rng):
    """sum (resize(x))^2 is quadratic: its Hessian times v is 2 R^T R v, the gradient at v."""
    x, v = image(rng), image(rng)

    def loss(x):
        return tf.reduce_sum(tf.compat.v2.image.resize(x, [3, 5]) ** 2)

    product, gradient = run([symgrad.hvp(loss(x), x, v), symgrad.Lop(loss(v), v, 1.0)])
    np.testing.assert_allclose(product, gradient, rtol=1e-5, atol=1e-5)  # float32, sums of fifteen terms


def test_statistics_of_a_batch_norm_in_training_are_no_zeros(rng):
    x = image(rng, 3)
    ones = tf.ones(3)
    y, mean, *_ = tf.nn.fused_batch_norm(x, ones, ones)
    with pytest.raises(MissingRuleError, match="leaves out an output"):
        symgrad.Lop(mean, x, tf.ones(3))
    symgrad.Lop(y, x, tf.ones_like(y))


def test_statistics_given_to_a_batch_norm_are_no_constants(rng):
    x, mean, variance = image(rng, 3), tf.zeros(3), tf.ones(3)
    ones = tf.ones(3)
    y, *_ = tf.nn.fused_batch_norm(x, ones, ones, mean, variance, is_training=False)
    with pytest.raises(MissingRuleError, match="FusedBatchNorm"):
        symgrad.Lop(y, mean, tf.ones_like(y))
    symgrad.Lop(y, x, tf.ones_like(y))


def test_what_a_custom_gradient_replaces_needs_no_rule(rng):
    """The inside is NumPy, which has no gradient: the user's gradient is all that counts."""

    @tf.custom_gradient
    def square(x):
        return tf.numpy_function(np.square, [x], tf.float64), lambda dy: 2 * dy * x

    x = tf.constant([1.0, 3.0], tf.float64)
    y = square(x)
    for method in ("forward", "double_vjp"):
        np.testing.assert_allclose(run(symgrad.Rop(y, x, [1, 10], method=method)), [2, 60])
    np.testing.assert_allclose(run(symgrad.Lop(y, x, [1, 10])), [2, 60])


@pytest.mark.parametrize("index", [2, 3])
def test_an_input_that_tensorflow_answers_with_none_raises(index):
    given = [tf.ones([1, 2, 2, 1]), tf.constant([3, 3]), tf.ones(2), tf.zeros(2)]
    y = tf.raw_ops.ScaleAndTranslate(images=given[0], size=given[1], scale=given[2], translation=given[3])
    with pytest.raises(MissingRuleError, match="leaves this input out"):
        symgrad.Lop(y, given[index], tf.ones_like(y))


def test_the_registry_of_tensorflow_is_left_alone():
    x = tf.constant([1.0, 2.0])
    dummy = tf.ones(2)
    (pulled,) = tf.gradients(tf.nn.softsign(x), x, dummy)
    with pytest.raises(LookupError):
        tf.gradients(pulled, dummy)
    x = tf.constant([1.0, -3.0], tf.float64)
    got = run(symgrad.Rop(tf.nn.softsign(x), x, [1, 1], method="double_vjp"))
    np.testing.assert_allclose(got, [1 / 4, 1 / 16], rtol=1e-14)


@pytest.mark.usefixtures("v2_control_flow")
def test_missing_looks_into_bodies():
    def sine(a):
        return tf.ensure_shape(tf.py_func(np.sin, [a], tf.float32, name="sine"), [2])

    with tf.Graph().as_default():
        x = tf.constant([0.5, 1.0])
        y = tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.cond(i < 1, lambda: a * x, lambda: x * sine(a))),
            (0, x),
        )[1]
        ((op, index, cause),) = symgrad.rules.missing([y], [x])
        assert (op.name, op.type, index, cause.name) == ("sine", "PyFunc", 0, "NOT_DIFFERENTIABLE")
        assert symgrad.rules.missing([tf.stop_gradient(y) * x], [x]) == []
