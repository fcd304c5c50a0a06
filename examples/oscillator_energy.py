"""The ground state of a quantum oscillator in three dimensions, from a network and its forward Laplacian.

The local energy of a wave function psi = exp(f) is E(x) = -(Laplacian f + |grad f|^2) / 2 + |x|^2 / 2. It is the same
at all points exactly where psi is a stationary state, so its variance is the loss; the energy is d / 2 then. One pass
forward gives the Laplacian and the gradient, and the loss is differentiated by the weights in reverse.

Reference: R. Li et al. (2024), A computational framework for neural network-based variational Monte Carlo with forward
Laplacian, Nature Machine Intelligence 6.
"""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

DIMENSION, WIDTH, POINTS = 3, 8, 200


def log_psi(x):
    """A network of one layer, and a bowl that keeps the particle from running away."""
    rng = np.random.default_rng(1)
    w = tf.get_variable("w", initializer=rng.standard_normal((DIMENSION, WIDTH)) / 2, use_resource=True)
    b = tf.get_variable("b", initializer=np.zeros(WIDTH), use_resource=True)
    out = tf.get_variable("out", initializer=rng.standard_normal((WIDTH, 1)) / 2, use_resource=True)
    width = tf.get_variable("width", initializer=np.float64(0.2), use_resource=True)
    return tf.matmul(tf.tanh(tf.matmul(x, w) + b), out)[:, 0] - tf.exp(width) * tf.reduce_sum(x**2, 1)


def main():
    """Print the energy before and after, and its spread over the points."""
    places = np.random.default_rng(0).standard_normal((POINTS, DIMENSION)) / np.sqrt(2)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(places)
        second, first = symgrad.laplacian(log_psi(x), x, gradient=True)
        energy = -(second + tf.reduce_sum(first**2, 1)) / 2 + tf.reduce_sum(x**2, 1) / 2
        mean, variance = tf.nn.moments(energy, 0)
        session.run(tf.global_variables_initializer())
        print("before: energy {:.4f}, spread {:.1e}".format(*session.run([mean, tf.sqrt(variance)])))
        symgrad.optimizers.ScipyOptimizer(variance, options={"maxiter": 200}).minimize(session)
        found, spread = session.run([mean, tf.sqrt(variance)])
    print(f"after:  energy {found:.4f}, spread {spread:.1e}; by analysis {DIMENSION / 2}")
    assert abs(found - DIMENSION / 2) < 0.01


if __name__ == "__main__":
    main()
