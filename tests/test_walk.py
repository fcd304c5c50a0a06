"""The ops between xs and ys."""

import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

from symgrad import _walk

pytestmark = pytest.mark.core


def names(between):
    return [op.name for op in between.ops]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_only_what_lies_on_a_path_in_order():
    x = tf.constant(1.0, name="x")
    a = tf.sin(x, name="a")
    tf.cos(a, name="aside")
    b = tf.multiply(a, tf.constant(2.0), name="b")
    between = _walk.between([b], [x])
    assert names(between) == ["a", "b"]
    assert between.connected == [True]
    assert between.reached == [True]
    assert between.active_inputs(b.op) == [0]


def test_integers_and_stopped_tensors_end_a_path():
    x = tf.constant([1.0, 2.0])
    a = tf.identity(x)
    y = a * tf.cast(tf.argmax(x), tf.float32)
    assert _walk.between([tf.cast(tf.argmax(x), tf.float32)], [x]).connected == [False]
    assert _walk.between([y], [x], stop=[a]).connected == [False]
    assert _walk.between([y], [x], stop=[a]).ops == []
    assert _walk.between([y], [x]).active_inputs(y.op) == [0]


def test_xs_upstream_of_each_other_and_in_ys():
    a = tf.constant(1.0)
    b = tf.sin(a, name="b")
    c = tf.cos(b, name="c")
    assert names(_walk.between([c], [a, b])) == ["b", "c"]
    between = _walk.between([a, c], [a])
    assert between.reached == [True, True]
    assert _walk.between([a], [a]).connected == [True]


def test_activity_that_enters_a_loop_by_its_back_edge_only():
    x = tf.constant(2.0)
    with v1_control_flow():
        _, y, _ = tf.while_loop(lambda i, v, w: i < 3, lambda i, v, w: (i + 1, w, v * x), [0, 1.0, 1.0])
    between = _walk.between([y], [x])
    assert between.connected == [True]
    merges = [op for op in between.ops if op.type == "Merge"]
    assert len(merges) == 2  # v and w, not the counter


def test_a_path_leaves_a_function_body_through_what_it_captured():
    found = []
    x = tf.constant([1.0, 2.0])
    z = tf.sin(x)

    @tf.function
    def body(v):
        y = v * z
        between = _walk.between([y], [x, v])
        found.append((between.connected, [op.type for op in between.ops]))
        return y

    body(tf.constant([1.0, 2.0]))
    assert found == [([True, True], ["Sin", "Mul"])]


def test_a_deep_graph_needs_no_recursion():
    x = y = tf.constant(1.0)
    for _ in range(3000):
        y = tf.identity(y)
    assert len(_walk.between([y], [x]).ops) == 3000
