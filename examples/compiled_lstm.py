"""A Hessian-vector product through an LSTM of V1 control flow, op by op and compiled by XLA.

The loop has fifty iterations of some twenty small ops each: a session spends its time on starting them. Compiled, the
forward loop, the backward loop and the tangents of both are one program.
"""

import time

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

STEPS, BATCH, UNITS = 50, 8, 16


def lstm(inputs, weights):
    """The last output [batch, units] for inputs [steps, batch, units]."""

    def step(i, output, cell):
        read = tf.concat([inputs[i], output], 1) @ weights
        start, new, keep, show = tf.split(read, 4, 1)
        cell = tf.sigmoid(keep) * cell + tf.sigmoid(start) * tf.tanh(new)
        return i + 1, tf.sigmoid(show) * tf.tanh(cell), cell

    zeros = tf.zeros([BATCH, UNITS])
    return tf.while_loop(lambda i, *_: i < STEPS, step, (0, zeros, zeros))[1]


def main():
    """Print how far the two are apart, and how long they take."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.disable_control_flow_v2()
        inputs = tf.placeholder(tf.float32, [STEPS, BATCH, UNITS])
        weights = tf.Variable(0.2 * rng.standard_normal((2 * UNITS, 4 * UNITS)), dtype=tf.float32, use_resource=True)
        loss = tf.reduce_sum(lstm(inputs, weights.read_value()) ** 2)
        tf.enable_control_flow_v2()
        direction = tf.constant(rng.standard_normal((2 * UNITS, 4 * UNITS)), tf.float32)
        plain = symgrad.hvp(loss, weights, direction)
        compiled = symgrad.compiled(plain, strict=True)
        session.run(weights.initializer)
        runs = [session.make_callable(t, [inputs]) for t in (plain, compiled)]
        data = rng.standard_normal((STEPS, BATCH, UNITS)).astype(np.float32)
        first, second = (run(data) for run in runs)
        print(f"largest difference, relative: {np.max(np.abs(first - second)) / np.max(np.abs(first)):.0e}")
        print(f"compiled / op by op: {_ratio(runs, data):.2f} of the time")


def _ratio(runs, data):
    times = [[], []]
    for _ in range(15):
        for run, taken in zip(runs, times, strict=True):
            began = time.perf_counter()
            run(data)
            taken.append(time.perf_counter() - began)
    return np.median(times[1]) / np.median(times[0])


if __name__ == "__main__":
    main()
