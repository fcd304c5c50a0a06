"""No derivative is a cause, a zero or a None, as the caller chose; what is incomplete is an error."""

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core

CUTS = {
    "no path": (lambda x: tf.ones_like(tf.constant([1.0, 2.0])), "no path"),
    "stop_gradient": (lambda x: tf.stop_gradient(x * 2, name="cut") + 1.0, r"stop_gradient.*'cut'"),
    "integer": (lambda x: tf.cast(tf.argmax(x, name="cut"), tf.float32) * 2.0, r"integer.*'cut'"),
    "zero": (lambda x: tf.round(x, name="cut") * 2.0, r"zero.*'cut'"),
}


@pytest.mark.parametrize("name", CUTS)
def test_every_operator_names_the_cause_and_the_op(name):
    function, message = CUTS[name]
    x = tf.constant([1.0, 2.0])
    y = function(x)
    calls = [
        lambda: symgrad.Lop(y, x, tf.ones_like(y)),
        lambda: symgrad.Rop(y, x, tf.ones_like(x)),
        lambda: symgrad.jacobian(y, x),
    ]
    for call in calls:
        with pytest.raises(errors.DisconnectedError, match=message):
            call()


def test_zero_and_none(run):
    a, b = tf.constant([1.0, 2.0]), tf.constant([[3.0]])
    y = tf.placeholder_with_default([1.0, 2.0], [None]) * a
    lop = symgrad.Lop(y, [a, b], [1.0, 1.0], disconnected="zero")
    rop = symgrad.Rop([y, b * b], a, [1.0, 1.0], disconnected="zero")
    np.testing.assert_array_equal(run(lop)[1], [[0.0]])
    np.testing.assert_array_equal(run(rop)[1], [[0.0]])
    assert symgrad.Lop(y, [a, b], [1.0, 1.0], disconnected="none")[1] is None
    assert symgrad.Rop([y, b * b], a, [1.0, 1.0], disconnected="none")[1] is None
    blocks = symgrad.jacobian([y, b * b], [a], disconnected="none")
    assert blocks[0][0] is not None
    assert blocks[1][0] is None


def test_an_x_is_judged_against_all_ys_and_a_y_against_all_xs(run):
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0])
    jacobian = symgrad.jacobian([a * a, b * b], [a, b])
    got = run(jacobian)
    np.testing.assert_array_equal(got[0][1], np.zeros((2, 1)))
    np.testing.assert_array_equal(got[1][0], np.zeros((1, 2)))
    with pytest.raises(errors.DisconnectedError, match="depends on no x"):
        symgrad.jacobian([a * a, tf.constant([1.0])], [a, b * b])
    with pytest.raises(errors.DisconnectedError):
        symgrad.Rop(a * a, [a, b], [[1.0, 1.0], [1.0]])


def test_stop_gradients_argument_cuts():
    x = tf.constant([1.0, 2.0])
    z = x * x
    with pytest.raises(errors.DisconnectedError):
        symgrad.Lop(z * 2.0, x, [1.0, 1.0], stop_gradients=z)


def test_an_op_that_has_a_derivative_and_no_rule_is_never_left_out():
    """The path beside it would give a result that looks right."""
    x = tf.constant([0.1, 0.2, 0.3])
    y = x + tf.py_func(np.sin, [x], tf.float32, name="numpy")
    for call in (lambda: symgrad.Lop(y, x, y), lambda: symgrad.Rop(y, x, x), lambda: symgrad.jacobian(y, x)):
        with pytest.raises(errors.MissingRuleError, match=r"'numpy' of type PyFunc.*symgrad\.rules\."):
            call()


def test_a_gradient_by_py_func_without_a_gradient_of_its_own_is_named():
    @tf.custom_gradient
    def double(x):
        return 2 * x, lambda dy: tf.py_func(lambda g: 2 * g, [dy], tf.float64)

    x = tf.constant([1.0, 2.0], tf.float64)
    y = double(x) + x
    symgrad.Lop(y, x, y)
    with pytest.raises(errors.MissingRuleError, match="PyFunc"):
        symgrad.Rop(y, x, x)


def in_a_loop(x, z, cut):
    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * z + cut(x)), (0, tf.ones_like(z)))[1]


def in_a_nested_loop(x, z, cut):
    return tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, h + in_a_loop(x, h, cut)), (0, z))[1]


def in_a_branch(x, z, cut):
    return tf.cond(z[0] > 0.0, lambda: z * cut(x), lambda: 2.0 * z)


def in_a_call(x, z, cut):
    """Another output of the same call depends on x."""
    return tf2.function(lambda a, b: (a * cut(b), a * b))(z, x)[0]


@pytest.mark.parametrize("build", [in_a_loop, in_a_nested_loop, in_a_branch, in_a_call], ids=lambda f: f.__name__)
@pytest.mark.parametrize("cut", [tf.stop_gradient, tf.floor], ids=lambda f: f.__name__)
def test_a_cut_inside_of_a_function_body_is_no_silent_zero(build, cut):
    x, z = tf.constant([1.5, 2.5]), tf.constant([0.5, -0.5])
    y = build(x, z, cut)
    assert symgrad.Lop(y, z, z) is not None
    assert symgrad.Lop(y, x, z, disconnected="none") is None
    assert symgrad.Rop(y, x, x, disconnected="none") is None
    for call in (lambda: symgrad.Lop(y, x, z), lambda: symgrad.Rop(y, x, x), lambda: symgrad.jacobian(y, [x])):
        with pytest.raises(errors.DisconnectedError, match=r"(stop_gradient|zero).*(StopGradient|Floor)"):
            call()


def test_a_loop_hands_on_over_iterations_what_its_body_does_not_in_one(run):
    """a after three turns is c before: no turn alone leads from c to a."""
    a = tf.constant(2.0)
    turned = tf.while_loop(lambda i, *_: i < 3, lambda i, a, b, c: (i + 1, b, tf.square(c), c), (0, 1.0, 1.0, a))[1]
    assert run(symgrad.Lop(turned, a, 1.0)) == 4.0


@tf.RegisterGradient("SaysNone")
def _says_none(op, dy):
    return None


def test_a_user_may_say_that_there_is_no_derivative():
    x = tf.constant([1.0])
    with tf.get_default_graph().gradient_override_map({"Exp": "SaysNone"}):
        y = tf.exp(x)
    with pytest.raises(errors.DisconnectedError, match=r"custom gradient answers None.*Exp"):
        symgrad.Lop(y, x, [1.0])
    assert symgrad.Lop(y, x, [1.0], disconnected="none") is None


@symgrad.rules.transpose("AudioSpectrogram")
def _leaves_out(op, dy):
    """A rule that does not keep what it promises."""
    return None


@pytest.mark.parametrize("disconnected", ["raise", "zero", "none"])
def test_a_rule_that_leaves_an_input_out_is_an_error(disconnected):
    x = tf.ones([8, 1])
    y = tf.raw_ops.AudioSpectrogram(input=x, window_size=4, stride=2)
    with pytest.raises(errors.MissingRuleError, match="leaves it out"):
        symgrad.Lop(y, x, tf.ones_like(y), disconnected=disconnected)
