"""A physics-informed network for Burgers' equation, trained by Adam and L-BFGS-B, and by Levenberg-Marquardt.

    u_t + u u_x = nu u_xx,   nu = 0.01 / pi,   u(0, x) = -sin(pi x),   u(t, -1) = u(t, 1) = 0,   0 <= t <= 1

A sine wave steepens into a shock at x = 0. The short form ends below a relative error of 0.1 in seconds, `--long` below
0.01 in about a minute. Levenberg-Marquardt needs the residuals one by one, and goes lower in fewer steps.

References: M. Raissi, P. Perdikaris, G. Karniadakis (2019), Physics-informed neural networks, J. Comput. Phys. 378;
C. Basdevant et al. (1986), Spectral and finite difference solutions of the Burgers equation, Comput. Fluids 14(1);
L. Liu et al. (2024), Discontinuity computing using physics-informed neural networks, J. Sci. Comput. 98.
"""

import itertools
import sys

import numpy as np
import tensorflow.compat.v1 as tf
from scipy.stats import qmc

import symgrad

NU = 0.01 / np.pi
SHORT = {"width": 16, "points": 400, "adam": 100, "iterations": 200, "steps": 50}
LONG = {"width": 20, "points": 800, "adam": 200, "iterations": 1200, "steps": 400}


def exact(t, x, nodes=200):
    """The solution: the Cole-Hopf transform makes a heat equation of it, solved by Gauss-Hermite quadrature."""
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    eta = x[..., None] - np.sqrt(4 * NU * t[..., None]) * z
    kernel = weights * np.exp(-(1 + np.cos(np.pi * eta)) / (2 * np.pi * NU))
    return -np.sum(kernel * np.sin(np.pi * eta), -1) / np.sum(kernel, -1)


def perceptron(width, rng, depth=3):
    """Weights and biases of a network with four inputs and one output (Glorot's initial values)."""
    sizes = [4] + [width] * depth + [1]
    return [
        (
            tf.get_variable(f"w{i}", initializer=rng.normal(scale=np.sqrt(2 / (m + n)), size=(m, n))),
            tf.get_variable(f"b{i}", initializer=np.zeros(n)),
        )
        for i, (m, n) in enumerate(itertools.pairwise(sizes))
    ]


def wave(layers, t, x):
    """The network's u at the points (t, x), odd in x as the solution is. It sees x on three scales."""
    both = tf.concat([x, -x], 0)
    h = tf.concat([2 * tf.concat([t, t], 0) - 1, both, tf.tanh(5 * both), tf.tanh(25 * both)], 1)
    for w, b in layers[:-1]:
        h = tf.tanh(h @ w + b)
    w, b = layers[-1]
    here, mirrored = tf.split(h @ w + b, 2)
    return here - mirrored


def residuals(layers, t, x, sides):
    """How far the network is from the equation at each point (t, x), and from what is known at each of the sides.

    Half the sum of their squares is the loss.
    """
    u = wave(layers, t, x)
    u_t, u_x = symgrad.gradients(u, [t, x])
    (u_xx,) = symgrad.gradients(u_x, x)
    # Where the wave is compressed the equation weighs less: the smooth part leads, and the shock forms between.
    equation = (u_t + u * u_x - NU * u_xx) / (1 + 0.3 * (tf.abs(u_x) - u_x))
    known = wave(layers, *sides[:2]) - sides[2]
    return [each[:, 0] * tf.sqrt(weight / share(each)) for each, weight in ((equation, 2.0), (known, 20.0))]


def share(each):
    """One over it is the weight of a row in a mean."""
    return tf.cast(tf.shape(each)[0], tf.float64)


def sample(points, seed):
    """Points (t, x) with x >= 0, since u is odd: a third of them near the shock; and (t, x, u) at the sides."""
    t, x = qmc.LatinHypercube(2, seed=seed).random(points).T[..., None]
    x[::3] *= 0.2
    s = np.linspace(0, 1, points // 10)[:, None]
    sides = np.vstack([0 * s, s]), np.vstack([s, 0 * s + 1]), np.vstack([-np.sin(np.pi * s), 0 * s])
    return t, x, sides


def solve(train, width, points, seed=1, **counts):
    """Train a network by a function of its residuals; its relative L2 error on a grid."""
    with tf.Graph().as_default(), tf.Session() as session:
        # A batch of unknown size: each example is differentiated alone, and gradient ops keep the sizes that they know.
        t, x, *sides = (tf.placeholder_with_default(a, [None, 1]) for a in flat(sample(points, seed)))
        layers = perceptron(width, np.random.default_rng(seed))
        said = train(session, residuals(layers, t, x, sides), [[t, x], sides], counts)
        grid = np.meshgrid(np.linspace(0.01, 1, 100), np.linspace(-1, 1, 201))
        got = session.run(wave(layers, t, x), {t: grid[0].reshape(-1, 1), x: grid[1].reshape(-1, 1)})
    want = exact(*grid).reshape(-1, 1)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{said}, relative L2 error {error:.1e}")
    return error


def flat(points):
    """The points and sides as one list."""
    t, x, sides = points
    return [t, x, *sides]


def by_first_order(session, parts, rows, counts):
    """Adam, then L-BFGS-B."""
    del rows
    loss = tf.add_n([tf.reduce_sum(r**2) for r in parts]) / 2
    first = symgrad.optimizers.Adam(5e-3).minimize(loss)
    iterations = counts["iterations"]
    options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 50, "ftol": 0, "gtol": 0}
    second = symgrad.optimizers.ScipyOptimizer(loss, options=options)
    session.run(tf.global_variables_initializer())
    for _ in range(counts["adam"]):
        session.run(first)
    result = second.minimize(session)
    return f"{counts['adam']} steps of Adam, {result.nit} of L-BFGS-B: loss {result.fun:.1e}"


def by_levenberg_marquardt(session, parts, rows, counts):
    """Each step solves the linearised least squares problem; it starts cold."""
    minimizer = symgrad.optimizers.LevenbergMarquardt()
    step = minimizer.minimize(parts, rows=rows)
    session.run(tf.global_variables_initializer())
    for _ in range(counts["steps"]):
        loss = session.run([step, minimizer.report["loss"]])[1]
    return f"{counts['steps']} steps of Levenberg-Marquardt: loss {loss:.1e}"


def main(long=False):
    """Solve and hold the errors against their limit."""
    limit = 1e-2 if long else 1e-1
    for train in (by_first_order, by_levenberg_marquardt):
        error = solve(train, **(LONG if long else SHORT))
        assert error < limit, error


if __name__ == "__main__":
    main("--long" in sys.argv)
