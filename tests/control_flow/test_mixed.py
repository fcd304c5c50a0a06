"""V1 loops and branches beside V2 ones and function calls, in one graph: y, derivatives, y again in one session."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow
from loops import repeat

import symgrad
from symgrad.testing import check_adjoint, verify_grad


def call(x):
    return tf.function(lambda v: tf.sin(v) * v)(x)


def loop_v2(x):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1]


def loop_v1(x):
    with v1_control_flow():
        return repeat(3, lambda i, a: [tf.sin(a) * x], [x])[0]


def branch_v1(x):
    with v1_control_flow():
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * x, lambda: x)


def call_in_loop_v1(x):
    with v1_control_flow():
        return repeat(3, lambda i, a: [call(a) + x], [x])[0]


def call_in_branch_in_loop_v1(x):
    with v1_control_flow():
        return repeat(3, lambda i, a: [tf.cond(i < 2, lambda: call(a * x), lambda: a)], [x])[0]


def call_of_a_variable_in_loop_v1(x):
    w = tf.get_variable("w", initializer=tf.constant([0.3, 0.7], tf.float64), use_resource=True)
    f = tf.function(lambda v: tf.sin(v * w))
    with v1_control_flow():
        return repeat(3, lambda i, a: [f(a) + x], [x])[0]


def list_behind_loop_v1(x):
    return tf.map_fn(tf.sin, loop_v1(x)) * x


FUNCTIONS = [
    lambda x: loop_v1(call(x)),
    lambda x: branch_v1(loop_v2(x)),
    lambda x: loop_v1(loop_v2(x)) + call(branch_v1(x)),
    call_in_loop_v1,
    call_in_branch_in_loop_v1,
    call_of_a_variable_in_loop_v1,
    list_behind_loop_v1,
]
NAMES = ["loop_behind_call", "branch_behind_loop", "back_and_forth", *(f.__name__ for f in FUNCTIONS[3:])]


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
def test_after_the_first_run(function):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([0.5, 1.0], tf.float64)
        y = function(x)
        session.run(tf.global_variables_initializer())
        first = session.run(y)
        verify_grad(y, x, session=session)
        check_adjoint(y, x, session=session)
        np.testing.assert_array_equal(session.run(y), first)
        hvp = symgrad.hvp(tf.reduce_sum(tf.sin(y)), x, [1.0, -2.0])
        gradient = symgrad.Lop(tf.reduce_sum(tf.sin(y)), x, 1.0)
        above, below = (session.run(gradient, {x: [0.5 + e, 1.0 - 2 * e]}) for e in (1e-6, -1e-6))
        # Central differences of step 1e-6 leave some 1e-10 of functions of size one.
        np.testing.assert_allclose(session.run(hvp), (above - below) / 2e-6, atol=1e-7)
