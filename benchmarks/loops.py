"""First and second derivatives of a V1 loop of 200 steps against the loop itself and its gradient by TensorFlow.

The loop is a <- tanh(a W) on 64 x 64 matrices. All programs run in turn, round by round, in one session, so that what
else the machine does falls on all alike. Figures are medians, of the time on the clock and of the time that processors
spent on it, which other programs disturb less.

    python benchmarks/loops.py
"""

import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

STEPS, SIZE, ROUNDS = 200, 64, 60


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


def spent(session, tensor, feeds):
    """Seconds on the clock and of the processors for one run."""
    clock, processors = time.perf_counter(), time.process_time()
    session.run(tensor, feeds)
    return time.perf_counter() - clock, time.process_time() - processors


def main():
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        programs, feeds = build()
        for tensor in programs.values():  # the first run optimises and allocates
            session.run(tensor, feeds)
        rounds = [[spent(session, tensor, feeds) for tensor in programs.values()] for _ in range(ROUNDS)]
    medians = [[statistics.median(times) for times in zip(*runs, strict=True)] for runs in zip(*rounds, strict=True)]
    figures = dict(zip(programs, medians, strict=True))
    for name, (clock, processors) in figures.items():
        print(f"{name:<10} {clock * 1e3:8.2f} ms on the clock {processors * 1e3:8.2f} ms of processors")
    for name, base, aim in (("Rop", "primal", 3), ("HVP", "gradient", 2)):
        clock, processors = (a / b for a, b in zip(figures[name], figures[base], strict=True))
        print(f"{name} / {base:<9} {clock:.2f} on the clock, {processors:.2f} of processors (aim: at most {aim})")


if __name__ == "__main__":
    main()
