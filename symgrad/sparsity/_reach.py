"""Reach: on which elements of xs each element of a tensor may depend. Elements that depend on the same share a row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import PatternError

MAX_ENTRIES = 50_000_000


@dataclass(frozen=True, eq=False)
class Reach:
    """On which elements of all xs, flattened one after the other, each element of a tensor may depend.

    Attributes:
      ids: for each element (flattened) the number of its row.
      rows: boolean [number of rows, size of xs].
    """

    ids: np.ndarray
    rows: Any

    @classmethod
    def identity(cls, start: int, size: int, width: int) -> "Reach":
        """The reach of an x whose `size` elements have the numbers from `start` on, of `width`."""
        return cls(np.arange(size), sp.eye_array(size, width, k=start, dtype=bool, format="csr"))

    @property
    def size(self) -> int:
        """How many elements the tensor has."""
        return len(self.ids)

    @property
    def entries(self) -> int:
        """How many entries the pattern of the tensor has."""
        return int(np.diff(self.rows.indptr)[self.ids].sum())

    def take(self, index: np.ndarray) -> "Reach":
        """The reach of a tensor whose element k is element index[k] of this one; -1 stands for a constant."""
        if index.min(initial=0) >= 0:
            return Reach(self.ids[index], self.rows)
        count, width = self.rows.shape
        rows = sp.vstack([self.rows, sp.csr_array((1, width), dtype=bool)], format="csr")
        padded = np.append(self.ids, count)  # -1 reads the last
        return Reach(padded[index], rows)

    def through(self, local: Any) -> "Reach":
        """The reach behind an op with the boolean matrix `local`, [size of output, size of this]."""
        shape = local.shape[0], self.rows.shape[0]
        by_row = sp.csr_array((np.ones(local.nnz, bool), self.ids[local.indices], local.indptr), shape)
        return self._combined(by_row)

    def grouped(self, groups: np.ndarray, count: int) -> "Reach":
        """The reach of `count` elements, the number groups[k] of which depends on element k of this; -1 is dropped."""
        kept = groups >= 0
        pairs = groups[kept], self.ids[kept]
        return self._combined(sp.csr_array((np.ones(len(pairs[0]), bool), pairs), (count, self.rows.shape[0])))

    def _combined(self, by_row) -> "Reach":
        by_row.sum_duplicates()
        _refuse_large(int(np.diff(self.rows.indptr)[by_row.indices].sum()))
        return Reach(np.arange(by_row.shape[0]), (by_row @ self.rows).tocsr())

    def dense(self, size: int) -> "Reach":
        """Every one of `size` elements depends on all that this depends on."""
        return self.grouped(np.zeros(self.size, int), 1).take(np.zeros(size, int))

    def same(self, other: Any) -> bool:
        """Whether both say the same."""
        if not isinstance(other, Reach) or self.size != other.size or self.entries != other.entries:
            return False
        return self is other or (self.matrix() != other.matrix()).nnz == 0

    def __or__(self, other: "Reach") -> "Reach":
        if not isinstance(other, Reach):
            return NotImplemented
        if self is other or (self.rows is other.rows and np.array_equal(self.ids, other.ids)):
            return self
        a, b, ids = self.ids, other.ids, np.arange(self.size)
        if max(self.rows.shape[0], other.rows.shape[0]) * 2 < self.size:
            pairs, ids = np.unique(a.astype(np.int64) * other.rows.shape[0] + b, return_inverse=True)
            a, b = np.divmod(pairs, other.rows.shape[0])
        _refuse_large(int(np.diff(self.rows.indptr)[a].sum() + np.diff(other.rows.indptr)[b].sum()))
        return Reach(ids, (self.rows[a] + other.rows[b]).tocsr())

    def matrix(self) -> Any:
        """The pattern, boolean [size, size of xs]."""
        _refuse_large(self.entries)
        return self.rows[self.ids].tocsr()


def _refuse_large(entries: int) -> None:
    if entries > MAX_ENTRIES:
        raise PatternError(
            f"the pattern has up to {entries:,} entries, more than {MAX_ENTRIES:,}: this derivative is not sparse; use "
            "jacobian, Lop or Rop"
        )
