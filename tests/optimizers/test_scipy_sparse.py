"""SciPy's optimizers with sparse derivatives find what they find with dense ones."""

import numpy as np
import pytest
import scipy.sparse
import tensorflow.compat.v1 as tf
from scipy import optimize

from symgrad.errors import OptimizerError
from symgrad.optimizers import ScipyLeastSquares, ScipyOptimizer


def _broyden(x):
    padded = tf.pad(x, [[1, 1]])
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


@pytest.fixture
def variables(rng, run):
    v = tf.get_variable("v", initializer=-np.ones(20), use_resource=True)
    w = tf.get_variable("w", initializer=-np.ones(10), use_resource=True)
    run(tf.no_op())
    return [v, w]


def test_least_squares(variables, run, monkeypatch):
    seen = []
    solve = optimize.least_squares

    def watched(f, x, jac, **options):
        seen.append(jac(x))
        return solve(f, x, jac=jac, **options)

    monkeypatch.setattr(optimize, "least_squares", watched)
    fit = ScipyLeastSquares(_broyden(tf.concat(variables, 0)), variables, sparse=True, gtol=1e-12)
    assert fit.minimize(run.session).success
    assert scipy.sparse.issparse(seen[0])
    assert seen[0].nnz == 3 * 30 - 2
    # A root of Broyden's function: residuals are zero.
    np.testing.assert_allclose(run(_broyden(tf.concat(variables, 0))), np.zeros(30), atol=1e-8)


def test_trust_constr_with_a_constraint(variables, run):
    x = tf.concat(variables, 0)
    loss = tf.reduce_sum((x[1:] - x[:-1]) ** 2) + tf.reduce_sum(x**2)
    optimizer = ScipyOptimizer(loss, variables, [x[0] - 1.0], sparse=True, method="trust-constr")
    arguments = optimizer._arguments
    seen = []
    optimizer._arguments = lambda evaluate: seen.append(arguments(evaluate)) or seen[0]
    optimizer.minimize(run.session)
    # With x[0] fixed it is a linear system: (2 D^T D + 2 I) x = 0 in the others.
    D = np.eye(29, 30, 1) - np.eye(29, 30)
    A = D.T @ D + np.eye(30)
    want = np.concatenate([[1.0], np.linalg.solve(A[1:, 1:], -A[1:, 0])])
    np.testing.assert_allclose(run(x), want, atol=1e-6)
    assert scipy.sparse.issparse(seen[0]["hess"](-np.ones(30)))


def test_what_takes_no_sparse_matrix_says_so(variables):
    loss = variables[0]
    with pytest.raises(OptimizerError, match="trust-constr"):
        ScipyOptimizer(tf.reduce_sum(loss**2), variables, sparse=True)
    with pytest.raises(OptimizerError, match="dense matrices only"):
        ScipyLeastSquares(loss, variables, sparse=True, method="lm")
