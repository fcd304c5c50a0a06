"""Operators called in the body of a loop, branch or function: right, or a ControlFlowError that names the way out."""

import functools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from symgrad.errors import ControlFlowError
from symgrad.testing import numeric_jacobian

pytestmark = pytest.mark.core

POINT, VECTOR = np.array([0.4, -0.2, 0.9]), np.array([0.3, -1.0, 0.7])
DIFFERENCES = 1e-6  # what central differences of step 6e-6 leave of smooth functions


def loop(x, v2):
    with control_flow(v2=v2):
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.sin(a) * x), [0, x])[1]


def branch(x, v2):
    with control_flow(v2=v2):
        return tf.cond(tf.reduce_sum(x) > -99, lambda: tf.sin(x) * x * x, lambda: x)


FUNCTIONS = {
    "plain": lambda x: tf.sin(x) * x * tf.reduce_sum(x),
    "V1 loop": lambda x: loop(x, False) * tf.reduce_sum(x),
    "V2 loop": lambda x: loop(x, True) * tf.reduce_sum(x),
    "V1 branch": lambda x: branch(x, False),
    "V2 branch": lambda x: branch(x, True),
    "function": lambda x: tf.function(lambda a: loop(a, True))(x),
}


def turned(x, body, v2):
    """Two turns, the second of which counts."""
    with control_flow(v2=v2):
        return tf.while_loop(lambda i, a, r: i < 2, lambda i, a, r: (i + 1, a, body(a)), [0, x, tf.zeros_like(x)])[2]


def taken(x, body, v2):
    with control_flow(v2=v2):
        return tf.cond(tf.reduce_sum(x) > -99, lambda: body(tf.identity(x)), lambda: x)


def mapped(x, body, v2):
    with control_flow(v2=v2):
        return tf.map_fn(body, x[tf.newaxis])[0]


def scanned(x, body, v2):
    with control_flow(v2=v2):
        return tf.scan(lambda _, a: body(a), x[tf.newaxis], tf.zeros_like(x))[0]


def nested(outer, inner):
    return lambda x, body: outer(x, lambda a: inner(a, body))


V1_LOOP, V2_LOOP = functools.partial(turned, v2=False), functools.partial(turned, v2=True)
V1_BRANCH, V2_BRANCH = functools.partial(taken, v2=False), functools.partial(taken, v2=True)
PLACES = {
    "V1 loop": V1_LOOP,
    "V2 loop": V2_LOOP,
    "V1 branch": V1_BRANCH,
    "V2 branch": V2_BRANCH,
    "V1 map_fn": functools.partial(mapped, v2=False),
    "V2 map_fn": functools.partial(mapped, v2=True),
    "V1 scan": functools.partial(scanned, v2=False),
    "function": lambda x, body: tf.function(body)(x),
    "V1 branch in V1 loop": nested(V1_LOOP, V1_BRANCH),
    "V1 loop in V1 loop": nested(V1_LOOP, V1_LOOP),
    "V2 loop in V1 loop": nested(V1_LOOP, V2_LOOP),
}

PRODUCTS = {
    "gradients": lambda y, x, v: symgrad.gradients(y, x, v)[0],
    "Lop": lambda y, x, v: symgrad.Lop(y, x, v),
    "Rop": lambda y, x, v: symgrad.Rop(y, x, v),
    "hvp": lambda y, x, v: symgrad.hvp(tf.reduce_sum(y), x, v),
    "ggnvp": lambda y, x, v: symgrad.ggnvp(tf.reduce_sum(y**3), y, x, v),
}
MATRICES = {
    "rows": lambda y, x, v: tf.linalg.matvec(symgrad.jacobian(y, x, mode="rows"), v),
    "columns": lambda y, x, v: tf.linalg.matvec(symgrad.jacobian(y, x, mode="columns"), v),
    "one row at a time": lambda y, x, v: tf.linalg.matvec(symgrad.jacobian(y, x, mode="rows", block_size=1), v),
    "hessian": lambda y, x, v: tf.linalg.matvec(symgrad.hessian(tf.reduce_sum(y), x), v),
}
# Where x and the vector are; y is made of x beside it, but for "vector", where x and y are outside.
POSITIONS = ("x outside", "y outside", "vector", "inside")


@functools.cache
def expected(name):
    """By product: central differences of the function and of its gradient."""
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session:
        x = tf.placeholder(tf.float64, [3])
        y = FUNCTIONS[name](x)
        gradient = tf.gradients(y, x)[0]
        feeds = {x: POINT}
        first, second = (numeric_jacobian(t, x, session=session, feed_dict=feeds) for t in (y, gradient))
        curved = first.T @ np.diag(6 * session.run(y, feeds)) @ first
    pulled, pushed, curvature = VECTOR @ first, first @ VECTOR, second @ VECTOR
    return {
        "gradients": pulled,
        "Lop": pulled,
        "Rop": pushed,
        "hvp": curvature,
        "ggnvp": curved @ VECTOR,
        "rows": pushed,
        "columns": pushed,
        "one row at a time": pushed,
        "hessian": curvature,
    }


def results(place, function, products, positions):
    """The products at each position, as the place computes them; those refused, by name."""
    refused = {}
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session:
        x = tf.placeholder_with_default(POINT, [3])
        y = function(x)
        first = session.run(y)

        def called(product, position, a):
            v = tf.constant(VECTOR)
            if position == "inside":
                return product(function(a), a, v)
            return product(y if position != "x outside" else function(x), x, v * a / a if position == "vector" else v)

        got = {}
        for name, product in products.items():
            for position in positions:
                try:
                    body = functools.partial(called, product, position)
                    built = place(x, tf.autograph.experimental.do_not_convert(body))  # else it hides the error's type
                except ControlFlowError as error:
                    refused[name, position] = str(error)
                else:
                    got[name, position] = built
        values = session.run(got)
        np.testing.assert_array_equal(session.run(y), first)
    return values, refused


# Every function in the places of V1, which bring in what lies outside op by op; those with loops elsewhere.
PAIRS = [
    (place, function)
    for place in PLACES
    for function in FUNCTIONS
    if place in ("V1 loop", "V1 branch")
    or (place in ("V2 loop", "function", "V2 loop in V1 loop") and function == "V1 loop")
    or function == ("V2 loop" if "V2" in place or place == "function" else "V1 loop")
]


@pytest.mark.parametrize(("place", "function"), PAIRS)
def test_products(place, function):
    values, refused = results(PLACES[place], FUNCTIONS[function], PRODUCTS, POSITIONS)
    for (name, position), got in values.items():
        want = expected(function)[name]
        np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES, err_msg=f"{name}, {position}")
    # V1 loops and branches outside cannot take up what is made inside; and no others are refused.
    assert all("Build ys in the body" in said or "V1 control flow in its body" in said for said in refused.values())
    assert not refused or function.startswith("V1")


@pytest.mark.parametrize("function", ["plain", "V1 loop", "V2 loop"])
@pytest.mark.parametrize("place", ["V1 loop", "V1 branch"])
def test_matrices(place, function):
    values, refused = results(PLACES[place], FUNCTIONS[function], MATRICES, ("x outside", "y outside", "inside"))
    for (name, position), got in values.items():
        want = expected(function)[name]
        np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES, err_msg=f"{name}, {position}")
    assert not refused or function.startswith("V1")


@pytest.mark.parametrize("v2", [False, True])
def test_power_iteration(v2):
    """The largest eigenvalue of a Hessian, by products in a loop."""
    with tf.Graph().as_default(), control_flow(v2=v2), tf.Session(config=AS_BUILT) as session:
        w = tf.get_variable("w", initializer=np.array([1.0, 2.0]))
        loss = tf.reduce_sum(w**4)

        def turn(i, v):
            v = symgrad.hvp(loss, w, v)
            return i + 1, v / tf.norm(v)

        top = tf.while_loop(lambda i, v: i < 40, turn, [0, tf.constant([1.0, 1.0], tf.float64)])[1]
        session.run(w.initializer)
        # diag(12, 48): the second component gains a factor of 4 a turn, of which 4^-40 is left of the first
        np.testing.assert_allclose(session.run(top), [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize("v2", [False, True])
def test_conjugate_gradients(v2):
    """A Newton step by products with the Hessian alone, the loss and its point outside of the loop."""
    rng = np.random.default_rng(7)
    root = rng.standard_normal((4, 4))
    matrix, right = root @ root.T + 4 * np.eye(4), rng.standard_normal(4)
    with tf.Graph().as_default(), control_flow(v2=v2), tf.Session(config=AS_BUILT) as session:
        w = tf.constant(rng.standard_normal(4))
        loss = tf.tensordot(w, tf.linalg.matvec(matrix, w), 1) / 2 - tf.tensordot(w, right, 1)

        def turn(i, x, r, p):
            product = symgrad.hvp(loss, w, p)
            step = tf.tensordot(r, r, 1) / tf.tensordot(p, product, 1)
            rest = r - step * product
            return i + 1, x + step * p, rest, rest + p * tf.tensordot(rest, rest, 1) / tf.tensordot(r, r, 1)

        b = tf.constant(right)
        x = tf.while_loop(lambda i, *_: i < 4, turn, [0, tf.zeros_like(b), b, b])[1]
        np.testing.assert_allclose(session.run(x), np.linalg.solve(matrix, right), rtol=1e-9)  # 4 steps in R^4


def test_a_way_from_turn_to_turn_is_refused():
    with tf.Graph().as_default(), control_flow(v2=False):
        x = tf.placeholder(tf.float64, [3])
        with pytest.raises(
            ControlFlowError, match=r"from one iteration to the next.*with respect to the loop variable"
        ):
            tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, symgrad.Lop(a * a, x, np.ones(3))), [0, x])
