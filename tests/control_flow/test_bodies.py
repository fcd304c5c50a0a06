"""Private copies of V2 bodies keep what the bodies hold: variables at any depth, looked-up rows, harmless state."""

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

import symgrad
from symgrad import _tf

W = 0.5


def loop(body, x, turns=2):
    return _tf.while_loop_v2(lambda i, a: i < turns, lambda i, a: (i + 1, body(a)), [tf.constant(0), x])[1]


def branch(body, x):
    return tf2.function(lambda a: tf2.cond(a > -9.0, lambda: body(a), lambda: a))(x)


def function(body, x):
    return tf2.function(body)(x)


FORMS = {"loop": loop, "branch": branch, "function": function}


def nested(outer, inner, w):
    """(y, how often w is a factor): y = 3 w^k."""
    y = FORMS[outer](lambda a: FORMS[inner](lambda b: b * w, a), tf.constant(3.0, tf.float64))
    return y, (2 if outer == "loop" else 1) * (2 if inner == "loop" else 1)


@pytest.mark.core
@pytest.mark.parametrize("inner", FORMS)
@pytest.mark.parametrize("outer", FORMS)
def test_a_variable_read_two_levels_down(outer, inner):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        w = tf.get_variable("w", initializer=np.float64(W), use_resource=True)
        y, k = nested(outer, inner, w)
        session.run(w.initializer)
        session.run(y)
        one = tf.ones([], tf.float64)
        got = session.run([
            symgrad.Lop(y, w, one), symgrad.gradients(y, w)[0], symgrad.Rop(y, w, one),
            symgrad.Rop(y, w, one, method="double_vjp"), symgrad.jacobian(y, w, mode="rows"),
            symgrad.jacobian(y, w, mode="columns"),
        ])  # fmt: skip
        second = session.run([symgrad.hvp(y, w, one), symgrad.hessian(y, w)])
        after = session.run(y)
    np.testing.assert_allclose(got, 3 * k * W ** (k - 1), rtol=1e-14)  # a handful of products in float64
    np.testing.assert_allclose(second, 3 * k * (k - 1) * W ** max(k - 2, 0), rtol=1e-14, atol=1e-15)
    assert after == 3 * W**k


@pytest.mark.core
def test_rows_looked_up_in_a_loop_have_second_derivatives():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        w = tf.get_variable("w", initializer=np.array([0.5, 2.0, 7.0]), use_resource=True)
        y = loop(lambda a: a * tf.reduce_prod(tf.gather(w, [0, 1])), tf.constant(3.0, tf.float64))  # 3 (w0 w1)^2
        session.run(w.initializer)
        gradient, hessian = session.run([symgrad.Lop(y, w, tf.ones([], tf.float64)), symgrad.hessian(y, w)])
    np.testing.assert_allclose(gradient, [6 * 0.5 * 4.0, 6 * 0.25 * 2.0, 0], rtol=1e-14)
    np.testing.assert_allclose(hessian, [[24, 12, 0], [12, 1.5, 0], [0, 0, 0]], rtol=1e-13)  # 6 w1^2, 12 w0 w1, 6 w0^2


HARMLESS = {
    "check_numerics": lambda a: tf.debugging.check_numerics(a * a, "a"),
    "assert": lambda a: tf.ensure_shape(a * a, []) if tf.debugging.assert_greater(a, np.float64(-9)) is None else a * a,
    "print": lambda a: (tf.print("", output_stream="file:///dev/null"), a * a)[1],
    "TensorArray": lambda a: tf.TensorArray(tf.float64, 1).write(0, a * a).read(0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("held", HARMLESS)
def test_harmless_state_in_a_body(held, form):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=AS_BUILT) as session:
        x = tf.placeholder_with_default(np.float64(1.1), [])
        y = FORMS[form](HARMLESS[held], x)
        power = 4 if form == "loop" else 2
        got = session.run([symgrad.Lop(y, x, 1.0), symgrad.Rop(y, x, 1.0), symgrad.hvp(y, x, 1.0)])
    first, second = power * 1.1 ** (power - 1), power * (power - 1) * 1.1 ** (power - 2)
    np.testing.assert_allclose(got, [first, first, second], rtol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_random_numbers_in_a_body_are_refused(form):
    with tf.Graph().as_default():
        x = tf.placeholder_with_default(np.float64(1.1), [])
        y = FORMS[form](lambda a: a * tf.random.uniform([], dtype=tf.float64), x)
        with pytest.raises(symgrad.errors.ControlFlowError, match="RandomUniform"):
            symgrad.Lop(y, x, 1.0)
