"""Optimizers beside TensorFlow's, in one run: the update step, a whole training step, and the touched rows of a table.

Every ratio is that of the lower quartiles of calls that alternate between the two, ours over theirs; below 1 is faster
or smaller.

    python benchmarks/optimizers.py
"""

import time

import numpy as np
import tensorflow.compat.v1 as tf

from symgrad import optimizers
from symgrad.optimizers import Optimizer, hyperparameter, rowwise, slot

train = tf.train

MEMBERS = {
    "SGD": (lambda: optimizers.SGD(0.01), lambda: train.GradientDescentOptimizer(0.01)),
    "Momentum": (lambda: optimizers.Momentum(0.01, 0.9), lambda: train.MomentumOptimizer(0.01, 0.9)),
    "Adagrad": (lambda: optimizers.Adagrad(0.01), lambda: train.AdagradOptimizer(0.01)),
    "Adadelta": (lambda: optimizers.Adadelta(0.01), lambda: train.AdadeltaOptimizer(0.01)),
    "RMSProp": (lambda: optimizers.RMSProp(0.01), lambda: train.RMSPropOptimizer(0.01)),
    "RMSProp, centered": (
        lambda: optimizers.RMSProp(0.01, centered=True),
        lambda: train.RMSPropOptimizer(0.01, centered=True),
    ),
    "Adam": (lambda: optimizers.Adam(0.01), lambda: train.AdamOptimizer(0.01)),
    "Ftrl": (lambda: optimizers.Ftrl(0.01), lambda: train.FtrlOptimizer(0.01)),
}

MLP = [(256, 832), (832,), (832, 832), (832,), (832, 128), (128,), (128, 10), (10,)]
SMALL = [(16, 16)] * 200


class HeavyBall(Optimizer):
    """A formula of a user's own, composed of ops."""

    learning_rate = hyperparameter(0.01)
    velocity = slot()

    def step(self, grad, var, h, s):  # noqa: D102
        velocity = 0.9 * s.velocity - h.learning_rate * grad
        return velocity, {"velocity": velocity}


def alternate(*calls, seconds=4.0):
    """(seconds, CPU seconds) of each call, lower quartiles; they take turns: a busy machine slows all of them."""
    times = [[] for _ in calls]
    for call in calls:
        call(), call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for call, taken in zip(calls, times, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [np.quantile(taken, 0.25, axis=0) for taken in times]


def ratios(*pair):
    """The ratios of the two calls' seconds and CPU seconds, and the seconds, as a line of a table."""
    mine, other = alternate(*pair)
    wall, cpu = mine / other
    return f"{wall:6.2f} {cpu:6.2f}    ({mine[0] * 1e3:.2f} ms / {other[0] * 1e3:.2f} ms)"


def executed(op):
    """The ops that a session runs for `op`."""
    seen, todo = {op}, [op]
    while todo:
        at = todo.pop()
        for other in [tensor.op for tensor in at.inputs] + list(at.control_inputs):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return len(seen)


def update_of(make, shapes):
    """A callable that updates variables of these shapes by gradients that are there; ops made, ops executed."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(0)
        variables = [tf.Variable(tf.random.normal(shape), use_resource=True) for shape in shapes]
        grads = [tf.Variable(tf.random.normal(shape), use_resource=True, trainable=False) for shape in shapes]
        step = make().apply_gradients([(grad.read_value(), v) for grad, v in zip(grads, variables, strict=True)])
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session.make_callable(step), len(graph.get_operations()), executed(step)


def updates(title, shapes):
    """The update step of each member that has a kernel of TensorFlow's."""
    print(f"\nUpdate of {title}: ours / TensorFlow's")
    print(f"  {'':18} {'ops in graph':>13} {'ops executed':>13} {'time':>6} {'CPU':>6}")
    for name, makers in MEMBERS.items():
        (ours, graph_ours, run_ours), (theirs, graph_theirs, run_theirs) = (update_of(m, shapes) for m in makers)
        print(f"  {name:18} {graph_ours / graph_theirs:13.2f} {run_ours / run_theirs:13.2f} {ratios(ours, theirs)}")


def training_of(make):
    """A callable that takes a whole training step of the MLP on a batch of 128."""
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        h = tf.Variable(tf.random.normal([128, 256]), trainable=False)
        for i in range(0, len(MLP), 2):
            kernel, bias = (tf.Variable(tf.random.normal(s, stddev=0.05), use_resource=True) for s in MLP[i : i + 2])
            h = h @ kernel + bias if i == len(MLP) - 2 else tf.nn.relu(h @ kernel + bias)
        labels = tf.random.uniform([128], maxval=10, dtype=tf.int32, seed=1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))
        step = make().minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session.make_callable(step)


def training():
    """A whole step with a composed formula, beside the one with TensorFlow's Momentum or Adam."""
    print("\nA whole training step of the MLP, batch 128: ours / TensorFlow's kernel: time, CPU")
    pairs = {
        "HeavyBall / Momentum": (HeavyBall, MEMBERS["Momentum"][1]),
        "AdamW / Adam": (lambda: optimizers.AdamW(0.01), MEMBERS["Adam"][1]),
        "Lion / Adam": (lambda: optimizers.Lion(0.001), MEMBERS["Adam"][1]),
        "LAMB / Adam": (lambda: optimizers.LAMB(0.001), MEMBERS["Adam"][1]),
        "Nadam / Adam": (lambda: optimizers.Nadam(0.001), MEMBERS["Adam"][1]),
    }
    for name, makers in pairs.items():
        print(f"  {name:22} {ratios(*map(training_of, makers))}")


def rows_of(make, constraint=None, rows=1_000_000):
    """A callable that updates 100 rows of a table of 64 columns."""
    with tf.Graph().as_default():
        table = tf.Variable(tf.zeros([rows, 64]), use_resource=True, constraint=constraint)
        touched = np.random.default_rng(0).choice(rows, 100, replace=False)
        step = make().apply_gradients([(tf.IndexedSlices(tf.ones([100, 64]), tf.constant(touched)), table)])
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session.make_callable(step)


def sparse():
    """100 rows of 1,000,000 x 64."""
    print("\n100 touched rows of a table of 64 columns, ms a step")

    def positive(value):
        return tf.maximum(value, 0.0)

    cases = {
        "TensorFlow's Adam, 1,000,000 rows": rows_of(MEMBERS["Adam"][1]),
        "Adam(lazy=True), 1,000,000 rows": rows_of(lambda: optimizers.Adam(0.01, lazy=True)),
        "Adam(lazy=True), 1,000 rows": rows_of(lambda: optimizers.Adam(0.01, lazy=True), rows=1_000),
        "SGD, constraint on the whole": rows_of(lambda: optimizers.SGD(0.01), positive),
        "SGD, row-wise constraint": rows_of(lambda: optimizers.SGD(0.01), rowwise(positive)),
    }
    for name, call in cases.items():
        print(f"  {name:36} {alternate(call)[0][0] * 1e3:9.3f}")


def main():
    parameters = sum(int(np.prod(shape)) for shape in MLP)
    updates(f"an MLP of {parameters:,} parameters in {len(MLP)} variables", MLP)
    updates(f"{len(SMALL)} variables of 256 numbers", SMALL)
    training()
    sparse()


if __name__ == "__main__":
    main()
