"""Small problems and the loop that trains on them in one session call."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf


@pytest.fixture
def graph():
    """A graph of its own, the default one while the test runs."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph) as session:
        yield session


@pytest.fixture
def pair_of_variables(graph):
    """A vector and a matrix whose rows 0 and 2 a gather reads, row 0 twice; and a convex loss of them."""

    def make(dtype=np.float32, use_resource=True):
        x = tf.Variable(np.array([1.0, -2.0, 3.0], dtype), use_resource=use_resource, name="x")
        table = tf.Variable(np.arange(12, dtype=dtype).reshape(4, 3) / 10, use_resource=use_resource, name="table")
        loss = tf.reduce_sum(tf.square(x - 1.0)) + tf.reduce_sum(tf.square(tf.gather(table, [0, 2, 0]) * x))
        return loss, x, table

    return make
