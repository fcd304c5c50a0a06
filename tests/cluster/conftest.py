"""One cluster for all tests of a process: two workers, one parameter server."""

import contextlib

import pytest
import tensorflow.compat.v1 as tf

from symgrad.testing import local_cluster


@pytest.fixture(scope="session")
def cluster():
    with local_cluster(workers=2, ps=1, threads=1) as cluster:
        yield cluster


def revive(cluster):
    """Start all tasks again that a test has ended."""
    for job, of_job in cluster.addresses.items():
        for task in range(len(of_job)):
            if not cluster.is_running(job, task):
                cluster.restart(job, task)


@pytest.fixture
def fresh(cluster):
    """The cluster without what the test before left in it: all tasks run, no variable or queue has a value."""
    tf.Session.reset(cluster.target("worker", 0))
    yield cluster
    revive(cluster)


@pytest.fixture
def connected(fresh):
    """Opens a session of a graph at the first worker, which is closed when all tasks run: TensorFlow waits for them."""
    sessions = []

    def connect(graph):
        sessions.append(tf.Session(fresh.target("worker", 0), graph=graph))
        return sessions[-1]

    yield connect
    revive(fresh)
    for session in sessions:
        with contextlib.suppress(tf.errors.AbortedError):  # its master has been restarted
            session.close()
