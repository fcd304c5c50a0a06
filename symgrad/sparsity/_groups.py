"""Colours of the columns of a pattern: columns of one colour share no row, so that one product gives them all."""

import functools

import numpy as np
import scipy.sparse as sp

MOST = 56  # colours whose bits an int64 can add up without overflow


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
    lengths = np.diff(pattern.indptr)
    # Sums stay below 2**31 here: half the memory to go through.
    wide = np.int32 if colors.max(initial=0) < 24 and lengths.max(initial=0) < 128 else np.int64
    bits = np.left_shift(wide(1), colors.astype(wide))[pattern.indices]
    filled = lengths > 0
    if not filled.any():
        return True
    # k powers of two add up to a number with k ones if, and only if, no two are the same.
    sums = np.add.reduceat(bits, pattern.indptr[:-1][filled], dtype=wide)
    return bool(np.array_equal(_ones(sums), lengths[filled]))


_ONES = np.array([bin(k).count("1") for k in range(1 << 16)], np.uint8)


def _ones(numbers: np.ndarray) -> np.ndarray:
    """How many ones each number has to the base two."""
    halves = numbers.view(np.uint16).reshape(len(numbers), -1)
    return functools.reduce(np.add, (_ONES[halves[:, k]] for k in range(halves.shape[1])))


def lattice(pattern: sp.csr_array, shape: tuple[int, ...], slack: int = 2) -> np.ndarray | None:
    """Colours (sum_d m_d i_d) mod p by the places i_d in `shape`, or None.

    The longest row bounds the number of colours from below; p is tried from there up, and every try is verified on the
    whole pattern. Stencils are coloured so.
    """
    lengths = np.diff(pattern.indptr)
    bound = int(lengths.max(initial=0))
    if not 1 <= bound <= MOST - slack:
        return None
    dims = [k for k, n in enumerate(shape) if n > 1]
    filled = np.flatnonzero(lengths)
    few = pattern[filled[:: max(1, len(filled) // 500)]].tocsr()
    seen, where = np.unique(few.indices, return_inverse=True)  # a small pattern of the columns in these rows
    few = sp.csr_array((few.data, where, few.indptr), (few.shape[0], len(seen)))
    at = np.unravel_index(seen, shape)
    for p in range(bound, bound + slack + 1):
        for number in range(min(p ** max(0, len(dims) - 1), 4096)):
            factors = _factors(dims, number, p)
            here = functools.reduce(np.add, (m * at[d] for d, m in factors), np.zeros(len(seen), np.int64)) % p
            if right(few, here.astype(np.int32)):
                colors = _on_lattice(shape, factors, p)
                if right(pattern, colors):
                    return colors
    return None


def _factors(dims, number: int, p: int) -> list[tuple[int, int]]:
    """For each axis its factor: the digits of `number` to the base p; the last axis has the factor 1."""
    found, factor = [], 1
    for d in reversed(dims):
        found.append((d, factor))
        number, factor = divmod(number, p)
    return found


def _on_lattice(shape, factors, p: int) -> np.ndarray:
    """The colours of all places of `shape`."""
    colors = np.zeros([1] * len(shape), np.int32)
    for d, factor in factors:
        along = (factor * np.arange(shape[d], dtype=np.int64) % p).astype(np.int32)
        colors = colors + along.reshape([-1 if k == d else 1 for k in range(len(shape))])
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
