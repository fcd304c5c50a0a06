"""Gradient functions that users wrote, in the bodies of V2 loops, branches and functions, and what they close over."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core

EXACT = {"rtol": 1e-12, "atol": 1e-12}  # the same products in another order
POINT, VECTOR = np.array([0.3, -0.5, 0.9]), np.array([1.0, -1.0, 2.0])


def doubled(x):
    """x^3, whose gradient is said to be 6 x^2; it reads what was computed in the body, and the argument."""

    @tf.custom_gradient
    def cube(x):
        square = x * x
        return square * x, lambda upstream: 6.0 * upstream * square

    return cube(x)


def with_outer(x, scale):
    """scale x, whose gradient by x is said to be scale^2; it reads a tensor of the graph around the body."""

    @tf.custom_gradient
    def scaled(x):
        return scale * x, lambda upstream: upstream * scale * scale

    return scaled(x)


def _loop(function, x):
    with control_flow(v2=True):
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, function(a)), [0, x])[1]


def _branch(function, x):
    with control_flow(v2=True):
        return tf.cond(tf.reduce_sum(x) > -99.0, lambda: function(x), lambda: -function(x))


def _mapped(function, x):
    with control_flow(v2=True):
        return tf.map_fn(function, x)


# How often the function is applied in each place.
PLACES = {
    "loop": (_loop, 2),
    "branch": (_branch, 1),
    "map_fn": (_mapped, 1),
    "function": (lambda function, x: tf.function(function)(x), 1),
    "function in a function": (lambda function, x: tf.function(lambda a: tf.function(function)(a))(x), 1),
    "branch in a loop": (lambda function, x: _loop(lambda a: _branch(function, a), x), 2),
    "loop in a function": (lambda function, x: tf.function(lambda a: _loop(function, a))(x), 2),
}


def _claimed(times):
    """The slopes and curvatures, by analysis, of `doubled` applied once or twice, each time with twice the slope."""
    once, twice = 6.0 * POINT**2, 12.0 * POINT
    if times == 1:
        return once, twice
    inner = POINT**3  # d/dx of f'(f(x)) f'(x), where x moves f by twice its slope: f'' f'^2 + f' f''
    return 6.0 * inner**2 * once, 12.0 * inner * once**2 + 6.0 * inner**2 * twice


@pytest.mark.parametrize("place", PLACES)
def test_gradients_that_read_the_body(place, graph, run):
    x = tf.constant(POINT)
    build, times = PLACES[place]
    y = build(doubled, x)
    slope, curvature = _claimed(times)
    np.testing.assert_allclose(run(symgrad.Lop(y, x, VECTOR)), slope * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, VECTOR)), slope * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.gradients(y, x)[0]), slope, **EXACT)
    for mode in ("rows", "columns"):
        np.testing.assert_allclose(run(symgrad.jacobian(y, x, mode=mode)), np.diag(slope), **EXACT)
    loss = tf.reduce_sum(y)
    np.testing.assert_allclose(run(symgrad.hvp(loss, x, VECTOR)), curvature * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.hessian(loss, x)), np.diag(curvature), **EXACT)
    run(y)  # what the user had still runs in the session that has run it


@pytest.mark.parametrize("place", PLACES)
def test_gradients_that_read_what_lies_around_the_body(place, graph, run):
    x, scale = tf.constant(POINT), tf.constant(3.0, tf.float64)
    build, times = PLACES[place]
    y = build(lambda a: with_outer(a, scale), x)
    slope = 9.0**times
    np.testing.assert_allclose(run(symgrad.Lop(y, x, VECTOR)), slope * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, VECTOR)), slope * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.jacobian(y, x)), np.diag([slope] * 3), **EXACT)


@pytest.mark.parametrize("place", PLACES)
def test_recomputed_functions(place, graph, run):
    x = tf.constant(POINT)
    build, times = PLACES[place]
    y = build(lambda a: tf.recompute_grad(lambda b: b * b)(a), x)
    slope = 2.0 * POINT if times == 1 else 4.0 * POINT**3
    np.testing.assert_allclose(run(symgrad.Lop(y, x, VECTOR)), slope * VECTOR, **EXACT)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, VECTOR)), slope * VECTOR, **EXACT)


def recomputed(function, x):
    return tf.recompute_grad(function)(x)


def differentiated(function, x):
    """The function, with a gradient that calls `tf.gradients`."""

    @tf.custom_gradient
    def call(x):
        y = function(x)
        return y, lambda upstream: tf.gradients(y, x, upstream)[0]

    return call(x)


@pytest.mark.parametrize("wrapper", [recomputed, differentiated])
@pytest.mark.parametrize("place", ["plain", "branch", "function"])
def test_what_tensorflow_differentiates_wrongly_is_right_behind_a_users_gradient(wrapper, place, graph, run):
    """The cumulated products of 2, 0, 3 are 2, 0, 0; a 0 among the factors makes TensorFlow's gradient NaN."""
    x = tf.constant([2.0, 0.0, 3.0], tf.float64)
    build = {"plain": lambda f, x: f(x), "branch": _branch, "function": PLACES["function"][0]}[place]
    y = wrapper(lambda x: build(tf.cumprod, x), x)
    jacobian = [[1, 0, 0], [0, 2, 0], [0, 6, 0]]
    np.testing.assert_allclose(run(symgrad.jacobian(y, x)), jacobian, **EXACT)
    np.testing.assert_allclose(run(symgrad.Lop(y, x, np.ones(3))), np.sum(jacobian, 0), **EXACT)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, np.ones(3), method="double_vjp")), np.sum(jacobian, 1), **EXACT)


def test_what_tensorflow_differentiates_rightly_is_computed_again(graph, run):
    """Else tf.recompute_grad would save no memory."""
    x = tf.constant(POINT)
    gradient = symgrad.Lop(recomputed(tf.sin, x), x, VECTOR)
    np.testing.assert_allclose(run(gradient), np.cos(POINT) * VECTOR, **EXACT)
    assert [op.type for op in graph.get_operations()].count("Sin") == 2


@pytest.mark.parametrize("wrapper", [recomputed, differentiated])
def test_a_users_gradient_that_is_not_holomorphic_has_no_complex_jacobian(wrapper, graph, run):
    z = tf.constant([1 + 2j, 3 - 1j])
    with pytest.raises(errors.DtypeError, match="holomorphic"):
        symgrad.jacobian(wrapper(lambda z: tf.cast(tf.abs(z), z.dtype) * z, z), z)
    jacobian = run(symgrad.jacobian(wrapper(lambda z: z * z, z), z))
    np.testing.assert_allclose(jacobian, np.diag([2 + 4j, 6 - 2j]), **EXACT)
