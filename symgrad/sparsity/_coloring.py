"""Colourings: from how few products a sparse matrix can be read, and where in them each entry is."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .. import _plots
from ..errors import PatternError
from ._groups import MOST, colored, right
from ._pattern import Pattern, canonical

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODES = ("auto", "columns", "rows", "both")


class Coloring:
    """How a sparse matrix J is read from few products J v and v^T J.

    Columns of one colour share no row, so that one product with the sum of their unit vectors holds all their entries;
    the same for rows. Few dense rows or columns are taken by themselves (mode "both").

    Args:
      pattern: a `Pattern`, or a SciPy sparse matrix whose stored entries are where J may be other than zero.
      mode: "columns" (products J v), "rows" (products v^T J), "both", or "auto": the one with the fewest products.
      symmetric: whether the matrix is symmetric (a Hessian): an entry may be read as that on the other side.

    Attributes:
      matrix: the pattern, boolean `csr_array` [m, n].
      symmetric: as given.
      columns: for each column the number of its product J v, -1 for none.
      rows: for each row the number of its product v^T J, -1 for none.

    Raises:
      PatternError: `symmetric` and the pattern is not.

    Example:
      >>> import numpy as np, scipy.sparse
      >>> tridiagonal = scipy.sparse.diags_array(np.ones((3, 6)), offsets=[-1, 0, 1], shape=(6, 6))
      >>> symgrad.sparsity.Coloring(tridiagonal).colors
      3
    """

    def __init__(self, pattern: Any, *, mode: str = "auto", symmetric: bool = False):
        if mode not in MODES:
            raise ValueError(f"mode={mode!r}; wanted one of {', '.join(map(repr, MODES))}")
        self.matrix, (y_shapes, x_shapes) = _matrix_of(pattern), _shapes_of(pattern)
        self.symmetric = symmetric
        if symmetric:
            _require_symmetric(self.matrix)
            self.columns, self.rows = _symmetric(self.matrix, x_shapes), _none(self.matrix.shape[0])
        else:
            self.columns, self.rows = _cheapest(self.matrix, mode, y_shapes, x_shapes)

    @classmethod
    def from_colors(cls, pattern: Any, *, columns: Any = None, rows: Any = None, symmetric: bool = False) -> Coloring:
        """The colouring with these colours, -1 for a column or row that is in no product.

        Raises:
          PatternError: there are not as many colours as columns or rows; an entry is alone in no product.
        """
        self = cls.__new__(cls)
        self.matrix, self.symmetric = _matrix_of(pattern), symmetric
        if symmetric:
            _require_symmetric(self.matrix)
        m, n = self.matrix.shape
        self.columns = _none(n) if columns is None else np.asarray(columns, np.int32)
        self.rows = _none(m) if rows is None else np.asarray(rows, np.int32)
        for given, size, what in ((self.columns, n, "columns"), (self.rows, m, "rows")):
            if given.shape != (size,):
                raise PatternError(f"{what}= has shape {given.shape}, and the pattern has {size} {what}")
        self.sources  # noqa: B018 - raises if an entry is alone nowhere
        return self

    @property
    def counts(self) -> tuple[int, int]:
        """How many products J v, and how many v^T J."""
        return int(self.columns.max(initial=-1)) + 1, int(self.rows.max(initial=-1)) + 1

    @property
    def colors(self) -> int:
        """How many products in all."""
        return sum(self.counts)

    @functools.cached_property
    def _alone_in_columns(self) -> bool:
        """Whether no two columns of one colour share a row, and each has one."""
        every = bool(self.columns.min(initial=0) >= 0)
        return every and self.counts[0] <= MOST and right(self.matrix, self.columns)

    @functools.cached_property
    def sources(self) -> np.ndarray:
        """For each entry, in the order of `matrix`, where in the products it is: those of columns come first."""
        m, n = self.matrix.shape
        i = np.repeat(np.arange(m), np.diff(self.matrix.indptr))
        by_columns, by_rows = self.counts
        if self._alone_in_columns:
            return i + (self.columns.astype(np.int64) * m)[self.matrix.indices]
        j = self.matrix.indices.astype(np.int64)
        sources = _alone(self.columns[j], i, m, by_columns)
        if self.symmetric and by_columns:
            sources = np.where(sources < 0, sources[_across(self.matrix)], sources)
        if by_rows and np.any(sources < 0):
            other = _alone(self.rows[i], j, n, by_rows)
            sources = np.where((sources < 0) & (other >= 0), by_columns * m + other, sources)
        lost = np.flatnonzero(sources < 0)
        if len(lost):
            raise PatternError(
                f"these colours do not go with the pattern: entry ({i[lost[0]]}, {j[lost[0]]}) is alone in no product "
                f"({len(lost)} such entries); let Coloring(pattern) choose them"
            )
        return sources

    def spy(self, **options: Any) -> Figure:
        """A picture of the pattern: each entry in the colour of the product that it is read from."""
        m, n = self.matrix.shape
        by_columns = self.counts[0]
        read = self.sources
        product = np.where(read < by_columns * m, read // max(m, 1), by_columns + (read - by_columns * m) // max(n, 1))
        return _plots.spy(self.matrix, groups=product, **options)

    def save(self, path: str | os.PathLike) -> None:
        """Write the colouring to a file (`.npz`)."""
        parts = {"indices": self.matrix.indices, "indptr": self.matrix.indptr, "shape": self.matrix.shape}
        with open(path, "wb") as file:
            np.savez_compressed(file, columns=self.columns, rows=self.rows, symmetric=self.symmetric, **parts)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Coloring:
        """The colouring that `save` wrote.

        Raises:
          PatternError: the file is no colouring, or its parts do not go together.
        """
        try:
            with np.load(path) as file:
                ones = np.ones(len(file["indices"]), bool)
                matrix = sp.csr_array((ones, file["indices"], file["indptr"]), tuple(file["shape"]))
                columns, rows, symmetric = file["columns"], file["rows"], bool(file["symmetric"])
        except (KeyError, ValueError, EOFError) as error:
            raise PatternError(f"{os.fspath(path)!r} is no colouring that save() wrote: {error}") from None
        return cls.from_colors(matrix, columns=columns, rows=rows, symmetric=symmetric)

    def __repr__(self) -> str:
        m, n = self.matrix.shape
        by_columns, by_rows = self.counts
        return (
            f"<Coloring of [{m}, {n}], {self.matrix.nnz} entries: {by_columns} products J v, {by_rows} products v^T J>"
        )


def _matrix_of(pattern: Any) -> Any:
    if isinstance(pattern, Pattern):
        return pattern.matrix
    if not sp.issparse(pattern):
        raise PatternError(
            f"a pattern is a symgrad.sparsity.Pattern or a SciPy sparse matrix, not {type(pattern).__name__}"
        )
    ones = sp.csr_array(pattern)  # stored zeros count: they may be other than zero elsewhere
    return canonical(sp.csr_array((np.ones(ones.nnz, bool), ones.indices, ones.indptr), ones.shape))


def _shapes_of(pattern: Any) -> tuple[tuple, tuple]:
    return (pattern.y_shapes, pattern.x_shapes) if isinstance(pattern, Pattern) else ((), ())


def _require_symmetric(matrix: Any) -> None:
    if matrix.shape[0] != matrix.shape[1] or (matrix != canonical(matrix.T)).nnz:
        raise PatternError(f"symmetric=True, and the pattern of shape {matrix.shape} is not symmetric")


def _none(size: int) -> np.ndarray:
    return np.full(size, -1, np.int32)


def _across(matrix: Any) -> np.ndarray:
    """For each entry (i, j) of a symmetric pattern the number of entry (j, i)."""
    places = sp.csr_array((np.arange(matrix.nnz) + 1, matrix.indices, matrix.indptr), matrix.shape)
    turned = sp.csr_array(places.T)
    turned.sort_indices()
    return turned.data - 1


def _alone(color: np.ndarray, place: np.ndarray, size: int, count: int) -> np.ndarray:
    """color * size + place for each entry that has this place of this product for itself; -1 for the others."""
    keys = np.where(color < 0, -1, color.astype(np.int64) * size + place)
    if not count:
        return keys
    if count * size <= 8 * len(keys) + 10**6:
        often = np.bincount(keys[keys >= 0], minlength=count * size)[np.maximum(keys, 0)]
    else:
        _, inverse, counted = np.unique(keys, return_inverse=True, return_counts=True)
        often = counted[inverse]
    return np.where((keys >= 0) & (often == 1), keys, -1)


def _split(lengths: np.ndarray) -> tuple[int, np.ndarray]:
    """The least of (long rows + the longest of the others), and which rows are long."""
    order = np.argsort(-lengths, kind="stable")
    costs = np.arange(len(lengths) + 1) + np.append(lengths[order], 0)
    best = int(np.argmin(costs))
    return int(costs[best]), order[:best]


def _lengths(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1])


def _symmetric(matrix: Any, shapes) -> np.ndarray:
    """Colours of columns; dense ones have their own, and their rows are read across."""
    _, dense = _split(_lengths(matrix)[0])
    apart = _without(matrix, dense, dense) if len(dense) else matrix
    columns = colored(apart, shapes).copy()
    columns[dense] = columns.max(initial=-1) + 1 + np.arange(len(dense))
    _, numbered = np.unique(columns, return_inverse=True)
    return numbered.astype(np.int32)


def _cheapest(matrix: Any, mode: str, y_shapes, x_shapes) -> tuple[np.ndarray, np.ndarray]:
    """The colours of columns and rows of the way with the fewest products."""
    m, n = matrix.shape
    lengths = np.diff(matrix.indptr)
    if mode == "auto" and _is_even(matrix, lengths):
        columns = colored(matrix, x_shapes)
        if columns.max(initial=-1) + 1 == lengths.max(initial=0):
            return columns, _none(m)
    by_row, by_column = _lengths(matrix)
    long_rows, long_columns = _split(by_row), _split(by_column)
    ways = {
        "columns": (int(by_row.max(initial=0)), lambda: (colored(matrix, x_shapes), _none(m))),
        "rows": (int(by_column.max(initial=0)), lambda: (_none(n), colored(_turned(matrix), y_shapes))),
        "both": (min(long_rows[0], long_columns[0]), lambda: _both(matrix, long_rows, long_columns)),
    }
    if mode != "auto":
        return ways[mode][1]()
    best, fewest = None, np.inf
    for way in sorted(ways, key=lambda w: (ways[w][0] + (w == "both"), w)):  # by the fewest that it could take
        bound, color = ways[way]
        if bound + (way == "both") < fewest:  # two kinds of products cost one more to build
            found = color()
            count = sum(int(part.max(initial=-1)) + 1 for part in found)
            if count < fewest:
                best, fewest = found, count
    assert best is not None
    return best


def _is_even(matrix: Any, lengths: np.ndarray) -> bool:
    """Whether no way needs fewer products than the longest row has entries, seen from a part of the rows.

    Of rows or columns that long there are then as many, so that neither splitting off some nor going by rows helps.
    """
    bound = int(lengths.max(initial=0))
    some = matrix.indices[: matrix.indptr[min(matrix.shape[0], 100_000)]]
    in_some = np.bincount(some, minlength=1)
    return bool(min(np.count_nonzero(lengths == bound), np.count_nonzero(in_some >= bound)) >= bound)


def _both(matrix: Any, long_rows, long_columns) -> tuple[np.ndarray, np.ndarray]:
    """The long rows by rows and the rest by columns, or the long columns by columns and the rest by rows."""
    m, n = matrix.shape
    columns, rows = _none(n), _none(m)
    if long_rows[0] <= long_columns[0]:
        rows[long_rows[1]] = colored(_turned(matrix[long_rows[1]]))
        columns = colored(_without(matrix, long_rows[1], []))
    else:
        columns[long_columns[1]] = colored(sp.csr_array(matrix[:, long_columns[1]]))
        rows = colored(_turned(_without(matrix, [], long_columns[1])))
    return columns, rows


def _turned(matrix: Any) -> Any:
    return canonical(matrix.T)


def _without(matrix: Any, rows, columns) -> Any:
    """The pattern without the entries in these rows and columns."""
    keep_rows, keep_columns = (np.ones(size, bool) for size in matrix.shape)
    keep_rows[rows], keep_columns[columns] = False, False
    i = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keep = keep_rows[i] & keep_columns[matrix.indices]
    return sp.csr_array((np.ones(int(keep.sum()), bool), (i[keep], matrix.indices[keep])), matrix.shape)
