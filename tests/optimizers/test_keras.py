"""tf_keras trains with our optimizers, and its callbacks steer the learning rate."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad.optimizers import SGD, Momentum

callbacks = tf_keras.callbacks
INPUTS = np.eye(3, dtype=np.float32)

STEERS = {
    "LearningRateScheduler": lambda: callbacks.LearningRateScheduler(lambda epoch: 0.3 / (1 + epoch)),
    # No improvement of 10 an epoch is ever seen: the rate is halved after every epoch but the first.
    "ReduceLROnPlateau": lambda: callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=10.0),
}


def trained(compiled, steer):
    """The weights after five epochs, and the rates that the callback set."""
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
    compiled(model)
    rates = model.fit(INPUTS, INPUTS[:, :1], epochs=5, batch_size=3, verbose=0, callbacks=[steer()]).history["lr"]
    return np.concatenate([w.ravel() for w in model.get_weights()]), rates


def with_ours(optimizer):
    def compiled(model):
        rate = tf.compat.v2.Variable(0.3)
        model.compile(optimizer=optimizer(rate), loss="mse")
        model.optimizer.lr = rate  # where callbacks look; tf_keras has wrapped the optimizer

    return compiled


@pytest.mark.parametrize("steer", STEERS.values(), ids=STEERS)
def test_callbacks_steer_the_rate_as_they_do_that_of_keras(steer):
    legacy = tf_keras.optimizers.legacy.SGD
    want, rates = trained(lambda model: model.compile(optimizer=legacy(0.3), loss="mse"), steer)
    assert len(set(rates)) > 2
    got, ours = trained(with_ours(SGD), steer)
    assert ours == rates
    np.testing.assert_allclose(got, want, rtol=1e-6)  # float32


def test_momentum_takes_the_new_rate():
    got, _ = trained(with_ours(lambda rate: Momentum(rate, 0.9)), STEERS["LearningRateScheduler"])
    weights, velocity = np.array([1.0, 1.0, 1.0, 0.0]), np.zeros(4)
    for epoch in range(5):
        inputs = np.hstack([INPUTS, np.ones((3, 1))])
        gradient = 2 / 3 * inputs.T @ (inputs @ weights - INPUTS[:, 0])
        velocity = 0.9 * velocity + gradient
        weights -= 0.3 / (1 + epoch) * velocity
    np.testing.assert_allclose(got, weights, rtol=1e-5)  # five steps in float32
