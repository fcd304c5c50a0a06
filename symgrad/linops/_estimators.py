"""The trace, the diagonal and the Frobenius norm of a matrix from products with it, each with its standard error."""

from typing import Any, NamedTuple

import numpy as np

from ..errors import ShapeError


class Estimate(NamedTuple):
    """A value and the standard error of it."""

    value: Any
    error: Any


def trace(A: Any, products: int = 60, *, method: str = "xtrace", seed: int = 0) -> Estimate:
    """The trace of a square matrix, from products with random vectors.

    Args:
      A: anything with `shape` (n, n) that multiplies [n, K] arrays by `@`.
      products: how many vectors A is multiplied with; at least 4.
      method: "xtrace", the best where eigenvalues fall off (its terms are correlated: the true error is some 1.4 times
        the one given); "hutch++"; "hutchinson", the best for a flat spectrum.
      seed: of the vectors.

    Returns:
      (value, standard error).

    Raises:
      ShapeError: A is not square.
      ValueError: an unknown method, or too few products.

    Example:
      >>> symgrad.linops.trace(np.diag([3., 2., 1.]), products=6).value.round(6)
      np.float64(6.0)

    Reference: E. Epperly, J. Tropp, R. Webber (2024), XTrace: making the most of every sample in stochastic trace
    estimation, SIAM J. Matrix Anal. Appl. 45(1); R. Meyer et al. (2021), Hutch++, SOSA; M. Hutchinson (1989), Commun.
    Stat. Simul. Comput. 18(3).
    """
    n = order_of(A)
    if method not in _TRACES:
        raise ValueError(f"method={method!r}; wanted one of {', '.join(map(repr, _TRACES))}")
    if products < 4:
        raise ValueError(f"products={products}; wanted at least 4")
    if method != "hutchinson" and products >= 2 * n:  # as many as give all columns, and more than a sketch has room for
        return Estimate(np.trace(A @ np.eye(n)), np.float64(0.0))
    return _TRACES[method](A, products, np.random.default_rng(seed))


def diagonal(A: Any, products: int = 60, *, seed: int = 0) -> Estimate:
    """The diagonal of a square matrix: the mean of v * (A v) over random signs v.

    Args:
      A: as for `trace`.
      products: how many vectors A is multiplied with; at least 2.
      seed: of the vectors.

    Returns:
      (value [n], standard error [n]).

    Raises:
      ShapeError: A is not square.

    Example:
      >>> symgrad.linops.diagonal(np.diag([3., 2., 1.])).value
      array([3., 2., 1.])

    Reference: C. Bekas, E. Kokiopoulou, Y. Saad (2007), An estimator for the diagonal of a matrix, Appl. Numer. Math.
    57(11-12).
    """
    V = signs(np.random.default_rng(seed), order_of(A), products)
    return _mean(V * (A @ V), axis=1)


def frobenius_norm(A: Any, products: int = 60, *, seed: int = 0) -> Estimate:
    """The Frobenius norm of a matrix: the root of the mean of |A v|^2 over random signs v.

    Args:
      A: anything with `shape` (m, n) that multiplies [n, K] arrays by `@`.
      products: how many vectors A is multiplied with; at least 2.
      seed: of the vectors.

    Returns:
      (value, standard error).

    Example:
      >>> symgrad.linops.frobenius_norm(np.diag([3., 4.])).value
      np.float64(5.0)
    """
    V = signs(np.random.default_rng(seed), A.shape[1], products)
    square, error = _mean(np.sum((A @ V) ** 2, 0))
    root = np.sqrt(square)
    return Estimate(root, error / (2 * root) if root else error)


def order_of(A: Any) -> int:
    rows, columns = A.shape
    if rows != columns:
        raise ShapeError(f"A has shape {(rows, columns)}; wanted a square matrix")
    return rows


def signs(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return rng.integers(0, 2, (n, k)) * 2.0 - 1.0


def _mean(samples: np.ndarray, axis: int = 0) -> Estimate:
    return Estimate(samples.mean(axis), samples.std(axis, ddof=1) / np.sqrt(samples.shape[axis]))


def _hutchinson(A: Any, products: int, rng: np.random.Generator) -> Estimate:
    V = signs(rng, A.shape[0], products)
    return _mean(np.sum(V * (A @ V), 0))


def _hutch_plus_plus(A: Any, products: int, rng: np.random.Generator) -> Estimate:
    """A third of the products sketch the range, a third give its trace exactly, a third estimate the rest."""
    k = products // 3
    Q, _ = np.linalg.qr(A @ signs(rng, A.shape[0], k))
    V = signs(rng, A.shape[0], max(k, 2))
    V -= Q @ (Q.T @ V)
    both = A @ np.hstack([Q, V])
    rest, error = _mean(np.sum(V * both[:, Q.shape[1] :], 0))
    return Estimate(np.sum(Q * both[:, : Q.shape[1]]) + rest, error)


def _xtrace(A: Any, products: int, rng: np.random.Generator) -> Estimate:
    """Hutch++ with each test vector left out in turn, so that every one serves twice (Epperly et al., section 2).

    Test vectors lie on the sphere of radius sqrt(n): the projected ones are brought back to their expected length.
    """
    n, m = A.shape[0], products // 2
    tests = rng.standard_normal((n, m))
    tests *= np.sqrt(n) / np.linalg.norm(tests, axis=0)
    Q, R = np.linalg.qr(A @ tests)
    if np.min(np.abs(np.diag(R))) <= 1e-12 * np.max(np.abs(np.diag(R)), initial=0.0):  # the range is smaller than m
        return Estimate(np.trace(Q.T @ (A @ Q)), np.float64(0.0))
    of_basis = A @ Q
    missed = np.linalg.inv(R).T  # column i: the direction of the range that the sketch without vector i misses
    missed /= np.linalg.norm(missed, axis=0)
    inner, along, crossed = Q.T @ of_basis, Q.T @ tests, of_basis.T @ tests
    kept = along - missed * np.sum(missed * along, 0)  # each vector within the sketch without it
    deflated = np.trace(inner) - np.sum(missed * (inner @ missed), 0)
    # v^T A v for v = test - Q kept, of pieces that are there already: A tests = Q R, A Q = of_basis.
    rest = (
        np.sum(tests * (Q @ R), 0) - np.sum(kept * R, 0) - np.sum(crossed * kept, 0) + np.sum(kept * (inner @ kept), 0)
    )
    return _mean(deflated + rest * (n - m + 1) / (n - np.sum(kept * kept, 0)))


_TRACES = {"xtrace": _xtrace, "hutch++": _hutch_plus_plus, "hutchinson": _hutchinson}
