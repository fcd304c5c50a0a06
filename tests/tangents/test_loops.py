"""Tangents through V1 loops and branches, of first and second order, in graphs of every origin."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow
from loops import LOOPS, repeat
from sessions import AS_BUILT

import symgrad
from symgrad import errors

# Central differences of step 1e-6 in float64 leave some 1e-10 of smooth functions of size one.
STEP, TOLERANCE = 1e-6, 1e-7


def python(loop):
    """The graph as it was built, with the gradient by TensorFlow."""
    graph = loop.build()
    add_gradient(graph)
    return graph, ""


def meta_graph(loop, scope=""):
    """Imported from a MetaGraph; contexts of forward loops come with it."""
    graph = loop.build()
    if not scope:  # in a scope TensorFlow itself imports some gradients of loops in branches such that they cannot run
        add_gradient(graph)
    with graph.as_default():
        stored = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(stored, import_scope=scope)
    if scope:
        add_gradient(graph, f"{scope}/")
    return graph, scope and f"{scope}/"


def meta_graph_in_a_scope(loop):
    return meta_graph(loop, "old")


def bare(loop):
    """The pruned GraphDef, without contexts; the gradient is that which TensorFlow built before."""
    graph = loop.build()
    add_gradient(graph)
    stored = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["y", "gradient"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(stored, name="")
    return graph, ""


def add_gradient(graph, prefix=""):
    with graph.as_default(), v1_control_flow():
        x, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in "xy")
        tf.identity(tf.gradients(tf.sin(y), x)[0], name=f"{prefix}gradient")


# A bare graph needs everything that the others need, and its contexts besides.
SOURCES = [python, meta_graph, meta_graph_in_a_scope, pytest.param(bare, marks=pytest.mark.core)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_first_and_second_order(loop, source, rng):
    v, w = rng.standard_normal((2, *loop.point.shape))
    graph, prefix = source(loop)
    before = graph.as_graph_def().node
    with graph.as_default(), tf.Session(config=AS_BUILT) as session:
        x, y, g = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in ("x", "y", "gradient"))
        rop = symgrad.Rop(y, x, v)
        score = tf.reduce_sum(tf.sin(rop))
        second = {
            "hvp": symgrad.Rop(g, x, v),
            "forward": symgrad.Rop(rop, x, w),
            "reverse": symgrad.Lop(score, x, 1.0),
        }
        at = lambda point: dict(zip("ygrs", session.run([y, g, rop, score], {x: point}), strict=True))  # noqa: E731
        along_v, along_w = (difference(at, loop.point, d) for d in (v, w))
        first = {"rop": rop, "lop": symgrad.Lop(tf.reduce_sum(tf.sin(y)), x, 1.0), "gradient": g}
        got = session.run({**first, **second}, {x: loop.point})
    # The same kernels as TensorFlow's in another order: a few roundings of float64.
    np.testing.assert_allclose(got["lop"], got["gradient"], rtol=1e-12, atol=1e-13)
    close(got["rop"], along_v["y"])
    close(got["hvp"], along_v["g"])
    close(got["forward"], along_w["r"])
    close(np.sum(got["reverse"] * w), along_w["s"])
    after = {node.name: node for node in graph.as_graph_def().node}
    assert all(after[node.name] == node for node in before), "no op that was there has changed"


def difference(function, point, direction):
    above, below = function(point + STEP * direction), function(point - STEP * direction)
    return {key: (above[key] - below[key]) / (2 * STEP) for key in above}


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * max(1.0, np.abs(want).max()))


def test_hvp_beside_a_gradient_that_has_run():
    """The same bits in every run, however the iterations overtake each other; and nothing new to feed for the old."""
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        x, v = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])

        def body(i, a):
            inner = tf.while_loop(lambda j, b: j < 3, lambda j, b: (j + 1, tf.sin(b) + a * x), (0, a))[1]
            return i + 1, tf.cond(i % 2 < 1, lambda: inner * x, lambda: tf.cos(inner))

        y = tf.while_loop(lambda i, a: i < 8, body, (0, x), parallel_iterations=32)[1]
        gradient = tf.gradients(y, x)[0]
        point = {x: [0.5, 1.0, 1.5]}
        before = session.run([y, gradient], point)
        hvp = symgrad.hvp(tf.reduce_sum(y), x, v)
        over_theirs = symgrad.Rop(gradient, x, v)
        runs = [session.run([hvp, over_theirs], {**point, v: [1.0, -2.0, 0.5]}) for _ in range(100)]
        np.testing.assert_array_equal(runs, [runs[0]] * 100)
        np.testing.assert_allclose(*runs[0], rtol=1e-12)
        at = lambda p: {"g": session.run(gradient, {x: p})}  # noqa: E731
        close(runs[0][0], difference(at, np.array([0.5, 1.0, 1.5]), np.array([1.0, -2.0, 0.5]))["g"])
        np.testing.assert_array_equal(session.run([y, gradient], point), before)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_variables_read_inside(resource):
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        w = tf.get_variable("w", initializer=tf.constant([0.5, 1.5], tf.float64), use_resource=resource)
        y = repeat(3, lambda i, a: [a * w + tf.cond(i < 1, lambda: tf.sin(w), lambda: w * w)], [tf.ones_like(w)])[0]
        v = [1.0, 2.0]
        rop, hvp = symgrad.Rop(y, w, v), symgrad.hvp(tf.reduce_sum(y), w, v)
        session.run(w.initializer)
        got = session.run([rop, hvp])
    at = np.array([0.5, 1.5])
    # y = ((w + sin w) w + w^2) w + w^2 = 2 w^3 + w^2 sin w + w^2
    first = 6 * at**2 + 2 * at * np.sin(at) + at**2 * np.cos(at) + 2 * at
    second = 12 * at + 2 * np.sin(at) + 4 * at * np.cos(at) - at**2 * np.sin(at) + 2
    np.testing.assert_allclose(got, [first * v, second * v], rtol=1e-12)


def test_random_numbers_are_those_of_the_loop():
    """y is linear in x with a random matrix, so J x = y if, and only if, both use the same sample."""
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        x = tf.constant([0.5, 1.0, 1.5], tf.float64)
        y = repeat(5, lambda i, a: [tf.nn.dropout(a, rate=0.3) * tf.random.normal([3], dtype=tf.float64) + x], [x])[0]
        for _ in range(3):
            np.testing.assert_allclose(*session.run([y, symgrad.Rop(y, x, x)]), rtol=1e-12)


def test_a_loop_without_back_prop_is_a_constant():
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        x = tf.constant([0.5, 1.0], tf.float64)
        kept = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, x), back_prop=False)[1]
        for operator in (symgrad.Lop, symgrad.Rop):
            with pytest.raises(errors.DisconnectedError, match=r"back_prop=False.*Exit"):
                operator(kept, x, [1.0, 1.0])
            got = session.run(operator(kept * x, x, [1.0, 2.0]))
            np.testing.assert_allclose(got, [0.5**4, 2.0], rtol=1e-12)


def test_several_ys_and_xs_with_one_upstream_of_a_loop():
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        a = tf.constant([0.5, 1.0], tf.float64)
        b = tf.sin(a)
        p, q = repeat(2, lambda i, u, w: [u * b, w + u], [a, b])
        got = session.run(symgrad.Rop({"p": p, "q": q}, [a, b], [[1.0, 0.0], [0.0, 1.0]]))
    s, c = np.sin([0.5, 1.0]), np.cos([0.5, 1.0])
    db = np.array([c[0], 1.0])  # b moves with a, and along its own tangent
    np.testing.assert_allclose(got["p"], s**2 * [1.0, 0.0] + 2 * s * db * [0.5, 1.0], rtol=1e-12)
    # q = b + a + a b
    np.testing.assert_allclose(got["q"], db + (1 + s) * [1.0, 0.0] + db * [0.5, 1.0], rtol=1e-12)
