"""Trains on one device and on two replicas, and prints how far apart they end: run as a process of its own.

Logical devices can be made only before TensorFlow starts. Each replica sees half of the batch.
"""

import json
import sys
import tempfile

import keras
import numpy as np
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad.optimizers import SGD, Adam, Momentum, clip_by_global_norm, decoupled_decay, skip_nonfinite

tf2 = tf.compat.v2
INPUTS = np.arange(8, dtype=np.float32).reshape(2, 2, 2) / 8
LABELS = np.array([[1, 0], [1, 2]], np.float32)
STEPS = 3

MAKERS = {
    "SGD": lambda **how: SGD(0.1, **how),
    "Momentum": lambda **how: Momentum(0.1, **how),
    "Adam": lambda **how: Adam(0.1, **how),
    "transforms": lambda **how: Momentum(
        0.1, transforms=[clip_by_global_norm(0.5), skip_nonfinite(), decoupled_decay(0.1)], **how
    ),
}

CASES = {
    "SGD": [(mode, reduction) for mode in ("eager", "function", "graph") for reduction in ("sum", "mean")],
    "Momentum": [("graph", "sum"), ("function", "mean")],
    "Adam": [("graph", "mean"), ("function", "sum")],
    "transforms": [("graph", "sum"), ("eager", "mean"), ("function", "mean")],
}


def variables():
    return tf.Variable([0.5, -0.5], use_resource=True), tf.Variable(np.ones((3, 2), np.float32), use_resource=True)


def loss_of(weights, table, inputs, labels):
    """Mean over the examples; each looks up a row of the table."""
    miss = tf.linalg.matvec(inputs, weights) - labels
    rows = tf.gather(table, tf.range(tf.shape(labels)[0]) % 2)
    return tf.reduce_mean(tf.square(miss)) + tf.reduce_mean(tf.reduce_sum(tf.square(rows), 1))


def on_one_device(make):
    weights, table = variables()
    optimizer = make()
    for _ in range(STEPS):
        optimizer.minimize(lambda: loss_of(weights, table, INPUTS.reshape(4, 2), LABELS.reshape(4)), [weights, table])
    return weights.numpy(), table.numpy()


def replica_step(make, reduction):
    """The strategy, its variables, and what each replica does; must be called where they shall live."""
    devices = ["CPU:0", "CPU:1"]
    strategy = tf2.distribute.MirroredStrategy(devices, cross_device_ops=tf2.distribute.ReductionToOneDevice())
    with strategy.scope():
        weights, table = variables()
        optimizer = make(reduction=reduction)

    def step():
        me = tf2.distribute.get_replica_context().replica_id_in_sync_group
        loss = lambda: loss_of(weights, table, tf.gather(INPUTS, me), tf.gather(LABELS, me))  # noqa: E731
        share = 1.0 if reduction == "mean" else 0.5  # a sum wants the loss divided by the whole batch
        return optimizer.minimize(lambda: share * loss(), var_list=[weights, table])

    return strategy, (weights, table), step, optimizer


def on_two_replicas(mode, make, reduction):
    if mode == "graph":
        with tf.Graph().as_default(), tf.Session() as session:
            strategy, trained, step, _ = replica_step(make, reduction)
            with strategy.scope():
                train = tf.group(*strategy.experimental_local_results(strategy.extended.call_for_each_replica(step)))
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(train)
            return session.run([strategy.experimental_local_results(v)[1] for v in trained])
    strategy, trained, step, _ = replica_step(make, reduction)
    run = lambda: strategy.run(step)  # noqa: E731
    run = tf.function(run, autograph=False) if mode == "function" else run
    for _ in range(STEPS):
        run()
    return [strategy.experimental_local_results(v)[1].numpy() for v in trained]


def continued(folder, way):
    """How far apart five steps end, and three with Adam that another number of replicas takes up from a checkpoint."""
    make = MAKERS["Adam"]
    with tf.Graph().as_default(), tf.Session() as session:
        weights, table = variables()
        step = make().minimize(loss_of(weights, table, INPUTS.reshape(4, 2), LABELS.reshape(4)))
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS + 2):
            session.run(step)
        want = session.run([weights, table])
    strategy, trained, per_replica, optimizer = replica_step(make, "sum")
    weights, table = variables()
    alone = make()
    loss = lambda: loss_of(weights, table, INPUTS.reshape(4, 2), LABELS.reshape(4))  # noqa: E731
    one = (lambda: alone.minimize(loss, [weights, table]), alone, (weights, table))
    two = (lambda: strategy.run(tf.function(per_replica, autograph=False)), optimizer, trained)
    first, second = (one, two) if way == "onto two" else (two, one)
    saved, restored = (tf.compat.v2.train.Checkpoint(optimizer=o, variables=list(v)) for _, o, v in (first, second))
    for _ in range(STEPS):
        first[0]()
    path = saved.save(f"{folder}/{way.replace(' ', '_')}")
    status = restored.restore(path)
    second[0]()
    status.assert_existing_objects_matched()
    second[0]()
    return max(float(np.abs(a - np.asarray(b)).max()) for a, b in zip(want, second[2], strict=True))


def of_model(layers, how):
    """The weights of a model after three steps of a loop written by hand, on the whole batch or shared by replicas."""
    strategy = tf2.distribute.get_strategy()
    if how == "two":
        strategy = tf2.distribute.MirroredStrategy(
            ["CPU:0", "CPU:1"], cross_device_ops=tf2.distribute.ReductionToOneDevice()
        )
    with strategy.scope():
        layer = layers.Dense(3, kernel_initializer="ones", activation="tanh")
        layer.build((None, 2))
        optimizer = Momentum(0.1)
    count = strategy.num_replicas_in_sync

    def step():
        me = tf2.distribute.get_replica_context().replica_id_in_sync_group
        inputs = tf.gather(INPUTS, me) if count == 2 else tf.constant(INPUTS.reshape(4, 2))
        loss = lambda: tf.reduce_sum(tf.square(layer(inputs) - 0.3)) / 4  # noqa: E731
        return optimizer.minimize(loss, lambda: layer.trainable_variables)

    run = tf.function(lambda: strategy.run(step), autograph=False)
    for _ in range(STEPS):
        run()
    return [np.asarray(v) for v in layer.trainable_variables]


def main():
    logical = [tf2.config.LogicalDeviceConfiguration()] * 2
    tf2.config.set_logical_device_configuration(tf2.config.list_physical_devices("CPU")[0], logical)
    apart = {}
    for name, make in MAKERS.items():
        want = on_one_device(make)
        for mode, reduction in CASES[name]:
            got = on_two_replicas(mode, make, reduction)
            apart[f"{name} {mode} {reduction}"] = max(
                float(np.abs(a - b).max()) for a, b in zip(want, got, strict=True)
            )
    for name, layers in (("keras", keras.layers), ("tf_keras", tf_keras.layers)):
        pairs = zip(of_model(layers, "one"), of_model(layers, "two"), strict=True)
        apart[f"model of {name}"] = max(float(np.abs(a - b).max()) for a, b in pairs)
    with tempfile.TemporaryDirectory() as folder:
        for way in ("onto two", "onto one"):
            apart[f"restored {way}"] = continued(folder, way)
    json.dump(apart, sys.stdout)


if __name__ == "__main__":
    main()
