"""The plan says what is then done, as the graph and the log show it, and leaves the user's graph as it was."""

import contextlib
import itertools
import logging

import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import _tf
from symgrad._jacobians import _linear_maps
from symgrad.errors import ControlFlowError, ShapeError

pytestmark = pytest.mark.core


@pytest.fixture
def planned():
    """Plans; the graph must have the ops that it had, with the inputs that they had."""

    def plan(ys, xs, **options):
        graph = tf.get_default_graph()
        before = graph.as_graph_def().SerializeToString(deterministic=True)
        found = symgrad.operators.plan(ys, xs, **options)
        assert graph.as_graph_def().SerializeToString(deterministic=True) == before
        return found

    return plan


@contextlib.contextmanager
def v1_loops():
    was = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        yield
    finally:
        if was:
            tf.enable_control_flow_v2()


def layers(*widths):
    x = y = tf.placeholder(tf.float64, [1, widths[0]], "x")
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        y = tf.tanh(tf.matmul(y, tf.ones([a, b], tf.float64), name=f"sum_{i}"), name=f"layer_{i}")
    return y, x


def blocks_in(jacobian):
    """How many iterations the loops of blocks have by their static limits, none where all goes at once."""
    loops = [op for op in jacobian.graph.get_operations() if op.type in ("While", "StatelessWhile")]
    return [tf.get_static_value(op.inputs[1]).item() for op in loops if "/blocks" in op.name]


def test_rows_and_columns_by_the_sizes(planned):
    y, x = layers(8, 4)
    by_rows = planned(y, x)
    assert (by_rows.mode, by_rows.through, by_rows.why) == ("rows", None, "4 rows against 8 columns")
    (way,) = by_rows.ways
    assert (way.count, way.block_size, way.vectorised, way.cause) == (4, 4, True, "")
    y, x = layers(4, 8)
    assert planned(y, x).mode == "columns"
    assert planned(y, x, mode="rows").why == "as asked for"
    assert planned(y, x).result_bytes == 4 * 8 * 8


def test_through_a_narrow_tensor(planned):
    y, x = layers(30, 5, 40)
    found = planned(y, x)
    assert (found.mode, found.through) == ("both", "sum_0:0")
    assert [way.count for way in found.ways] == [5, 5]
    assert "through sum_0:0" in str(found)


def test_behind_a_linear_end(planned):
    h, x = layers(700, 3)
    y = tf.matmul(h, tf.ones([3, 600], tf.float64))
    assert planned(y, x, mode="rows").linear_ends == (h.name,)
    assert planned(y, x, mode="columns").linear_ends == ()


@pytest.mark.parametrize("block_size", [1, 7, None])
def test_blocks_are_those_of_the_loop_that_is_built(planned, block_size):
    y, x = layers(100, 90)
    with symgrad.operators.limits(block_bytes=20_000):
        (way,) = planned(y, x, mode="rows", block_size=block_size).ways
        jacobian = symgrad.jacobian(y, x, mode="rows", block_size=block_size)
    assert way.vectorised == (block_size != 1)
    assert blocks_in(jacobian) == [-(-way.count // way.block_size)]


def test_the_budget_is_kept_to(planned):
    y, x = layers(100, 90)
    with symgrad.operators.limits(block_bytes=20_000):
        found = planned(y, x, mode="rows")
    (way,) = found.ways
    assert way.block_size == 20_000 // way.bytes_each
    assert found.block_bytes == 20_000


def test_what_does_not_vectorise_and_why(planned, caplog):
    y, x = layers(6, 5)
    top = tf.nn.top_k(y, 3).values
    (way,) = planned(top, x, mode="rows").ways
    assert (way.vectorised, way.block_size) == (False, 1)
    with caplog.at_level(logging.INFO, "symgrad"):
        symgrad.jacobian(top, x, mode="rows")
    assert way.cause
    assert way.cause in caplog.text


def test_through_a_v1_loop(planned):
    x = tf.placeholder(tf.float64, [20], "x")
    with v1_loops():
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, x], name="turning")
    found = planned(y, x)
    assert found.v1_loops == ("turning/while_context",)
    assert found.mode == "columns"
    assert "half a row" in found.why
    assert not found.ways[0].copied
    assert planned(y, x, mode="rows", block_size=4).ways[0].copied


def test_through_a_v2_loop_and_an_own_gradient(planned):
    x = tf.placeholder(tf.float64, [4], "x")

    @tf.custom_gradient
    def doubled(x):
        return x * 2, lambda u: u * 2

    _, y = symgrad._tf.while_loop_v2(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, doubled(x)])
    found = planned(y, x, mode="rows")
    assert [(way.count, way.vectorised) for way in found.ways] == [(4, True)]
    assert planned(y, x).mode == "columns"


def test_over_devices(planned):
    y, x = layers(8, 4)
    found = planned(y, x, devices=["CPU:0", "CPU:1"])
    assert found.devices == ("/device:CPU:0", "/device:CPU:1")
    assert [way.count for way in found.ways] == [2]


def test_of_variables_and_of_several(planned):
    v = tf.get_variable("v", [3], tf.float64, use_resource=True)
    w = tf.get_variable("w", [2], tf.float64, use_resource=False)
    found = planned({"a": v * 2, "b": tf.reduce_sum(v) * w}, [v, w], mode="rows")
    assert [way.count for way in found.ways] == [3, 2]


def test_unknown_sizes_are_for_the_session_to_say(planned):
    x = tf.placeholder(tf.float64, [None])
    found = planned(tf.sin(x), x)
    assert found.result_bytes is None
    assert found.ways[0].count is None
    assert "as many as the session says" in str(found)


def test_what_the_jacobian_refuses_is_refused(planned):
    y, x = layers(100, 90)
    with symgrad.operators.limits(result_bytes=1000), pytest.raises(ShapeError, match="the limit is"):
        planned(y, x)


def test_there_is_none_inside_of_a_function():
    @tf.function
    def inside(x):
        with pytest.raises(ControlFlowError, match="plans are for graphs"):
            symgrad.operators.plan(x * x, x)
        return x

    inside(tf.ones([2]))


def test_a_fault_of_ours_is_not_taken_for_what_does_not_vectorise(monkeypatch):
    """What TensorFlow's shape functions refuse goes one vector at a time; what goes wrong in our own code is raised."""
    x = tf.placeholder(tf.float64, [3])
    y = _tf.while_loop_v2(lambda i, a: i < 2, lambda i, a: (i + 1, tf.sin(a)), (0, x))[1]
    push = _linear_maps.push

    def plan_where(going_wrong):
        def stacked(between, ys, xs, tangents, number=None):
            return push(between, ys, xs, tangents) if number is None else going_wrong()

        monkeypatch.setattr(_linear_maps, "push", stacked)
        return symgrad.operators.plan(y, x, mode="columns")

    (way,) = plan_where(lambda: tf.reshape(tf.ones([3]), [2])).ways
    assert (way.vectorised, "reshape" in way.cause.lower()) == (False, True)
    with pytest.raises(AttributeError):
        plan_where(lambda: symgrad.rules.reapply(None, []))
