"""A smoothing spline that outliers do not bend: Newton's method with the sparse Hessian of 2,000 coefficients."""

import numpy as np
import scipy.sparse.linalg
import tensorflow.compat.v1 as tf

import symgrad

COEFFICIENTS, POINTS = 2_000, 6_000


def main():
    rng = np.random.default_rng(0)
    places = np.sort(rng.uniform(0, COEFFICIENTS - 3, POINTS))
    wanted = np.sin(places / 100) + 0.1 * rng.standard_normal(POINTS) + 3.0 * (rng.uniform(size=POINTS) < 0.02)
    cell = np.minimum(places.astype(int), COEFFICIENTS - 4)
    t = places - cell
    basis = np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], 1) / 6
    with tf.Graph().as_default() as graph:
        c = tf.placeholder(tf.float64, [COEFFICIENTS])
        fit = tf.reduce_sum(tf.gather(c, cell[:, None] + np.arange(4)) * basis, 1)
        bend = c[2:] - 2 * c[1:-1] + c[:-2]
        # Grows like a line far away, so that outliers pull no harder than others.
        loss = tf.reduce_sum(tf.sqrt(0.04 + (fit - wanted) ** 2)) + 50 * tf.reduce_sum(bend**2)
        gradient = symgrad.gradients(loss, c)[0]
        hessian = symgrad.sparse_hessian(loss, c)
    print(hessian.coloring)
    value = np.zeros(COEFFICIENTS)
    with tf.Session(graph=graph) as session:
        for step in range(60):
            now, g = session.run([loss, gradient], {c: value})
            if step % 5 == 0 or np.abs(g).max() < 1e-9:
                print(f"step {step}: loss {now:.6f}, largest gradient {np.abs(g).max():.1e}")
            if np.abs(g).max() < 1e-9:
                return
            move = scipy.sparse.linalg.spsolve(hessian.run(session, {c: value}).tocsc(), g)
            length = 1.0
            while session.run(loss, {c: value - length * move}) > now - 1e-4 * length * (g @ move) and length > 1e-6:
                length /= 2
            value -= length * move
    raise ArithmeticError("Newton's method did not converge")


if __name__ == "__main__":
    main()
