"""The spectral density of a symmetric matrix by stochastic Lanczos quadrature."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._estimators import order_of, signs


@dataclass(frozen=True)
class Density:
    """The density (1/n) sum delta(t - eigenvalue), as nodes with weights.

    Attributes:
      nodes: [probes, steps], where the mass is.
      weights: [probes, steps], how much of it; each row adds up to 1.
    """

    nodes: np.ndarray
    weights: np.ndarray

    def on(self, grid: np.ndarray, width: float) -> np.ndarray:
        """The density at the points of `grid`, each node smeared to a Gaussian of that standard deviation."""
        distance = (np.asarray(grid)[:, np.newaxis, np.newaxis] - self.nodes) / width
        kernel = np.exp(-(distance**2) / 2) / (np.sqrt(2 * np.pi) * width)
        return np.sum(kernel * self.weights, (1, 2)) / len(self.nodes)

    def moment(self, power: int) -> float:
        """The mean of the eigenvalues to that power, which is trace(A^power) / n."""
        return float(np.sum(self.weights * self.nodes**power) / len(self.nodes))


def density(A: Any, *, steps: int = 80, probes: int = 10, seed: int = 0) -> Density:
    """The spectral density of a symmetric matrix, from `steps` products with blocks of `probes` vectors.

    Args:
      A: anything with `shape` (n, n), symmetric, that multiplies [n, K] arrays by `@`.
      steps: of each Lanczos run, at most n.
      probes: random start vectors, over which is averaged.
      seed: of these.

    Returns:
      A `Density`.

    Raises:
      ShapeError: A is not square.

    Example:
      >>> found = symgrad.linops.density(np.diag([1., 1., 4.]), steps=3)
      >>> round(found.moment(1), 6)  # the mean of the eigenvalues
      2.0

    Reference: G. Golub, J. Welsch (1969), Calculation of Gauss quadrature rules, Math. Comp. 23(106); B. Ghorbani, S.
    Krishnan, Y. Xiao (2019), An investigation into neural net optimization via Hessian eigenvalue density, ICML.
    """
    n = order_of(A)
    starts = signs(np.random.default_rng(seed), n, probes)
    diagonals, sides = lanczos(A, starts, min(steps, n))
    nodes, weights = np.empty_like(diagonals.T), np.empty_like(diagonals.T)
    for i in range(probes):
        tridiagonal = np.diag(diagonals[:, i]) + np.diag(sides[:, i], 1) + np.diag(sides[:, i], -1)
        nodes[i], vectors = np.linalg.eigh(tridiagonal)
        weights[i] = vectors[0] ** 2
    return Density(nodes, weights)


def lanczos(A: Any, starts: np.ndarray, steps: int, *, reorthogonalise: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The tridiagonal matrices of independent Lanczos runs, in step: one block product a step.

    Args:
      A: symmetric operator (n, n).
      starts: [n, k], one start vector a column.
      steps: of each run.
      reorthogonalise: make each new vector orthogonal to all before it, twice. Without that rounding gives ghosts:
        copies of the outermost eigenvalues.

    Returns:
      Diagonals [steps, k] and side diagonals [steps - 1, k].
    """
    n, k = starts.shape
    kept = np.zeros((steps, n, k))
    diagonals, sides = np.zeros((steps, k)), np.zeros((max(steps - 1, 0), k))
    kept[0] = starts / np.linalg.norm(starts, axis=0)
    for j in range(steps):
        new = np.asarray(A @ kept[j], np.float64)
        diagonals[j] = np.sum(kept[j] * new, 0)
        new -= diagonals[j] * kept[j] + (sides[j - 1] * kept[j - 1] if j else 0.0)
        for _ in range(2 if reorthogonalise else 0):
            before = kept[: j + 1]
            new -= np.einsum("jnk,jk->nk", before, np.einsum("jnk,nk->jk", before, new))
        if j + 1 < steps:
            norm = np.linalg.norm(new, axis=0)
            ended = norm <= 1e-12 * np.max(np.abs(diagonals[: j + 1]), axis=0)  # an invariant subspace: nothing follows
            sides[j] = np.where(ended, 0.0, norm)
            kept[j + 1] = new / np.where(ended, np.inf, norm)
    return diagonals, sides
