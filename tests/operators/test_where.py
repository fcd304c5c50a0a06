"""Where ops are built: in the graph of ys, under the scopes, devices and control dependencies of the caller."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow
from worlds import eager

import symgrad

pytestmark = pytest.mark.core

VARIABLE = tf.compat.v2.Variable([0.5, 1.0])  # made eagerly, outside of any graph


def test_in_the_graph_of_ys_whatever_the_default_graph(graph, run):
    x = tf.constant([1.0, 2.0])
    y = x * x
    with tf.Graph().as_default() as other:
        lop = symgrad.Lop(y, x, np.ones(2))
        rop = symgrad.Rop(y, x, np.ones(2))
        jacobian = symgrad.jacobian(y, x)
        gradient = symgrad.gradients(y, x)[0]
        assert not other.get_operations()
    assert {t.graph for t in (lop, rop, jacobian, gradient)} == {graph}
    np.testing.assert_array_equal(run(jacobian), np.diag([2.0, 4.0]))


def test_scopes_devices_and_control_dependencies_of_the_caller(run):
    x = tf.constant([1.0, 2.0])
    y = x * x
    counter = tf.get_variable("n", initializer=0.0, use_resource=True)
    count = counter.assign_add(1.0)
    with tf.name_scope("mine"), tf.device("/cpu:0"), tf.control_dependencies([count]):
        rop = symgrad.Rop(y, x, np.ones(2), name="push")
    assert rop.op.name.startswith("mine/push/")
    assert rop.device.endswith("CPU:0")
    run(rop)
    assert run(counter) == 1.0


def test_names_are_deterministic():
    def names():
        with tf.Graph().as_default() as graph:
            x = tf.constant([1.0, 2.0])
            y = tf.cond(x[0] > 0, lambda: tf.sin(x), lambda: x)
            symgrad.jacobian(y, x)
            symgrad.Rop(y, x, [1.0, 1.0])
            return [op.name for op in graph.get_operations()]

    assert names() == names()


def test_inside_a_tf_function():
    @tf.function
    def derivatives(x):
        y = tf.sin(x) * x
        return (
            symgrad.Lop(y, x, tf.ones_like(x)),
            symgrad.Rop(y, x, tf.ones_like(x)),
            symgrad.jacobian(tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * x), [0, x])[1], x),
        )

    x = np.array([0.5, 2.0])
    with tf.Graph().as_default(), tf.Session() as session:
        lop, rop, jacobian = session.run(derivatives(tf.constant(x)))
    want = np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(lop, want, rtol=1e-14)  # float64
    np.testing.assert_allclose(rop, want, rtol=1e-14)
    np.testing.assert_allclose(jacobian, np.diag(3 * x**2), rtol=1e-14)


@eager
def test_inside_an_eager_tf_function_with_an_eager_variable(eagerly):
    @tf.function
    def derivatives(x):
        y = tf.sin(VARIABLE) * x
        return symgrad.Lop(y, [VARIABLE, x], tf.ones_like(x)), symgrad.Rop(y, VARIABLE, [1.0, 1.0])

    lop, rop = eagerly(lambda: derivatives(tf.constant([3.0, 4.0])))
    np.testing.assert_allclose(lop[0], np.cos([0.5, 1.0]) * [3.0, 4.0], rtol=1e-6)  # float32
    np.testing.assert_allclose(lop[1], np.sin([0.5, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(rop, lop[0], rtol=1e-6)


@pytest.mark.parametrize("v1", [True, False])
def test_inside_a_branch_and_a_loop_body(v1, run):
    x = tf.constant([1.0, 2.0])
    y = x * x

    def build():
        branch = tf.cond(x[0] > 0, lambda: symgrad.Lop(y, x, [1.0, 1.0]), lambda: x)
        body = tf.while_loop(
            lambda i, v: i < 2, lambda i, v: (i + 1, v + symgrad.Rop(tf.sin(v) * x, v, tf.ones_like(v))), [0, x]
        )[1]
        return branch, body

    if v1:
        with v1_control_flow():
            branch, body = build()
    else:
        branch, body = build()
    got_branch, got_body = run([branch, body])
    np.testing.assert_array_equal(got_branch, [2.0, 4.0])
    want = x_value = np.array([1.0, 2.0], np.float32)
    for _ in range(2):
        want = want + np.cos(want) * x_value
    np.testing.assert_allclose(got_body, want, rtol=1e-6)  # float32
