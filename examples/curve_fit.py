"""A curve fit by least squares: the parameters of a damped oscillation, with their standard errors."""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

TRUE = np.array([2.0, 0.3, 1.7, 0.4])  # amplitude, decay, frequency, phase
NAMES = ("amplitude", "decay", "frequency", "phase")
NOISE = 0.05


def main():
    """Fit noisy data; the errors follow from the Jacobian at the solution."""
    rng = np.random.default_rng(0)
    times = np.linspace(0, 10, 200)
    data = TRUE[0] * np.exp(-TRUE[1] * times) * np.cos(TRUE[2] * times + TRUE[3]) + NOISE * rng.standard_normal(200)
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.get_variable("p", initializer=np.array([1.0, 0.1, 1.5, 0.0]))
        model = p[0] * tf.exp(-p[1] * times) * tf.cos(p[2] * times + p[3])
        fit = symgrad.optimizers.ScipyLeastSquares(model - data)
        jacobian = symgrad.jacobian(model, p)
        session.run(p.initializer)
        result = fit.minimize()
        found, rows = session.run([p, jacobian])
    errors = NOISE * np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    for name, value, error, true in zip(NAMES, found, errors, TRUE, strict=True):
        print(f"{name:>10}: {value:.4f} +- {error:.4f}   (true {true})")
        assert abs(value - true) < 4 * error
    print(f"{result.nfev} evaluations of the residuals, {result.njev} of their Jacobian")


if __name__ == "__main__":
    main()
