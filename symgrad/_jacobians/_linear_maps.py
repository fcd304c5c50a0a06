"""Linear maps to be tabulated: what a unit vector is, and what becomes of it. Rows pull back, columns push forward."""

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _vjp
from .._crossings import bytes_on_the_way, crossed_loops, takes_stacked_tangents
from .._problem import Problem
from .._sizes import Count, stacked
from .._tangents import push
from ..errors import MissingRuleError, NotLinearError
from ._linear_end import linear_end
from ._mode import Decision

_log = logging.getLogger("symgrad")


@dataclass(frozen=True)
class Space:
    """The shape and dtype of the vectors on one side of a linear map.

    Attributes:
      dtype: of the elements.
      static: the shape as far as it is known.
      shape: the shape as an int32 tensor, a constant if it is known.
    """

    dtype: tf.DType
    static: tf.TensorShape
    shape: tf.Tensor

    @classmethod
    def of(cls, like: "tf.Tensor | _tensors.Input") -> "Space":
        """The space that the values of a tensor or of an x belong to."""
        static = tf.TensorShape(like.shape)
        if static.is_fully_defined():
            shape = tf.constant(static.as_list(), tf.int32)
        else:
            shape = tf.shape(like.value() if isinstance(like, _tensors.Input) else like)
        return cls(like.dtype.base_dtype, static, shape)

    @property
    def size(self) -> Count:
        """How many elements a vector has: a number if it is known."""
        known = self.static.num_elements()
        return tf.reduce_prod(self.shape) if known is None else known

    def zeros(self, leading: Count | None = None) -> tf.Tensor:
        """A zero vector, or that many of them."""
        static = self.static if leading is None else stacked(leading, self.static)
        shape = self.shape if leading is None else tf.concat([[leading], self.shape], 0)
        zeros = tf.zeros(static if static.is_fully_defined() else shape, self.dtype)
        zeros.set_shape(static)
        return zeros


@dataclass(frozen=True)
class LinearMap:
    """A linear map that is applied to the `count` vectors of a basis.

    Attributes:
      count: how many vectors the basis has: a number if it is known.
      seeds: from an int32 vector of indices to those vectors of the basis, stacked.
      apply: from one vector of the basis to the results, None for a result that no path leads to.
      targets: what the results look like.
      together: the same for many vectors, stacked, and their number; None: TensorFlow's vectoriser makes it of `apply`.
      in_frames: whether V1 loops or branches are on the way that no loop around them may enter.
      vectorisable: False where TensorFlow's vectoriser is known to go wrong.
      bytes_each: through V1 loops, where no trial tells: the bytes of what depends on one vector, 0 if not known.
    """

    count: Count
    seeds: Callable[[tf.Tensor], tf.Tensor]
    apply: Callable[[tf.Tensor], list["tf.Tensor | None"]]
    targets: Sequence[Space]
    together: Callable[[tf.Tensor, Count], list["tf.Tensor | None"]] | None = None
    in_frames: bool = False
    vectorisable: bool = True
    bytes_each: int = 0


Results = list["tf.Tensor | None"]


def unit_vectors(space: Space) -> Callable[[tf.Tensor], tf.Tensor]:
    """From indices to the unit vectors of `space` with these indices; an index past the end gives zeros."""

    def seeds(indices: tf.Tensor) -> tf.Tensor:
        vectors = tf.one_hot(indices, space.size, dtype=space.dtype)
        shape = tf.concat([tf.shape(indices), space.shape], 0)
        return _reshaped(vectors, shape, indices.shape.concatenate(space.static))

    return seeds


def units_for_all_examples(space: Space) -> tuple[Count, Callable[[tf.Tensor], tf.Tensor]]:
    """For a space of batches [B, ...]: the size of one example, and from indices to unit vectors repeated B times."""
    example = Space(space.dtype, space.static[1:], space.shape[1:])

    def seeds(indices: tf.Tensor) -> tf.Tensor:
        vectors = tf.one_hot(indices, example.size, dtype=space.dtype)
        repeated = tf.tile(vectors[:, tf.newaxis], tf.stack([1, space.shape[0], 1]))
        shape = tf.concat([tf.shape(indices), space.shape], 0)
        return _reshaped(repeated, shape, indices.shape.concatenate(space.static))

    return example.size, seeds


def split(flat: tf.Tensor, spaces: Sequence[Space], leading: Count | None = None) -> list[tf.Tensor]:
    """Vectors of several spaces that lie flattened one after the other; with `leading`, that many, stacked."""
    ends = list(itertools.accumulate(space.size for space in spaces))
    parts = []
    for (start, end), space in zip(itertools.pairwise([0, *ends]), spaces, strict=True):
        if leading is None:
            part, shape, static = flat[start:end], space.shape, space.static
        else:
            shape, static = tf.concat([[leading], space.shape], 0), stacked(leading, space.static)
            part = flat[:, start:end]
        parts.append(_reshaped(tf.cast(part, space.dtype), shape, static))
    return parts


def _reshaped(tensor: tf.Tensor, shape: tf.Tensor, static: tf.TensorShape) -> tf.Tensor:
    result = tf.reshape(tensor, static if static.is_fully_defined() else shape)
    result.set_shape(static)
    return result


def _pullback(problem: Problem, *, linear: bool = False) -> _vjp.Pullback:
    return _vjp.Pullback(problem.ys, problem.tensors, stop=problem.stop, between=problem.between, linear=linear)


def rehearse_rows(problem: Problem) -> None:
    """Refuse, before anything is built, what `Rows` refuse."""
    _rehearsal.backward(problem.between)


def rehearse_columns(problem: Problem) -> None:
    """Refuse, before anything is built, what `Columns` refuse."""
    (_rehearsal.forward if _goes_forward(problem) else _rehearsal.backward_twice)(problem.between)


def _goes_forward(problem: Problem) -> bool:
    """True if columns are pushed forward, and not pulled back twice."""
    return problem.crossings.v1 or problem.crossings.v2


class Rows:
    """Unit vectors of one y, pulled back to all xs: the rows of the Jacobian (for complex y their conjugates are)."""

    def __init__(self, problem: Problem):
        self.problem = problem
        rehearse_rows(problem)
        self._pullback = _pullback(problem)
        self.xs = [Space.of(x) for x in problem.xs]
        crossed = problem.crossings
        self._in_frames = crossed.v1
        # The vectoriser has nothing for V1 branches, and in a V1 loop inside of another, or in a loop of V2 beside one,
        # loses count without a word.
        mixed = crossed.v1 and crossed.v2
        self._vectorisable = not (crossed.v1_branches or mixed or crossed.nested_v1_loops)

    def on(self, k: int, count: Count, seeds: Callable[[tf.Tensor], tf.Tensor]) -> LinearMap:
        """The map from cotangents of y number k, which `seeds` gives, to the derivatives by all xs."""
        places = range(len(self.problem.ys))
        return self._map(count, seeds, lambda v: self._pullback([v if i == k else None for i in places]))

    def linear(self, k: int) -> LinearMap:
        """The map whose basis are the unit vectors of y number k, begun behind a linear last layer if there is one."""
        y = self.problem.ys[k]
        space, end = Space.of(y), linear_end(self.problem.between, y)
        if end is None:
            return self.on(k, space.size, unit_vectors(space))
        pull = _pullback(self.problem.part(ys=[end.start]))
        return self._map(space.size, end.seeds, lambda v: pull([v]))

    def in_one_loop(self) -> bool:
        """True if all ys, of one dtype, are computed by the same loops: these go backward once for all of them."""
        ys = self.problem.ys
        if len(ys) == 1 or not crossed_loops(self.problem.between):
            return False
        loops = [crossed_loops(self.problem.part(ys=[y]).between) for y in ys]
        alike = all(y.dtype.base_dtype == ys[0].dtype.base_dtype for y in ys)
        return alike and bool(loops[0]) and all(found == loops[0] for found in loops)

    def joint(self) -> tuple[LinearMap, list[Count]]:
        """The map whose basis are the unit vectors of all ys, one y after the other, and where that of each y ends."""
        ends = list(itertools.accumulate(Space.of(y).size for y in self.problem.ys))
        static = tf.TensorShape([ends[-1] if isinstance(ends[-1], int) else None])
        whole = Space(self.problem.ys[0].dtype.base_dtype, static, tf.reshape(ends[-1], [1]))
        return self.flat(ends[-1], unit_vectors(whole)), ends

    def flat(self, count: Count, seeds: Callable[[tf.Tensor], tf.Tensor]) -> LinearMap:
        """The map from cotangents of all ys, flattened one after the other, to the derivatives by all xs."""
        spaces = [Space.of(y) for y in self.problem.ys]
        return self._map(count, seeds, lambda cotangent: self._pullback(split(cotangent, spaces)))

    def _map(self, count, seeds, pull) -> LinearMap:
        frames = self._in_frames, self._vectorisable, bytes_on_the_way(self.problem.between) if self._in_frames else 0
        return LinearMap(count, seeds, lambda v: _conjugated(pull(v)), self.xs, None, *frames)


def _conjugated(found: Sequence["tf.Tensor | None"]) -> list["tf.Tensor | None"]:
    return [None if g is None else tf.math.conj(g) for g in found]


class Columns:
    """Unit vectors of one x, pushed forward to all ys: the columns of the Jacobian.

    By two reverse passes: g(u) = J^T u is built once, outside of any loop, and each column is one more pass through it.
    The dummy u is made of ones: zeros turn the gradients of a norm and of a cumulative logsumexp into 0/0. Through
    loops and branches tangents are pushed op by op instead, many at once: they keep nothing of the iterations that are
    over, and V1 loops TensorFlow does not differentiate twice.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        rehearse_columns(problem)
        self.ys, self._of_xs = [Space.of(y) for y in problem.ys], [Space.of(x) for x in problem.xs]
        self._in_frames = problem.crossings.v1
        self._forward = _goes_forward(problem)
        if not self._forward:
            self._dummies = [tf.ones_like(y, name="dummy") for y in problem.ys]
            self._pulled = _pullback(problem, linear=True)(self._dummies)

    def on(self, i: int, count: Count, seeds: Callable[[tf.Tensor], tf.Tensor]) -> LinearMap | None:
        """The map from tangents of x number i, which `seeds` gives, to those of all ys; None if no y depends on it."""
        if self._forward:
            return self._pushing([i], count, seeds, lambda tangents, number: [tangents])
        if self._pulled[i] is None:
            return None
        pull = _vjp.Pullback([self._pulled[i]], self._dummies)
        return LinearMap(count, seeds, lambda tangent: pull([tangent]), self.ys)

    def flat(self, count: Count, seeds: Callable[[tf.Tensor], tf.Tensor]) -> LinearMap | None:
        """The map from tangents of all xs, flattened one after the other, to those of all ys; None if none depends."""
        if self._forward:
            places = range(len(self.problem.xs))
            return self._pushing(places, count, seeds, lambda v, number: split(v, self._of_xs, number))
        there = [i for i, pulled in enumerate(self._pulled) if pulled is not None]
        if not there:
            return None
        pull = _vjp.Pullback([self._pulled[i] for i in there], self._dummies)

        def push_all(tangents):
            found = split(tangents, self._of_xs)
            return pull([found[i] for i in there])

        return LinearMap(count, seeds, push_all, self.ys)

    def _pushing(self, places: Sequence[int], count: Count, seeds, parts) -> LinearMap | None:
        problem = self.problem
        if len(places) < len(problem.xs):
            problem = problem.part(xs=[problem.xs[i] for i in places])
        between = problem.between
        if not any(between.connected):
            return None

        def pushed(tangents, number=None):
            return push(between, problem.ys, problem.tensors, parts(tangents, number), number)

        together = pushed if takes_stacked_tangents(between) else None
        size = bytes_on_the_way(between) if self._in_frames else 0
        return LinearMap(count, seeds, pushed, self.ys, together, self._in_frames, together is not None, size)


def maps_of(decision: Decision, problem: Problem) -> Rows | Columns:
    """What computes the Jacobian: rows, too, where columns were not asked for and an op has no second derivative."""
    if decision.mode == "columns":
        try:
            return Columns(problem)
        except (MissingRuleError, NotLinearError) as error:
            if decision.asked:
                raise
            _log.info("the Jacobian of %s goes by rows, since columns cannot be had: %s", problem.ys[0].name, error)
    return Rows(problem)
