"""Hyperparameters that are numbers, on servers: they can be placed beside any step, and no later job finds them."""

import logging

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.optimizers import SGD, Adam, accumulate, apply_if_finite, loss_scale, skip_nonfinite, watch
from symgrad.testing import local_cluster


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(workers=1, ps=1) as cluster:
        yield cluster


CHAINS = {
    "no gate": (list, 2),
    "skip_nonfinite": (lambda: [skip_nonfinite()], 2),
    "apply_if_finite": (lambda: [apply_if_finite(2)], 2),
    "accumulate": (lambda: [accumulate(2)], 1),
    "loss_scale": (lambda: [loss_scale()], 2),
    "watch": (lambda: [skip_nonfinite(), watch()], 2),
}


def test_gated_steps_are_placed(cluster):
    """Each on x^2 at rate 0.1, two calls: 0.8 to the power of the steps taken. A conditional of the caller's, too."""
    setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device="/job:worker/task:0")
    with tf.Graph().as_default(), tf.device(setter):
        built = {}
        for name, (chain, steps) in CHAINS.items():
            x = tf.get_variable(name.replace(" ", "_"), initializer=[1.0, 2.0], use_resource=True)
            built[name] = x, SGD(0.1, transforms=chain()).minimize(tf.reduce_sum(x * x), var_list=[x]), steps
        x = tf.get_variable("branch", initializer=[1.0, 2.0], use_resource=True)
        optimizer, flag = SGD(0.1), tf.placeholder_with_default(True, [])

        def taken():
            with tf.control_dependencies([optimizer.minimize(tf.reduce_sum(x * x), var_list=[x])]):
                return tf.constant(1)

        built["a branch"] = x, tf.cond(flag, taken, lambda: tf.constant(0)), 2
        with tf.Session(cluster.target("worker", 0)) as session:
            session.run(tf.global_variables_initializer())
            for name, (x, train, steps) in built.items():
                session.run(train)
                session.run(train)
                np.testing.assert_allclose(session.run(x), np.array([1.0, 2.0]) * 0.8**steps, rtol=1e-6, err_msg=name)


def job(target, rate, later=None):
    """x and the rate after one step down a slope of 1, and what is set then for whoever comes next."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.get_variable("x", initializer=1.0, use_resource=True)
        optimizer = SGD(rate)
        train = optimizer.minimize(x)
        session.run(tf.global_variables_initializer())
        session.run(train)
        if later is not None:
            optimizer.set(session, learning_rate=later)
        return float(session.run(x)), optimizer.get(session)["learning_rate"]


def test_a_job_trains_with_the_rate_of_its_constructor(cluster):
    target = cluster.target("worker", 0)
    assert job(target, 0.5, later=0.01) == (0.5, 0.01)
    assert job(target, 0.5) == (0.5, 0.5)
    assert job(target, np.float64(0.5)) == (0.5, 0.5)  # another dtype


def test_a_number_that_is_set_beside_shared_variables_is_said_to_be_one_workers_own(cluster, caplog):
    setter = tf.train.replica_device_setter(cluster=cluster.spec, worker_device="/job:worker/task:0")
    with tf.Graph().as_default(), tf.Session(cluster.target("worker", 0)) as session:
        with tf.device(setter):
            x = tf.get_variable("y", initializer=1.0, use_resource=True)
            optimizer = Adam(0.5)
            optimizer.minimize(x)
        with caplog.at_level(logging.WARNING, "symgrad"):
            optimizer.set(session, learning_rate=0.25)
        assert optimizer.get(session)["learning_rate"] == 0.25
    assert "Adam.learning_rate is set for this worker" in caplog.text
