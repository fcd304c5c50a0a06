"""What a Rop costs, in nodes of the graphs that a session runs: counted, not timed."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad

LAYERS = 6


def mlp(activation, batch):
    x = tf.placeholder(tf.float32, [batch, 4], name="x")
    y = x
    for i in range(LAYERS):
        w = tf.get_variable(f"w{i}", initializer=np.full((4, 4), 0.1, np.float32), use_resource=True)
        y = activation(y @ w)
    return y, x


def matmuls(fetch, x):
    """How many matrix products a session runs for `fetch`."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        session.run(fetch, {x: np.ones((3, 4), np.float32)}, options, metadata)
    return sum("MatMul" in node.op for graph in metadata.partition_graphs for node in graph.node)


@pytest.mark.parametrize("activation", [tf.tanh, tf.square])
@pytest.mark.parametrize("batch", [None, 3])
def test_a_rop_runs_at_most_twice_the_matmuls_of_the_primal(activation, batch):
    with tf.Graph().as_default():
        y, x = mlp(activation, batch)
        rop = symgrad.Rop(y, x, tf.ones_like(x))
        assert matmuls(y, x) == LAYERS
        assert matmuls([y, rop], x) == 2 * LAYERS


def test_a_rop_through_a_v2_loop_turns_one_loop_that_keeps_nothing():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3, 4])
        states = tf.TensorArray(tf.float32, 5)  # beside the loop: neither the condition nor a tangent needs it
        step = lambda i, h, s: (i + 1, tf.tanh(h * x), s.write(i, h))  # noqa: E731
        y = tf.while_loop(lambda i, *_: i < 5, step, [0, x, states])[1]
        before = graph.get_operations()
        symgrad.Rop(y, x, tf.ones_like(x))
        (loop,) = [op for op in graph.get_operations() if "While" in op.type and op not in before]
        (theirs,) = [op for op in before if "While" in op.type]
        # The counter, the limit, h and x, each of the last two with its tangent; of theirs the array is left out.
        assert len(theirs.inputs) == 6
        assert len(loop.inputs) == 2 + 1 + 2 * 2
        assert not any(t.dtype == tf.variant for t in loop.inputs)
