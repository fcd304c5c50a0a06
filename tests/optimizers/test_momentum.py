"""Gradient descent and momentum equal TensorFlow's, in V1 graphs, for every kind of variable and gradient."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD, Momentum

PAIRS = {
    "momentum": (lambda: Momentum(0.05, 0.9), lambda: tf.train.MomentumOptimizer(0.05, 0.9)),
    "nesterov": (
        lambda: Momentum(0.05, 0.9, nesterov=True),
        lambda: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    ),
    "sgd": (lambda: SGD(0.05), lambda: tf.train.GradientDescentOptimizer(0.05)),
    "sgd_with_momentum": (lambda: SGD(0.05, 0.9), lambda: tf.train.MomentumOptimizer(0.05, 0.9)),
}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("name", PAIRS)
def test_fifty_steps_equal_tensorflows(name, use_resource, pair_of_variables):
    ends = []
    for make in PAIRS[name]:
        with tf.Graph().as_default(), tf.Session() as session:
            loss, x, table = pair_of_variables(use_resource=use_resource)
            step = make().minimize(loss, global_step=tf.train.get_or_create_global_step())
            session.run(tf.global_variables_initializer())
            for _ in range(50):
                session.run(step)
            ends.append(session.run([x, table, loss, tf.train.get_global_step()]))
    ours, theirs = ends
    for mine, other in zip(ours, theirs, strict=True):
        # The same kernel on the same numbers; only the sum over repeated rows may be ordered differently: a few ulp.
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    assert ours[3] == 50


def test_momentum_of_sgd_cannot_be_switched_on_later(graph, session):
    optimizer = SGD(0.1)
    x = tf.Variable(1.0)
    optimizer.minimize(x * x)
    with pytest.raises(OptimizerError, match="built without momentum"):
        optimizer.set(session, momentum=0.9)


def test_required_learning_rate_is_asked_for():
    with pytest.raises(OptimizerError, match="needs learning_rate"):
        Momentum()
