"""A curve fitted by Gauss-Newton steps, J^T J step = -J^T r, without forming J: products and conjugate gradients."""

import numpy as np
import tensorflow.compat.v1 as tf
from scipy.sparse.linalg import LinearOperator, cg

import symgrad


def main():
    """Find the decay, frequency, phase and height of a damped oscillation in noise."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 4, 200)
    truth = np.array([0.7, 3.0, 0.4, 2.0])
    data = truth[3] * np.exp(-truth[0] * t) * np.cos(truth[1] * t + truth[2]) + 0.02 * rng.standard_normal(t.size)
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder_with_default(np.array([0.3, 2.7, 0.0, 1.0]), [4])
        v = tf.placeholder(tf.float64, [4])
        residuals = p[3] * tf.exp(-p[0] * t) * tf.cos(p[1] * t + p[2]) - data
        loss = tf.reduce_sum(residuals**2) / 2
        slope = symgrad.Lop(loss, p, 1.0)
        product = symgrad.ggnvp(loss, residuals, p, v)  # J^T J v, since the loss is half the sum of squares

        point = session.run(p)
        for step in range(8):
            value, gradient = session.run([loss, slope], {p: point})
            print(f"step {step}: loss {value:10.6f}, parameters {np.round(point, 4)}")
            matrix = LinearOperator((4, 4), lambda u, at=point: session.run(product, {p: at, v: u}), dtype=np.float64)
            move, _ = cg(matrix, -gradient)
            point = point + move
        print(f"the truth was {' ' * 23}{truth}")


if __name__ == "__main__":
    main()
