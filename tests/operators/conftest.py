"""A graph for each test, and a way to evaluate in it."""

import concurrent.futures

import pytest
import tensorflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def run(graph):
    """Evaluate fetches in one session, in which variables are initialised at the first run."""
    with tf.Session(graph=graph) as session:
        ready = []

        def evaluate(fetches, feed_dict=None):
            if not ready:
                session.run([v.initializer for v in tf.global_variables()])
                ready.append(True)
            return session.run(fetches, feed_dict)

        evaluate.session = session
        yield evaluate


@pytest.fixture
def eagerly():
    """Call a function as code outside of any graph is called: in a thread, whose default is eager."""

    def call(function):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    return call
