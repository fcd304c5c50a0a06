"""One cluster for all tests of a process: two workers, one parameter server."""

import pytest
import tensorflow.compat.v1 as tf

from symgrad.testing import local_cluster


@pytest.fixture(scope="session")
def cluster():
    with local_cluster(workers=2, ps=1, threads=1) as cluster:
        yield cluster


@pytest.fixture
def fresh(cluster):
    """The cluster without what the test before left in it: all tasks run, no variable or queue has a value."""
    for job, of_job in cluster.addresses.items():
        for task in range(len(of_job)):
            if not cluster.is_running(job, task):
                cluster.restart(job, task)
    tf.Session.reset(cluster.target("worker", 0))
    return cluster
