"""First and second derivatives of a V1 loop of 200 steps against the loop itself and its gradient by TensorFlow.

The loop is a <- tanh(a W) on 64 x 64 matrices. All programs run in turn, round by round, in one session, so that what
else the machine does falls on all alike; the figures are medians, and the ratios are what to look at.

    python benchmarks/loops.py
"""

import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

STEPS, SIZE, ROUNDS = 200, 64, 40


def build():
    """The programs by name, and what to feed."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    import symgrad

    rng = np.random.default_rng(0)
    tf.disable_control_flow_v2()
    x = tf.placeholder(tf.float32, [SIZE, SIZE])
    w = tf.constant(rng.standard_normal((SIZE, SIZE)) / 8, tf.float32)
    y = tf.while_loop(lambda i, a: i < STEPS, lambda i, a: (i + 1, tf.tanh(a @ w)), (0, x))[1]
    gradient = tf.gradients(y, x)[0]
    v = tf.constant(rng.standard_normal((SIZE, SIZE)), tf.float32)
    start = time.perf_counter()
    rop, hvp = symgrad.Rop(y, x, v), symgrad.Rop(gradient, x, v)
    print(f"built Rop and HVP in {time.perf_counter() - start:.2f} s")
    programs = {"primal": y, "gradient": gradient, "Rop": rop, "HVP": hvp}
    # To fetch one element keeps the copying of results out of the figures.
    return {name: tensor[0, 0] for name, tensor in programs.items()}, {x: rng.standard_normal((SIZE, SIZE))}


def main():
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        programs, feeds = build()
        seconds = {name: [] for name in programs}
        for round in range(ROUNDS + 3):
            for name, tensor in programs.items():
                start = time.perf_counter()
                session.run(tensor, feeds)
                if round >= 3:  # the first runs optimise and allocate
                    seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, median in medians.items():
        print(f"{name:<10} {median * 1e3:8.2f} ms")
    print(f"Rop / primal   {medians['Rop'] / medians['primal']:.2f}   (aim: at most 3)")
    print(f"HVP / gradient {medians['HVP'] / medians['gradient']:.2f}   (aim: at most 2)")


if __name__ == "__main__":
    main()
