"""Time of `symgrad.diagnose.why_none` on graphs of 50,000 and 100,000 ops: it is to grow as the graph does.

The peer in the same run is `tf.gradients` on the same graph, which answers None and does not say why.

    python benchmarks/diagnose.py
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow.compat.v1 as tf

from symgrad.diagnose import why_none

SIZES = (50_000, 100_000)


def chain(ops):
    """One long chain, cut at its end."""
    x = h = tf.placeholder(tf.float32, [3])
    for i in range(ops - 3):
        h = tf.add(h, x) if i % 2 else tf.sin(h)
    return tf.stop_gradient(h) * 2.0, x


def layers(ops):
    """300 variables along a chain, all cut at its end."""
    variables = [tf.get_variable(f"w{i}", [2, 2]) for i in range(300)]
    h = tf.ones([2, 2])
    for i in range(ops - 2_000):
        h = tf.tanh(h) if i % (ops // 300) else tf.matmul(h, variables[i * 300 // ops])
    return tf.stop_gradient(h) * 2.0, variables


def loose(ops):
    """A chain that a stop_gradient keeps away from ys, and a long one beside it: the price of a graph, not of a cut."""
    x = tf.placeholder(tf.float32, [3])
    h = tf.ones([3]) + tf.stop_gradient(x)
    for _ in range(ops - 5):
        h = tf.sin(h)
    return h, x


def seconds(function, *arguments):
    """Seconds that a call takes."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main():
    """Print a table."""
    print(f"{'graph':>8} {'ops':>8} {'xs':>4} {'why_none':>9} {'again':>6} {'tf.gradients':>13}")
    for build in (chain, layers, loose):
        for size in SIZES:
            with tf.Graph().as_default() as graph:
                ys, xs = build(size)
                ops = len(graph.get_operations())
                first, again = seconds(why_none, ys, xs), seconds(why_none, ys, xs)
                peer = seconds(tf.gradients, ys, xs)
            count = len(xs) if isinstance(xs, list) else 1
            print(f"{build.__name__:>8} {ops:>8,} {count:>4} {first:>8.2f}s {again:>5.2f}s {peer:>12.2f}s", flush=True)


if __name__ == "__main__":
    main()
