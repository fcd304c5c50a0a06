"""What every test relies on: quiet TensorFlow, reproducible random tests, graphs, sessions, versions at the end."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import concurrent.futures
import importlib.metadata
import platform

import hypothesis
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import WORLD, control_flow

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30, database=None)
hypothesis.settings.load_profile("ci")


@pytest.fixture
def rng():
    """A seeded generator; every test sees the same numbers in any order of tests."""
    return np.random.default_rng(20170623)


@pytest.fixture
def graph():
    """A graph that is the default one during the test."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def v2_control_flow():
    """Loops and branches that the test builds are V2 ops, in either behaviour of TensorFlow."""
    with control_flow(v2=True):
        yield


@pytest.fixture
def run(graph):
    """Evaluate fetches in one session, in which variables are initialised at the first run."""
    with tf.Session(graph=graph, config=AS_BUILT) as session:
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


@pytest.fixture
def session(graph):
    """A session in the graph of the test, which it makes the default one."""
    with tf.Session(graph=graph, config=AS_BUILT) as session:
        yield session


@pytest.fixture
def network(session, rng):
    """y of shape [1, 7] and x of shape [1, 4] with two tanh layers of variable weights between them, in float64."""
    x = tf.constant(rng.standard_normal((1, 4)))
    y = x
    for i, shape in enumerate([(4, 6), (6, 5), (5, 7)]):
        w = tf.get_variable(f"w{i}", initializer=rng.standard_normal(shape) / np.sqrt(shape[0]), use_resource=True)
        y = tf.tanh(y @ w)
    session.run(tf.global_variables_initializer())
    return y, x


def pytest_terminal_summary(terminalreporter):
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("tensorflow", "numpy", "networkx", "scipy")]
    terminalreporter.write_line(f"behaviour of TensorFlow {WORLD}")
    terminalreporter.write_line(f"ran on Python {platform.python_version()}, {', '.join(versions)}")
