"""Where tangents enter, add up and stop, and what the driver refuses."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core

METHODS = pytest.mark.parametrize("method", ["forward", "double_vjp"])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(value):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(value)


def vector(*values):
    return tf.constant(values, tf.float64)


@METHODS
def test_a_tangent_adds_to_what_flows_in_from_upstream(method):
    a = vector(2, 3)
    b = a * a
    # d(ab) = a db + b da with db = 2a da + the tangent of b
    got = symgrad.Rop(a * b, [a, b], [[1, 10], [5, 7]], method=method)
    np.testing.assert_allclose(run(got), [2 * (4 + 5) + 4, 3 * (60 + 7) + 90], rtol=1e-14)


@METHODS
def test_the_same_x_twice_adds_both_tangents(method):
    a = vector(2, 3)
    np.testing.assert_allclose(run(symgrad.Rop(a * a, [a, a], [[1, 0], [2, 1]], method=method)), [12, 6], rtol=1e-14)


@METHODS
def test_x_may_be_a_y(method):
    a = vector(2, 3)
    same, squared = run(symgrad.Rop([a, a * a], a, [1, 1], method=method))
    np.testing.assert_allclose(same, [1, 1])
    np.testing.assert_allclose(squared, [4, 6], rtol=1e-14)


@METHODS
def test_stop_gradients_cuts_before_the_tensor_and_not_behind_it(method):
    a = vector(2, 3)
    b = 2 * a
    total = symgrad.Rop(a + b, [a, b], [[1, 1], [1, 1]], method=method)
    partial = symgrad.Rop(a + b, [a, b], [[1, 1], [1, 1]], stop_gradients=[a, b], method=method)
    np.testing.assert_allclose(run([total, partial]), [[4, 4], [2, 2]])


@METHODS
def test_an_overridden_gradient_is_used(method, graph):
    name = f"SymgradTestTriple_{method}"
    tf.RegisterGradient(name)(lambda op, dy: 3 * dy)
    a = vector(2, 3)
    with graph.gradient_override_map({"Identity": name}):
        y = tf.identity(a)
    np.testing.assert_allclose(run(symgrad.Rop(y, a, [1, 1], method=method)), [3, 3])


@METHODS
def test_a_y_without_derivative_is_named(method):
    a = vector(2, 3)
    with pytest.raises(errors.DisconnectedError, match="Floor"):
        symgrad.Rop([a, tf.floor(a)], a, [1, 1], method=method)
    given = symgrad.Rop([a, tf.floor(a)], a, [1, 1], method=method, disconnected="none")
    assert given[1] is None


@METHODS
def test_nothing_is_built_when_there_is_no_path(method, graph):
    a, b = vector(2, 3), vector(1, 1)
    before = len(graph.get_operations())
    with pytest.raises(errors.DisconnectedError):
        symgrad.Rop(a * 2, [a, b], [a, b], method=method)
    kinds = {op.type for op in graph.get_operations()[before:]}
    assert kinds <= {"Mul", "Const"}  # the y of this test


def test_a_v1_loop_is_named():
    a = vector(2, 3)
    with v1_control_flow():
        y = tf.while_loop(lambda v: tf.reduce_sum(v) < 9, lambda v: (v * a,), [a], name="spin")[0]
    with pytest.raises(errors.ControlFlowError, match=r"spin.*method=\"forward\""):
        symgrad.Rop(y, a, [1, 1], method="double_vjp")


def test_auto_passes_a_v1_branch():
    a = vector(2, 3)
    with v1_control_flow():
        y = tf.cond(a[0] > 0, lambda: a * a, lambda: a)
    np.testing.assert_allclose(run(symgrad.Rop(y, a, [1, 1])), [4, 6], rtol=1e-14)


def test_a_rule_of_the_user_gets_zeros_for_what_does_not_move(monkeypatch):
    monkeypatch.setattr(symgrad.rules.pushforward, "_rules", dict(symgrad.rules.pushforward._rules))
    seen = []

    @symgrad.rules.pushforward("Betainc")
    def betainc(op, da, db, dx):
        seen.extend([da, db, dx])
        return dx

    x = vector(0.3)
    run(symgrad.Rop(tf.math.betainc(vector(2), vector(3), x), x, [1]))
    assert all(t is not None for t in seen)


def test_a_rule_with_too_few_tangents_is_refused(monkeypatch):
    monkeypatch.setattr(symgrad.rules.pushforward, "_rules", {})
    symgrad.rules.pushforward("Qr")(lambda op, da: da)
    a = tf.eye(2, dtype=tf.float64)
    with pytest.raises(errors.MissingRuleError, match="1 tangents for 2 outputs"):
        symgrad.Rop(tf.linalg.qr(a)[1], a, np.eye(2), method="forward")


@pytest.mark.usefixtures("v2_control_flow")
@METHODS
def test_a_variable_that_is_read_inside_a_v2_loop(method):
    """The handle is a loop variable of the While op, in and out."""
    v = tf.get_variable("v", initializer=np.array([0.5, 2.0]), use_resource=True)
    x = vector(2, 3)
    y = tf.while_loop(lambda i, w: i < 2, lambda i, w: (i + 1, w * v), [0, x])[1]  # x v^2
    assert any(t.dtype == tf.resource for op in tf.get_default_graph().get_operations() for t in op.outputs)
    got = symgrad.Rop(y, [x, v], [[1, 1], [1, 10]], method=method)
    np.testing.assert_allclose(run(got), [0.25 + 2 * 2 * 0.5, 4 + 2 * 3 * 2 * 10], rtol=1e-14)


@METHODS
def test_through_nested_calls_inside_a_tf_function(method):
    inner = tf.function(lambda v: tf.sin(v) * v)

    @tf.function(autograph=False)
    def outer(x):
        y = inner(x) * x
        return symgrad.Rop(y, x, tf.ones_like(x), method=method)

    x = np.array([0.5, 2.0])
    got = run(outer(tf.constant(x)))
    np.testing.assert_allclose(got, 2 * x * np.sin(x) + x**2 * np.cos(x), rtol=1e-14)


@METHODS
def test_through_a_call_that_came_from_a_file(method):
    """TensorFlow has no gradient of its gradient: the SymbolicGradient of an imported call."""
    with tf.Graph().as_default() as other:
        x = tf.placeholder(tf.float64, [2], name="x")
        tf.identity(tf.function(lambda v: tf.sin(v) * v)(x), name="y")
    x, y = tf.import_graph_def(other.as_graph_def(), return_elements=["x:0", "y:0"], name="")
    rop = symgrad.Rop(y, x, [1, 1], method=method)
    at = np.array([0.5, 2.0])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(rop, {x: at}), np.sin(at) + at * np.cos(at), rtol=1e-14)
