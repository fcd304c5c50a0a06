"""Operations of the decompositions of matrices as closed formulas: the leading terms in the sizes.

Sections are those of G. Golub and C. Van Loan, Matrix Computations, 3rd ed., Johns Hopkins University Press, 1996, who
count a usual number of iterations where something iterates.
"""

from collections.abc import Callable
from math import prod

from ._operands import Operands


def _cholesky(operands: Operands) -> int:
    n = operands.input(0)[-1]
    return prod(operands.input(0)) * n // 3


def _triangular_solve(operands: Operands) -> int:
    return prod(operands.output()) * operands.input(0)[-1]


def _inverse(operands: Operands) -> int:
    return 2 * prod(operands.input(0)) * operands.input(0)[-1]


def _matrices(operands: Operands) -> tuple[int, int, int]:
    """How many matrices there are, and their sizes m >= n; the transpose costs the same."""
    *batch, rows, columns = operands.input(0)
    return prod(batch), max(rows, columns), min(rows, columns)


def _qr(operands: Operands) -> int:
    """Householder reflections 2 n^2 (m - n / 3), and for Q as many again, or 4 (m^2 n - m n^2 + n^3 / 3).

    Sections 5.1.6 and 5.2.1.
    """
    *batch, m, columns = operands.input(0)
    if m < columns:  # the columns beyond m are only reflected: for k = m, ..., 1 by 4 k for each of them
        square = 4 * m**3 // 3
        return prod(batch) * (2 * square + (columns - m) * 2 * m * m)
    n = columns
    reflect = 2 * n * n * (3 * m - n) // 3
    full = operands.attribute("full_matrices")
    return prod(batch) * (reflect + (4 * n * (3 * m * m - 3 * m * n + n * n) // 3 if full else reflect))


def _svd(operands: Operands) -> int:
    """Bidiagonalisation and implicit QR steps, figure 5.4.1 in section 5.4.5."""
    count, m, n = _matrices(operands)
    if not operands.attribute("compute_uv"):
        return count * (4 * m * n * n - 4 * n**3 // 3)
    if operands.attribute("full_matrices"):
        return count * (4 * m * m * n + 8 * m * n * n + 9 * n**3)
    return count * (14 * m * n * n + 8 * n**3)


def _lu(operands: Operands) -> int:
    """2 n^3 / 3, section 3.2.5."""
    *batch, _, n = operands.input(0)
    return prod(batch) * (2 * n**3 // 3)


def _solve(operands: Operands) -> int:
    """LU, then two triangular solves of n^2 for each right-hand side."""
    return _lu(operands) + 2 * prod(operands.output()) * operands.input(0)[-1]


def _symmetric_eigen(operands: Operands) -> int:
    """Tridiagonalisation 4 n^3 / 3; with eigenvectors 9 n^3, sections 8.3.1 and 8.3.5."""
    *batch, _, n = operands.input(0)
    return prod(batch) * (9 * n**3 if operands.attribute("compute_v") else 4 * n**3 // 3)


MATRICES: dict[str, Callable[[Operands], int]] = {
    "Cholesky": _cholesky,
    "MatrixInverse": _inverse,
    "MatrixTriangularSolve": _triangular_solve,
    "Qr": _qr,
    "Svd": _svd,
    "SelfAdjointEigV2": _symmetric_eigen,
    **dict.fromkeys(("Lu", "LogMatrixDeterminant", "MatrixDeterminant"), _lu),
    "MatrixSolve": _solve,
}
