"""Compiled tensors equal plain ones, also differentiated; what may differ stays outside."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad.diagnose import Outside
from symgrad.errors import CompileError, GraphMismatchError

pytestmark = pytest.mark.core

# Sums of a few numbers of size 1 in float64; XLA orders and fuses them otherwise.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
RNG = np.random.default_rng(0)


def calls(graph):
    return [op for op in graph.get_operations() if op.type == "PartitionedCall"]


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def loop(x, turns, v2):
    with control_flow(v2=v2):
        return tf.while_loop(lambda i, h: i < turns, lambda i, h: (i + 1, tf.tanh(h * 1.5)), (0, x))[1]


def test_values_and_derivatives_at_two_batch_sizes(graph):
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.Variable(RNG.normal(size=(3, 2)), use_resource=True)
    y = tf.tanh(x @ w.read_value()) ** 2
    plain = [y, *tf.gradients(y, [x, w]), symgrad.hvp(tf.reduce_sum(y), x, tf.ones_like(x))]
    fast = symgrad.compiled(plain)
    once = symgrad.compiled(y, x)
    of_fast = [*tf.gradients(once, [x, w]), symgrad.hvp(tf.reduce_sum(once), x, tf.ones_like(x))]
    pushed = [symgrad.Rop(t, x, tf.ones_like(x)) for t in (y, once)]
    assert len(calls(graph)) >= 2
    with tf.Session() as session:
        session.run(w.initializer)
        for size in (1, 4):
            want, got, again, along = session.run((plain, fast, of_fast, pushed), {x: RNG.normal(size=(size, 3))})
            for a, b in zip(want, got, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)
            for a, b in zip(want[1:], again, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)
            np.testing.assert_allclose(along[1], along[0], **TOLERANCE)


@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_loops_of_no_and_of_some_turns(graph, v2):
    x, turns = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [])
    y = loop(tf.sin(x), turns, v2)
    plain = [tf.exp(y), symgrad.Rop(y, x, tf.ones_like(x)) * 2.0, tf.gradients(y, x)[0] * 2.0]
    fast = symgrad.compiled(plain)
    with tf.Session() as session:
        for n, size in ((0, 2), (3, 2), (3, 5)):
            want, got = session.run((plain, fast), {x: RNG.normal(size=size), turns: n})
            for a, b in zip(want, got, strict=True):
                np.testing.assert_allclose(b, a, **TOLERANCE)


@pytest.mark.parametrize("v2", [False, True], ids=["V1", "V2"])
def test_branches(graph, v2):
    x = tf.placeholder(tf.float64, [2])
    with control_flow(v2=v2):
        y = tf.cond(x[0] > 0, lambda: tf.sin(x), lambda: x * x)
    plain = [tf.exp(y), tf.gradients(y, x)[0] * 3.0]
    fast = symgrad.compiled(plain)
    with tf.Session() as session:
        for value in ([1.0, 2.0], [-1.0, 2.0]):
            want, got = session.run((plain, fast), {x: value})
            np.testing.assert_allclose(got, want, **TOLERANCE)


def test_dropout_keeps_its_mask_and_py_func_its_derivative(graph):
    x = tf.placeholder(tf.float64, [50])
    dropped = tf.nn.dropout(tf.sin(x), rate=0.5)
    fast = symgrad.compiled(tf.exp(dropped))
    inner = tf.cos(x)
    # What ops outside give enters the call beside what they are computed from; no road may count twice.
    mixed = tf.exp(inner) * tf.py_func(np.sign, [inner], tf.float64) * tf.reduce_max(inner)
    both = [mixed, tf.identity(symgrad.compiled(mixed))]
    slopes = [tf.gradients(t, inner)[0] for t in both]
    with tf.Session() as session:
        feed = {x: RNG.normal(size=50)}
        want, got = session.run((tf.exp(dropped), fast), feed)
        np.testing.assert_allclose(got, want, **TOLERANCE)
        values, gradients = session.run((both, slopes), feed)
        np.testing.assert_allclose(values[1], values[0], **TOLERANCE)
        np.testing.assert_allclose(gradients[1], gradients[0], **TOLERANCE)


def test_checks_still_stop_a_run(graph):
    x = tf.placeholder(tf.float64, [2])
    with tf.control_dependencies([tf.debugging.assert_positive(x, message="not positive")]):
        y = tf.exp(tf.sin(x))
    with tf.Session() as session:
        fast = symgrad.compiled(tf.cos(y))
        np.testing.assert_allclose(session.run(fast, {x: [1.0, 2.0]}), np.cos(np.exp(np.sin([1.0, 2.0]))), **TOLERANCE)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
            session.run(fast, {x: [1.0, -2.0]})


def test_xla_runs(graph):
    """A shape that a loop computes is one of the few things that XLA cannot compile and a session can run."""
    x, n = tf.placeholder(tf.float64, [4]), tf.placeholder(tf.int32, [])
    with control_flow(v2=True):
        size = tf.while_loop(lambda i: i * i < n, lambda i: i + 1, (0,))
    y = tf.reshape(x * 2.0, [size, -1])
    fast = symgrad.compiled(y)
    with tf.Session() as session:
        assert session.run(y, {x: np.ones(4), n: 3}).shape == (2, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="compile-time constant"):
            session.run(fast, {x: np.ones(4), n: 3})


@pytest.mark.parametrize(
    "function",
    [tf.reduce_max, tf.linalg.inv, lambda m: tf.sqrt(tf.cast(m, tf.complex128)), lambda m: tf.cast(m, tf.int32) + 1],
    ids=["maximum", "inverse", "complex", "whole"],
)
def test_what_differs_silently_stays_outside(graph, function):
    y = function(tf.placeholder(tf.float64, [2, 2]))
    before = graph.as_graph_def()
    with pytest.raises(CompileError, match="differently without saying so"):
        symgrad.compiled(tf.exp(tf.cast(tf.real(y), tf.float64)), strict=True)
    assert [n.name for n in before.node] == [op.name for op in graph.get_operations()][: len(before.node)]


def test_refusals_leave_the_graph_alone(graph):
    x = tf.placeholder(tf.float64, [2], name="x")
    y = tf.py_func(np.sin, [x], tf.float64)
    before = len(graph.get_operations())
    with pytest.raises(CompileError, match="nothing is left"):
        symgrad.compiled(y)
    with pytest.raises(CompileError, match="PyFunc"):
        symgrad.compiled(y, strict=True)
    graph.finalize()
    with pytest.raises(GraphMismatchError, match="finalized"):
        symgrad.compiled(y)
    assert len(graph.get_operations()) == before


def test_why_not_compiled_names_a_v1_loop_once(graph):
    x = tf.placeholder(tf.float64, [3])
    y = loop(tf.sin(x), 3, v2=False) + tf.reduce_max(x)
    before = len(graph.get_operations())
    found = {f.cause: f for f in symgrad.diagnose.why_not_compiled(tf.exp(y))}
    assert set(found) == {Outside.V1_FLOW, Outside.DIFFERS}
    assert found[Outside.DIFFERS].op_type == "Max"
    assert len(found[Outside.V1_FLOW].ops) > 5
    assert "test_compiled.py" in found[Outside.V1_FLOW].where
    assert symgrad.diagnose.why_not_compiled(tf.exp(tf.sin(x))) == []
    assert len(graph.get_operations()) == before + 3
