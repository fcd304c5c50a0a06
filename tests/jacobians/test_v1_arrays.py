"""Jacobians through the TensorArrays of V1, outside of loops: an element is written once in a run."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad

pytestmark = pytest.mark.core

FILL = {
    "scatter": lambda array, x: array.scatter([2, 0, 1], x),
    "unstack": lambda array, x: array.unstack(x),
    "write": lambda array, x: array.write(0, x[0]).write(1, x[1]).write(2, x[2]),
    "split": lambda array, x: array.split(x, [1, 1, 1]),
}
TAKE = {
    "gather": lambda array: array.gather([1, 2]),
    "stack": lambda array: array.stack(),
    "read": lambda array: tf.stack([array.read(1), array.read(0)]),
    "concat": lambda array: array.concat(),
}
# Which element of x is in each place.
PLACE = {"scatter": [1, 2, 0]}
PLACES = {"gather": [1, 2], "stack": [0, 1, 2], "read": [1, 0], "concat": [0, 1, 2]}
WAYS = [("auto", None), ("rows", None), ("rows", 1), ("rows", 2), ("columns", None), ("columns", 1), ("columns", 2)]


@pytest.mark.parametrize("take", TAKE)
@pytest.mark.parametrize("fill", FILL)
def test_every_way_gives_the_same_numbers(run, fill, take):
    values = np.array([1.0, 2.0, 3.0])
    x = tf.constant(values)
    whole = fill == "split" or take == "concat"  # elements that are vectors
    with control_flow(v2=False):
        array = tf.TensorArray(tf.float64, 3, element_shape=[1] if whole else [], clear_after_read=False)
        squares = x * x if fill == "split" or not whole else (x * x)[:, tf.newaxis]
        y = tf.reshape(TAKE[take](FILL[fill](array, squares)), [-1])
    places = PLACE.get(fill, [0, 1, 2])
    want = np.zeros((len(PLACES[take]), 3))
    for i, place in enumerate(PLACES[take]):
        want[i, places[place]] = 2 * values[places[place]]
    for mode, size in WAYS:
        got = run(symgrad.jacobian(y, x, mode=mode, block_size=size))
        np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"{mode} {size}")
    hessian = run(symgrad.hessian(tf.reduce_sum(y * y), x))
    used = want.any(0)
    np.testing.assert_allclose(hessian, np.diag(12 * values**2 * used), rtol=1e-12)


@pytest.mark.parametrize(("mode", "size"), WAYS)
def test_beside_a_loop_of_v2(run, mode, size):
    values = np.array([1.0, 2.0, 3.0])
    x = tf.constant(values)
    with control_flow(v2=False):
        y = tf.TensorArray(tf.float64, 3, element_shape=[]).scatter([2, 0, 1], x * x).gather([1, 2])
    with control_flow(v2=True):
        y = tf.map_fn(tf.sin, y)
    want = [[0, 0, 6 * np.cos(9)], [2 * np.cos(1), 0, 0]]
    np.testing.assert_allclose(run(symgrad.jacobian(y, x, mode=mode, block_size=size)), want, rtol=1e-12)


@pytest.mark.parametrize(("mode", "size"), [("rows", 1), ("rows", 4), ("columns", 1), ("columns", 4)])
def test_of_more_vectors_than_are_built_in_place(run, mode, size):
    values = np.linspace(0.5, 1.5, 12)
    x = tf.constant(values)
    with control_flow(v2=False):
        y = tf.TensorArray(tf.float64, 12, element_shape=[]).unstack(tf.sin(x)).stack()
    got = run(symgrad.jacobian(y, x, mode=mode, block_size=size))
    np.testing.assert_allclose(got, np.diag(np.cos(values)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_where_the_vectoriser_fails_outside_of_the_trial_only(run, v2_control_flow, mode):
    """The shape function of MatrixDiagV3 does not bear the diagonals of unknown length that the vectoriser makes."""
    x = tf.constant([0.4, -0.2, 0.9], tf.float64)

    def grow(a):
        return tf.linalg.logdet(a[:, tf.newaxis] * a + 2 * tf.eye(3, dtype=tf.float64)) * a

    def loop(a):
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, grow(a)), (0, a))[1]

    y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, loop(a) * x), (0, x))[1]
    want = symgrad.testing.numeric_jacobian(y, x, session=run.session)
    np.testing.assert_allclose(run(symgrad.jacobian(y, x, mode=mode)), want, rtol=1e-6, atol=1e-8)
