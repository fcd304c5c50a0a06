"""Newton's method for a system of 100,000 equations: its Jacobian has 300,000 entries, from three products J v.

As a full matrix it would take 75 GiB. The system is Broyden's tridiagonal one.
"""

import time

import numpy as np
import scipy.sparse.linalg
import tensorflow.compat.v1 as tf

import symgrad

SIZE = 100_000


def system(x):
    padded = tf.pad(x, [[1, 1]])
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


def main():
    began = time.perf_counter()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [SIZE])
        residual = system(x)
        jacobian = symgrad.sparse_jacobian(residual, x)
    print(f"{jacobian.coloring} found and built in {time.perf_counter() - began:.1f} s")
    value = -np.ones(SIZE)
    with tf.Session(graph=graph) as session:
        for step in range(9):
            r = session.run(residual, {x: value})
            print(f"step {step}: largest residual {np.abs(r).max():.1e}, after {time.perf_counter() - began:.1f} s")
            if np.abs(r).max() < 1e-12:
                return
            value -= scipy.sparse.linalg.spsolve(jacobian.run(session, {x: value}).tocsc(), r)
    raise ArithmeticError("Newton's method did not converge")


if __name__ == "__main__":
    main()
