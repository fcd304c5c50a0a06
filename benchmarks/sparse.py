"""Sparse Jacobians and Hessians beside dense ones, in forward passes and gradients; detection and colouring.

Each figure is the best of several, in one process on one machine; ratios are of runs beside each other, and what is
aimed at stands behind in brackets. Passes are timed without fetching; both matrices, dense and sparse, are fetched.
"""

import functools
import time
import tracemalloc

import numpy as np
import scipy.sparse as sp
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.sparsity import Coloring, Pattern, pattern


def broyden(x):
    padded = tf.pad(x, [[1, 1]])
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


def rosenbrock(x):
    return tf.reduce_sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def brusselator(state, cells):
    u, v = tf.unstack(tf.reshape(state, [2, cells, cells]))
    around = [sum(tf.roll(w, k, axis) for k in (1, -1) for axis in (0, 1)) - 4 * w for w in (u, v)]
    return tf.reshape(tf.stack([1 + u**2 * v - 4.4 * u + around[0], 3.4 * u - u**2 * v + around[1]]), [-1])


def best(function, times=7):
    found = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return min(found)


def runner(session, fetches, x, size):
    """A call without the costs of session.run; what it fetches stays in TensorFlow."""
    call = session.make_callable(fetches, [x])
    point = np.random.default_rng(0).standard_normal(size)
    call(point)
    return lambda: call(point)


def against_dense(size=12_000):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [size])
        y = broyden(x)
        sparse = best(runner(session, symgrad.sparse_jacobian(y, x).values, x, size))
        dense = best(runner(session, symgrad.jacobian(y, x), x, size), 1)
    print(f"Broyden {size:,}: dense {dense:.2f} s, sparse {sparse * 1e3:.2f} ms, ratio {dense / sparse:,.0f} (1,000)")


def in_passes(size=100_000):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [size])
        y, z = broyden(x), rosenbrock(x)
        J, H = symgrad.sparse_jacobian(y, x), symgrad.sparse_hessian(z, x)
        rows = [
            ("Jacobian, forward passes", J, y),
            ("Hessian, gradients", H, symgrad.gradients(z, x)[0]),
        ]
        for name, derivative, unit in rows:
            one, products = (best(runner(session, t.op, x, size)) for t in (unit, derivative.values))
            count = derivative.coloring.colors
            print(f"{name}, a colour, the gather included: {products / one / count:.1f} (3 without the gather)")


def detection(cells=300):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [2 * cells**2])
        y = brusselator(x, cells)
        took = best(lambda: pattern(y, x), 3)
    print(f"detection, {2 * cells**2:,} unknowns: {took:.2f} s (2)")


def colouring(size=1_000_000):
    side = int(size**0.5)
    one = {d: sp.diags_array(np.ones(side - abs(d)), offsets=d, shape=(side, side)) for d in (-1, 0, 1)}
    five = sum(sp.kron(one[a], one[b]) for a, b in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    three = sp.diags_array(np.ones((3, size)), offsets=[-1, 0, 1], shape=(size, size))
    for name, matrix, shape in (("tridiagonal", three, (size,)), ("five-point", five, (side, side))):
        given = Pattern(sp.csr_array(matrix).astype(bool), (shape,), (shape,))
        colors = Coloring(given).colors
        took = best(functools.partial(Coloring, given), 3)
        print(f"colouring, {name}, {size:,}: {took:.2f} s (0.3), {colors} colours")


def memory(size=100_000):
    """The peak of what NumPy allocates while Broyden's system is prepared and run once."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [size])
        tracemalloc.start()
        symgrad.sparse_jacobian(broyden(x), x).run(session, {x: np.zeros(size)})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    print(f"Broyden {size:,}: peak of NumPy {peak / 2**20:.0f} MiB; TensorFlow's own is not in it")


def main():
    against_dense()
    in_passes()
    detection()
    colouring()
    memory()


if __name__ == "__main__":
    main()
