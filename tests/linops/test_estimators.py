"""What random products tell of a matrix, against matrices that are known."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import linops
from symgrad.errors import ShapeError
from symgrad.linops._density import lanczos


def planted(rng, eigenvalues):
    Q, _ = np.linalg.qr(rng.standard_normal((len(eigenvalues), len(eigenvalues))))
    return Q * eigenvalues @ Q.T


DECAYING = {"geometric": 0.9 ** np.arange(200), "harmonic": 1.0 / np.arange(1, 201)}


@pytest.mark.parametrize("spectrum", DECAYING)
def test_xtrace_on_decaying_spectra(rng, spectrum):
    A = planted(rng, DECAYING[spectrum])
    true = np.sum(DECAYING[spectrum])
    errors = [linops.trace(A, 60, seed=seed).value / true - 1 for seed in range(100)]
    # The paper's method is good to 1.2e-2 of the trace at 60 products on these spectra (root of the mean square).
    assert np.sqrt(np.mean(np.square(errors))) <= 1.2e-2


@pytest.mark.parametrize("method", ["hutchinson", "hutch++", "xtrace"])
def test_no_method_is_biased(rng, method):
    A = planted(rng, 0.9 ** np.arange(100))
    values = [linops.trace(A, 30, method=method, seed=seed).value for seed in range(200)]
    standard_error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - np.trace(A)) < 4 * standard_error


def test_standard_errors_of_independent_terms(rng):
    A = planted(rng, np.linspace(1, 2, 60))
    found = [linops.trace(A, 40, method="hutchinson", seed=seed) for seed in range(200)]
    spread = np.std([f.value for f in found], ddof=1)
    assert 0.85 < np.mean([f.error for f in found]) / spread < 1.15  # 200 runs know a spread to 5 %


def test_small_and_low_rank_matrices_are_exact():
    assert linops.trace(np.diag([3.0, 2.0, 1.0]), 60).value == 6.0
    a = np.arange(1.0, 41.0)
    np.testing.assert_allclose(linops.trace(np.outer(a, a), 20).value, a @ a, rtol=1e-12)  # one eigenvalue is not zero


def test_diagonal_and_norm(rng):
    A = planted(rng, np.linspace(-1, 2, 50))
    value, error = linops.diagonal(A, 4000)
    assert np.all(np.abs(value - np.diag(A)) < 5 * error)  # five standard errors, fifty times
    norm, error = linops.frobenius_norm(A, 400)
    assert abs(norm - np.linalg.norm(A)) < 5 * error


def test_moments_of_the_density(rng):
    eigenvalues = np.concatenate([np.linspace(0, 1, 150), np.linspace(5, 6, 50)])
    A = planted(rng, eigenvalues)
    found = linops.density(A, steps=40, probes=20)
    for power in (1, 2, 3):
        assert abs(found.moment(power) / np.mean(eigenvalues**power) - 1) < 0.01
    grid = np.linspace(-1, 7, 801)
    density = found.on(grid, 0.05)
    assert abs(np.sum(density) * (grid[1] - grid[0]) - 1) < 1e-3  # nearly all mass is on the grid
    assert np.sum(density[grid > 3]) / np.sum(density) == pytest.approx(0.25, abs=0.05)


def test_ghosts_come_without_reorthogonalisation(rng):
    eigenvalues = np.concatenate([[100.0], np.linspace(0, 1, 199)])
    A, start = planted(rng, eigenvalues), rng.standard_normal((200, 1))

    def largest(**options):
        diagonals, sides = lanczos(A, start, 60, **options)
        values = np.linalg.eigvalsh(np.diag(diagonals[:, 0]) + np.diag(sides[:, 0], 1) + np.diag(sides[:, 0], -1))
        return np.sum(values > 99)

    assert largest() == 1
    assert largest(reorthogonalise=False) > 1


def test_bad_arguments():
    with pytest.raises(ShapeError, match="square"):
        linops.trace(np.ones((2, 3)))
    with pytest.raises(ValueError, match="hutchinson"):
        linops.trace(np.eye(2), method="exact")
    with pytest.raises(ValueError, match="at least 4"):
        linops.trace(np.eye(2), 2)


class TestCheck:
    """`check` finds what is planted, and nothing where nothing is."""

    def test_a_sound_matrix(self, session):
        w = tf.get_variable("w", initializer=np.array([1.0, 2.0]))
        session.run(w.initializer)
        assert linops.check(linops.Hessian(tf.reduce_sum(w**4), w, session=session)) == []

    def test_an_indefinite_one(self, session):
        w = tf.get_variable("w", initializer=np.array([1.0, 2.0]))
        session.run(w.initializer)
        (found,) = linops.check(linops.Hessian(w[0] * w[1], w, session=session))
        assert found.cause is linops.Flaw.NOT_POSITIVE

    def test_dropout(self, session):
        w = tf.get_variable("w", initializer=np.ones(50))
        session.run(w.initializer)
        loss = tf.reduce_sum(tf.nn.dropout(w, rate=0.5) ** 3)
        (found,) = linops.check(linops.Hessian(loss, w, session=session))
        assert found.cause is linops.Flaw.NOT_DETERMINISTIC
        assert found.op_type == "RandomUniform"

    def test_one_that_is_not_symmetric(self):
        (found, *_) = linops.check(np.array([[1.0, 2.0], [0.0, 1.0]]))
        assert found.cause is linops.Flaw.NOT_SYMMETRIC
