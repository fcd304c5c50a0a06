"""Which inputs each result of a linear map is made of, found by applying it to numbers.

No entry is lost but where random numbers agree by chance to 9 digits: what is found must also explain what the map
makes of a random vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

_SMALL = 256  # up to so many inputs each is tried alone
ALONE = 4096  # the same where nothing else tells them apart
_CLOSE = 1e-9


@dataclass(frozen=True)
class Map:
    """A linear map of flat vectors.

    Attributes:
      apply: from a vector to the result.
      size: the length of vectors.
      out: the length of results.
    """

    apply: Callable[[np.ndarray], np.ndarray]
    size: int
    out: int


def additive(linear: Map, rng: np.random.Generator, close: float = _CLOSE) -> bool:
    """Whether apply(a) + apply(b) is apply(a + b), and finite.

    A derivative is linear, and some gradient functions make it of ops that are not (logarithms of the parts).
    """
    a, b = rng.standard_normal((2, linear.size))
    with np.errstate(invalid="ignore", over="ignore"):
        one, two, both = linear.apply(a), linear.apply(b), linear.apply(a + b)
        return bool(np.all(np.abs(one + two - both) <= close * (np.abs(one) + np.abs(two) + 1e-3)))


def picked(linear: Map, rng: np.random.Generator) -> np.ndarray | None:
    """For each result the one element of the input that it is a multiple of, -1 for none; None if some are sums.

    apply(1..n) / apply(1) is the number of that element, and apply(random) must agree.
    """
    apply, size = linear.apply, linear.size
    if size == 0:
        return np.full(linear.out, -1)
    numbers = rng.uniform(1, 2, size)
    found = apply(np.ones(size)), apply(np.arange(1.0, size + 1)), apply(numbers)
    index, alone = _alone(*found, numbers)
    empty = (found[0] == 0) & (found[1] == 0) & (found[2] == 0)
    return np.where(empty, -1, index) if np.all(alone | empty) else None


def _alone(scale, sums, check, numbers) -> tuple[np.ndarray, np.ndarray]:
    """The element that each result is a multiple of, and whether it is of one alone."""
    safe = np.where(scale == 0, 1, scale)
    found = np.real(sums / safe)
    inside = (scale != 0) & (found > 0.5) & (found < len(numbers) + 0.5)
    index = np.rint(np.where(inside, found, 1)).astype(np.int64) - 1
    alone = inside & (np.abs(sums - (index + 1) * scale) <= _CLOSE * np.abs(scale) * (index + 1))
    return index, alone & (np.abs(check - numbers[index] * scale) <= _CLOSE * np.abs(scale))


def told_apart(linear: Map, rng: np.random.Generator) -> sp.csr_array | None:
    """The pattern of a map, boolean [out, size]; None if it is large, and its rows too long to be told apart."""
    found = None if linear.size <= _SMALL else _in_buckets(linear, rng)
    return one_by_one(linear) if found is None and linear.size <= ALONE else found


def one_by_one(linear: Map) -> sp.csr_array:
    """The pattern of a map, from its results for the unit vectors."""
    columns = [np.flatnonzero(linear.apply(np.eye(1, linear.size, k)[0])) for k in range(linear.size)]
    rows = np.concatenate(columns) if columns else np.zeros(0, int)
    places = rows, np.repeat(np.arange(linear.size), [len(c) for c in columns])
    return sp.csr_array((np.ones(len(rows), bool), places), (linear.out, linear.size))


def _in_buckets(linear: Map, rng, largest: int = 32, rounds: int = 40) -> sp.csr_array | None:
    """Elements are put in random buckets until each was alone in one."""
    apply, size, out = linear.apply, linear.size, linear.out
    numbers = rng.uniform(1, 2, size)
    target = apply(numbers)
    found = sp.csr_array((out, size), dtype=target.dtype)
    buckets = 8
    for turn in range(rounds):
        fresh = _one_round(apply, rng.integers(buckets, size=size), buckets, numbers, out)
        found = (found + fresh - fresh.multiply(found != 0)).tocsr()
        if np.all(np.abs(target - found @ numbers) <= _CLOSE * np.abs(target)):
            found.eliminate_zeros()
            return (found != 0).tocsr()
        if turn % 8 == 7:
            buckets *= 2
            if buckets > largest:
                return None
    return None


def _one_round(apply, place: np.ndarray, buckets: int, numbers: np.ndarray, out: int) -> sp.csr_array:
    parts = []
    for b in range(buckets):
        inside = place == b
        vectors = inside * 1.0, inside * np.arange(1.0, len(place) + 1), inside * numbers
        scale, sums, check = (apply(v) for v in vectors)
        index, alone = _alone(scale, sums, check, numbers)
        rows = np.flatnonzero(alone & inside[index])
        parts.append((scale[rows], rows, index[rows]))
    values, rows, columns = (np.concatenate(p) for p in zip(*parts, strict=True))
    return sp.csr_array((values, (rows, columns)), (out, len(place)))
