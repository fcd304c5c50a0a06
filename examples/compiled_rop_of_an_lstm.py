"""How the last output of an LSTM of 50 steps moves along a direction in its weights, as one program of XLA.

The derivative is pushed forward through a V2 loop of many small ops, which a session runs one by one. What XLA compiles
is the same loop; it goes in as a whole because it keeps no list of what its steps gave.
"""

import time

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

STEPS, BATCH, FEATURES, UNITS = 50, 4, 3, 8


def lstm(sequence, weights, bias):
    """The last output, of shape [batch, units], for a sequence of shape [steps, batch, features]."""

    def step(t, h, c):
        i, f, o, g = tf.split(tf.matmul(tf.concat([sequence[t], h], 1), weights) + bias, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return t + 1, tf.sigmoid(o) * tf.tanh(c), c

    start = tf.zeros([BATCH, UNITS], tf.float64)
    return tf.while_loop(lambda t, *_: t < STEPS, step, (0, start, start))[1]


def median_ms(call, *values):
    """The median time of 30 calls."""
    times = []
    for _ in range(30):
        began = time.perf_counter()
        call(*values)
        times.append(time.perf_counter() - began)
    return 1e3 * np.median(times)


def main():
    """Print what a product takes both ways, what the first call costs, and how far the two are apart."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        tf.enable_control_flow_v2()
        sequence = tf.placeholder(tf.float64, [STEPS, BATCH, FEATURES])
        weights = tf.Variable(0.3 * rng.standard_normal([FEATURES + UNITS, 4 * UNITS]), use_resource=True)
        bias = tf.Variable(np.zeros(4 * UNITS), use_resource=True)
        values = [v.read_value() for v in (weights, bias)]  # a variable is read outside of the loop, once
        direction = [tf.constant(rng.standard_normal(v.shape)) for v in values]
        plain = symgrad.Rop(lstm(sequence, *values), values, direction)
        fast = symgrad.compiled(plain)
        for finding in symgrad.diagnose.why_not_compiled(plain):
            print(finding)
        initialize = tf.global_variables_initializer()
    given = rng.standard_normal([STEPS, BATCH, FEATURES])
    with tf.Session(graph=graph) as session:
        session.run(initialize)
        by_session, by_xla = (session.make_callable(fetch, [sequence]) for fetch in (plain, fast))
        began = time.perf_counter()
        found = by_xla(given)
        print(f"the first compiled call: {time.perf_counter() - began:.1f} s")
        apart = np.abs(found - by_session(given)).max()
        print(f"plain {median_ms(by_session, given):.2f} ms, compiled {median_ms(by_xla, given):.2f} ms")
    print(f"they differ by {apart:.1e}")
    assert apart < 1e-12


if __name__ == "__main__":
    main()
