"""A portfolio with constraints: the least risk for a wanted return, no short sales, at most 40 % in one asset."""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

RETURNS = np.array([0.06, 0.09, 0.12, 0.15])
VOLATILITY = np.array([0.08, 0.14, 0.20, 0.30])
CORRELATION = np.array([[1.0, 0.3, 0.2, 0.1], [0.3, 1.0, 0.4, 0.2], [0.2, 0.4, 1.0, 0.5], [0.1, 0.2, 0.5, 1.0]])


def main():
    """Trace the efficient frontier: one optimizer, minimized again for each wanted return."""
    covariance = np.outer(VOLATILITY, VOLATILITY) * CORRELATION
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("weights", initializer=np.full(4, 0.25))
        wanted = tf.placeholder(tf.float64, [])
        risk = tf.reduce_sum(weights * tf.linalg.matvec(covariance, weights))
        optimizer = symgrad.optimizers.ScipyOptimizer(
            risk * 100,
            equalities=[tf.reduce_sum(weights) - 1.0],
            inequalities=[tf.reduce_sum(weights * RETURNS) - wanted],
            var_to_bounds={weights: (0.0, 0.4)},
            method="SLSQP",
        )
        session.run(weights.initializer)
        print("return   volatility   weights")
        for target in (0.08, 0.10, 0.12):
            result = optimizer.minimize(feed_dict={wanted: target})
            volatility, found = session.run([tf.sqrt(risk), weights])
            print(f"{target:6.2f}   {volatility:10.4f}   {np.round(found, 3)}")
            assert result.success
            assert abs(found.sum() - 1) < 1e-6
            assert found @ RETURNS > target - 1e-6


if __name__ == "__main__":
    main()
