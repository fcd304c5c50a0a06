"""What ScipyOptimizer adds to an evaluation of loss and gradient: the ratio to a bare session callable.

Both assign a point and evaluate loss and gradient there, in turn in one process; medians are printed. The bare
callables are made by the public `session.make_callable`.
"""

import json
import time

import numpy as np
import tensorflow.compat.v1 as tf

from symgrad._optimizing._evaluate import Evaluator
from symgrad.optimizers import ScipyOptimizer

ROUNDS, REPEATS = 21, 50


def measure(size):
    """Median seconds an evaluation of ours and of the bare callable."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.zeros(size), use_resource=True)
        loss = tf.reduce_sum(tf.cos(v) * v**2)
        optimizer = ScipyOptimizer(loss)
        (gradient,) = tf.gradients(loss, v)
        given = tf.placeholder(tf.float64, [size])
        assign = v.assign(given, read_value=False)
        session.run(v.initializer)
        write = session.make_callable(assign, [given])
        read = session.make_callable([loss, gradient])
        evaluate = Evaluator(optimizer._vector, optimizer._tensors, session, None, {})
        x = np.random.default_rng(0).standard_normal(size)

        def bare():
            write(x)
            read()

        def ours():
            evaluate("loss", x)
            evaluate("gradient", x)

        times = {"bare": [], "ours": []}
        for _ in range(ROUNDS):
            for name, function in (("bare", bare), ("ours", ours)):
                begin = time.perf_counter()
                for _ in range(REPEATS):
                    x[0] += 1e-3
                    function()
                times[name].append((time.perf_counter() - begin) / REPEATS)
    return {name: float(np.median(values)) for name, values in times.items()}


def main():
    """Print the medians and their ratio for 100 and for 100,000 parameters."""
    rows = []
    for size in (100, 100_000):
        found = measure(size)
        rows.append({"parameters": size, **found, "ratio": found["ours"] / found["bare"]})
        micro = {name: 1e6 * seconds for name, seconds in found.items()}
        print(
            f"{size:>7} parameters: ours {micro['ours']:.0f} us, bare {micro['bare']:.0f} us, {rows[-1]['ratio']:.2f}"
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
