"""The terms of a truncated Taylor series, and which products of terms add to which.

Along curves x(t) a tensor u of the graph becomes u + sum_a u_a t^a. The terms are the multi-indices a, of one parameter
(a jet), of several (mixed derivatives) or of several that never mix (directions side by side). Many directions are
stacked: then a term is a tensor with one more dimension in front. The highest terms of all directions may be collapsed
into one, sum_r w_r u_(K,r), as it enters linearly wherever it goes.

Reference: A. Griewank, A. Walther (2008), Evaluating Derivatives, chapter 13.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from .._sizes import Count

Index = tuple[int, ...]


class Algebra:
    """The terms, by number, in an order in which no term is a product of a later one.

    Attributes:
      indices: the multi-index of each term but the collapsed one, which is the last.
      degrees: the degree of each term.
      counts: how many directions are stacked in each term; None: it is one tensor.
      stacks: whether there are stacks.
      weights: those of the directions in the collapsed term; empty if there is none.

    Args:
      indices: the multi-indices, closed: with one also all below it.
      count: of directions that are stacked.
      weights: of the directions; None: nothing is collapsed.
    """

    def __init__(self, indices: Iterable[Index], *, count: Count | None = None, weights: Sequence[float] | None = None):
        self.indices = sorted(indices, key=lambda a: (-sum(a), a), reverse=True)
        self.weights = [] if weights is None else [float(w) for w in weights]
        self.degrees = list(map(sum, self.indices))
        self.counts: list[Count | None] = [count] * len(self.indices)
        self.stacks = count is not None
        if weights is not None:
            self.degrees.append(max(self.degrees, default=0) + 1)
            self.counts.append(None)
        self.order = self.degrees[-1] if self.degrees else 0
        self._below: dict[int, Algebra] = {}
        self._numbers = {a: n for n, a in enumerate(self.indices)}

    @property
    def terms(self) -> range:
        """The numbers of the terms."""
        return range(len(self.counts))

    def number(self, index: Index) -> int:
        """The number of the term of a multi-index."""
        return self._numbers[index]

    def find(self, index: Index) -> int | None:
        """The same, None if there is no such term."""
        return self._numbers.get(index)

    def is_collapsed(self, term: int) -> bool:
        """True for the term that is a sum over the directions."""
        return term == len(self.indices)

    def unit(self, generator: int) -> Index:
        """The multi-index of one parameter."""
        return tuple(int(i == generator) for i in range(len(self.indices[0])))

    @functools.cached_property
    def _pairs(self) -> list[list[tuple[int, int, float]]]:
        found: list[list[tuple[int, int, float]]] = [[] for _ in self.terms]
        for a, left in self._numbers.items():
            for b, right in self._numbers.items():
                both = tuple(map(sum, zip(a, b, strict=True)))
                if both in self._numbers:
                    found[self._numbers[both]].append((left, right, 1.0))
                elif self.weights and sum(both) == self.order:
                    weight = self._weight(both)
                    if weight:
                        found[-1].append((left, right, weight))
        return found

    def _weight(self, index: Index) -> float:
        """With what weight a product of this multi-index enters the collapsed term."""
        (direction, *others) = (r for r, i in enumerate(index) if i)
        if others:
            return 0.0
        return 1.0 if self.stacks else self.weights[direction]

    def pairs(self, term: int) -> list[tuple[int, int, float]]:
        """The (a, b, weight) of which the products make the term; with (a, b) also (b, a)."""
        return self._pairs[term]

    def assignments(self, term: int, count: int) -> Iterator[tuple[tuple[int | None, ...], float]]:
        """The ways in which a product of `count` factors makes the term: the term of each factor (None: the value)."""
        if count == 1:
            yield (term,), 1.0
            return
        for rest, weight in self.assignments(term, count - 1):
            yield (None, *rest), weight
        yield (term, *[None] * (count - 1)), 1.0
        for a, b, weight in self.pairs(term):
            for rest, more in self.assignments(b, count - 1):
                yield (a, *rest), weight * more

    def below(self, generator: int) -> "Algebra":
        """The terms of a derivative along one of the parameters."""
        if generator not in self._below:
            self._below[generator] = self._found_below(generator)
        return self._below[generator]

    def _found_below(self, generator: int) -> "Algebra":
        unit = self.unit(generator)
        lower = [tuple(i - j for i, j in zip(a, unit, strict=True)) for a in self._numbers if a[generator]]
        if self.weights and self.weights[generator]:
            lower.append(tuple((self.order - 1) * i for i in unit))
        return Algebra(a for a in lower if any(a))

    def collapsed(self, stack: tf.Tensor) -> tf.Tensor:
        """sum_r w_r of what is stacked."""
        w = self.weights
        if len(set(w)) == 1:
            found = tf.reduce_sum(stack, 0)
            return found if w[0] == 1 else found * w[0]
        return tf.tensordot(tf.constant(w, stack.dtype), stack, [[0], [0]])


def along(order: int, *, count: Count | None = None) -> Algebra:
    """The terms 1 ... order along one direction, or along each of several that are stacked."""
    return Algebra(((k,) for k in range(1, order + 1)), count=count)


# Up to so many directions go side by side: the slices and broadcasts of stacks cost more than they save.
FEW = 4


def weighted(order: int, weights: Sequence[float], *, stacked: bool = True) -> Algebra:
    """The terms below `order` along each direction, and sum_r w_r of that order.

    Many directions are stacked, but where the graph takes no stacks.
    """
    count = len(weights)
    if stacked and count > FEW:
        return Algebra(((k,) for k in range(1, order)), count=count, weights=weights)
    units = np.eye(count, dtype=int)
    return Algebra((tuple((k * unit).tolist()) for unit in units for k in range(1, order)), weights=weights)


def closed(indices: Iterable[Index]) -> Algebra:
    """The terms of these multi-indices and of all below them."""
    found: set[Index] = set()
    for index in indices:
        found.update(tuple(map(int, a)) for a in np.ndindex(*(i + 1 for i in index)) if any(a))
    return Algebra(found)


def factorial(index: Index) -> int:
    """a! = a_1! a_2! ..."""
    return math.prod(map(math.factorial, index))
