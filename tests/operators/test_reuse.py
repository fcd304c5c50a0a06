"""A call never changes what was there: y, then a derivative, then y again, in one session."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

import symgrad
from symgrad import errors
from symgrad.testing import check_adjoint, numeric_jacobian

pytestmark = pytest.mark.core


def loop(x):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1]


def branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * x, lambda: x)


def choice(x):
    return tf.switch_case(tf.constant(1), [lambda: x, lambda: tf.sin(x) * x])


def call(x):
    return tf.function(lambda v: tf.sin(v) * v)(x)


def loop_in_branch_in_call(x):
    return tf.function(lambda v: branch(loop(v)))(x)


def call_in_loop(x):
    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, call(v)), [0, x])[1]


def all_in_a_row(x):
    return branch(call(loop(x)) + x) * 2.0


FUNCTIONS = [loop, branch, choice, call, loop_in_branch_in_call, call_in_loop, all_in_a_row]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_built_after_the_first_run(function, run):
    x = tf.constant([0.5, 1.0], tf.float64)
    y = function(x)
    first = run(y)
    want = numeric_jacobian(y, x, session=run.session)
    lop = symgrad.Lop(y, x, [1.0, 10.0])
    np.testing.assert_allclose(run(lop), [1.0, 10.0] @ want, rtol=1e-8)  # central differences in float64
    np.testing.assert_array_equal(run(y), first)
    rop = symgrad.Rop(y, x, [1.0, 10.0])
    np.testing.assert_allclose(run(rop), want @ [1.0, 10.0], rtol=1e-8)
    np.testing.assert_allclose(run(symgrad.jacobian(y, x)), want, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(run(symgrad.gradients(y, x)[0]), [1.0, 1.0] @ want, rtol=1e-8)
    second = symgrad.Rop(lop, x, [1.0, 0.0])
    np.testing.assert_allclose(run(second), numeric_jacobian(lop, x, session=run.session)[:, 0], rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(run(y), first)
    np.testing.assert_allclose(run(lop), [1.0, 10.0] @ want, rtol=1e-8)


@pytest.mark.usefixtures("v2_control_flow")
def test_ops_that_were_there_are_not_changed(graph):
    x = tf.constant([0.5, 1.0], tf.float64)
    y = all_in_a_row(x)
    before = [op.node_def for op in graph.get_operations()]
    symgrad.Rop(y, x, [1.0, 1.0])
    symgrad.jacobian(y, x)
    assert [op.node_def for op in graph.get_operations()][: len(before)] == before


@pytest.mark.parametrize("function", [loop, call], ids=lambda f: f.__name__)
def test_an_x_inside_the_copied_region(function, run):
    x = tf.constant([0.5, 1.0], tf.float64)
    inside = function(x)
    y = tf.exp(inside) * x
    check_adjoint(y, [x, inside], session=run.session)
    np.testing.assert_allclose(run(symgrad.Lop(y, inside, [1.0, 1.0])), run(y), rtol=1e-15)  # d exp(a)x / da = y
    np.testing.assert_array_equal(run(symgrad.Rop(inside, inside, [1.0, 2.0])), [1.0, 2.0])


def test_random_numbers_inside_a_copied_op_are_refused_and_stateless_ones_are_not(run):
    x = tf.constant([0.5, 1.0], tf.float64)

    @tf.function
    def noisy(v):
        return v * tf.random.uniform([2], dtype=tf.float64)

    @tf.function
    def repeatable(v):
        return v * tf.random.stateless_uniform([2], [1, 2], dtype=tf.float64)

    with pytest.raises(errors.ControlFlowError, match=r"random_uniform/RandomUniform.*stateless"):
        symgrad.Lop(noisy(x), x, [1.0, 1.0])
    y = repeatable(x)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, x)), run(y), rtol=1e-15)  # y is linear in x


def test_one_sample_of_a_random_op_beside_a_copied_op(run):
    x = tf.constant([0.5, 1.0], tf.float64)
    y = loop(x) * tf.random_uniform([2], dtype=tf.float64)
    check_adjoint(y, x, session=run.session)


@pytest.mark.usefixtures("v2_control_flow")
def test_v1_branch_behind_a_v2_loop(run):
    x = tf.constant([0.5, 1.0], tf.float64)
    y = loop(x)
    with v1_control_flow():
        y = branch(y)
    first = run(y)
    check_adjoint(y, x, session=run.session)
    check_adjoint(y, x, session=run.session, method="double_vjp")
    np.testing.assert_array_equal(run(y), first)


@pytest.mark.parametrize("mode", ["rows", "columns", "auto"])
def test_a_jacobian_through_a_function_for_xla_leaves_the_function_running(graph, mode):
    """Its op lies in a context of control flow that is neither a loop nor a branch."""
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = tf.function(lambda v: tf.tanh(v * v), jit_compile=True)(x)
    found = symgrad.jacobian(y, x, mode=mode)
    with tf.Session() as session:
        values, matrix, value = session.run([x, found, y])
    np.testing.assert_allclose(matrix, np.diag(2 * values * (1 - np.tanh(values**2) ** 2)), atol=1e-13)
    np.testing.assert_allclose(value, np.tanh(values**2), rtol=1e-12)
