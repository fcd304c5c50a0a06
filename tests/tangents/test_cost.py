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
