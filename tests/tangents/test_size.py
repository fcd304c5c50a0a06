"""The work is linear in the graph: ops added by count, and no recursion."""

import pytest
import tensorflow.compat.v1 as tf

import symgrad


def chain(n):
    x = tf.constant([0.5], tf.float64)
    y = x
    for _ in range(n // 4):
        y = -tf.tanh(tf.tanh(y) * 1.01)
    return y, x


def added(n):
    """Ops that a Rop adds to a chain of n active ops."""
    with tf.Graph().as_default() as graph:
        y, x = chain(n)
        before = len(graph.get_operations())
        symgrad.Rop(y, x, [1.0], method="forward")
        return len(graph.get_operations()) - before


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_ops_added_are_at_most_twice_the_active_ones(n):
    assert added(n) <= 2 * n + 10
