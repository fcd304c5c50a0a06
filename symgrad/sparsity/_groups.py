"""Colours of the columns of a pattern: columns of one colour share no row, so that one product gives them all."""

import numpy as np
import scipy.sparse as sp

_MOST = 56  # colours whose bits an int64 can add up without overflow


def colored(pattern: sp.csr_array, shapes: tuple[tuple[int, ...], ...] = ()) -> np.ndarray:
    """A colour for each column of `pattern`, as few as were found.

    Args:
      pattern: boolean.
      shapes: of what the columns are the elements of; of one tensor, a lattice on it is tried.
    """
    size = pattern.shape[1]
    if pattern.nnz == 0:
        return np.zeros(size, np.int32)
    for shape in dict.fromkeys((*(shapes if len(shapes) == 1 else ()), (size,))):
        found = lattice(pattern, shape)
        if found is not None:
            return found
    bound = int(np.diff(pattern.indptr).max())
    best = greedy(pattern, np.arange(size))
    for order in (_largest_first, _smallest_last_by_length):
        if best.max() + 1 > bound:
            other = greedy(pattern, order(pattern))
            best = other if other.max() < best.max() else best
    return best


def right(pattern: sp.csr_array, colors: np.ndarray) -> bool:
    """True if no two columns of one colour share a row; colours are below 57."""
    bits = np.left_shift(np.int64(1), colors.astype(np.int64))[pattern.indices]
    starts = pattern.indptr[:-1][np.diff(pattern.indptr) > 0]
    if not len(starts):
        return True
    # The sum of powers of two is their union if, and only if, no two are the same.
    return bool(np.array_equal(np.add.reduceat(bits, starts), np.bitwise_or.reduceat(bits, starts)))


def lattice(pattern: sp.csr_array, shape: tuple[int, ...], slack: int = 2) -> np.ndarray | None:
    """Colours (sum_d m_d i_d) mod p by the places i_d in `shape`, or None.

    The longest row bounds the number of colours from below; p is tried from there up, and every try is verified on the
    whole pattern. Stencils are coloured so.
    """
    lengths = np.diff(pattern.indptr)
    bound = int(lengths.max(initial=0))
    if not 1 <= bound <= _MOST - slack:
        return None
    dims = [k for k, n in enumerate(shape) if n > 1]
    filled = np.flatnonzero(lengths)
    few = pattern[filled[:: max(1, len(filled) // 500)]].tocsr()
    for p in range(bound, bound + slack + 1):
        for number in range(min(p ** max(0, len(dims) - 1), 4096)):
            colors = _on_lattice(shape, dims, number, p)
            if right(few, colors) and right(pattern, colors):
                return colors
    return None


def _on_lattice(shape, dims, number: int, p: int) -> np.ndarray:
    """The colours whose factors are the digits of `number` to the base p; the last axis has the factor 1."""
    colors = np.zeros([1] * len(shape), np.int32)
    factor = 1
    for d in reversed(dims):
        along = (factor * np.arange(shape[d], dtype=np.int64) % p).astype(np.int32)
        colors = colors + along.reshape([-1 if k == d else 1 for k in range(len(shape))])
        number, factor = divmod(number, p)
    return np.broadcast_to(colors % p, shape).ravel()


def greedy(pattern: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """Each column in turn gets the first colour that no column sharing a row with it has (Curtis, Powell, Reid)."""
    try:
        # Compiled; private, so it may go.
        from scipy.optimize._numdiff import group_columns
    except ImportError:
        return greedy_in_python(pattern, order)
    return np.asarray(group_columns(sp.csc_matrix(pattern), order)).astype(np.int32)


def greedy_in_python(pattern: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """A colouring as `greedy` without the compiled code of SciPy."""
    columns = sp.csc_array(pattern)
    rows_of = np.split(columns.indices, columns.indptr[1:-1])
    taken: list[int] = [0] * pattern.shape[0]  # bit sets of the colours in each row
    colors = np.zeros(pattern.shape[1], np.int32)
    for j in order:
        used = 0
        for i in rows_of[j]:
            used |= taken[i]
        free = ~used & (used + 1)
        colors[j] = free.bit_length() - 1
        for i in rows_of[j]:
            taken[i] |= free
    return colors


def _largest_first(pattern: sp.csr_array) -> np.ndarray:
    """Columns by the sum of the lengths of their rows, a bound of how many others they meet."""
    return np.argsort(-_met(pattern), kind="stable")


def _smallest_last_by_length(pattern: sp.csr_array) -> np.ndarray:
    """Columns by the number of their entries, then by how many others they meet, the most first."""
    return np.lexsort((-_met(pattern), -np.bincount(pattern.indices, minlength=pattern.shape[1])))


def _met(pattern: sp.csr_array) -> np.ndarray:
    lengths = np.diff(pattern.indptr)
    weights = np.repeat(lengths, lengths).astype(float)
    return np.bincount(pattern.indices, weights, minlength=pattern.shape[1])
