"""K vectors at once, or one, through a part of a graph: pushed from xs to ys, or pulled back from ys to xs."""

import logging
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _vjp
from .._crossings import takes_stacked_tangents
from .._pfor import reason, strict_pfor
from .._problem import Problem
from .._sizes import Count
from .._tangents import push

_log = logging.getLogger("symgrad")

# How many vectors are stacked along a new first dimension; None for one vector that is not.
Stack = Count | None


class Push:
    """J V, V stacked tangents of xs.

    Attributes:
      stacks: whether many vectors can go at once.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self.stacks = takes_stacked_tangents(problem.between)

    def __call__(self, tangents: Sequence[tf.Tensor], count: Stack) -> list[tf.Tensor]:
        """For each y its tangents, stacked if `count` is given; zeros where no path leads."""
        found = push(self._problem.between, self._problem.ys, self._problem.tensors, list(tangents), count)
        return [_full(y, t, count) for y, t in zip(self._problem.ys, found, strict=True)]


class Pull:
    """V^T J, V stacked cotangents of ys.

    Attributes:
      stacks: whether many vectors can go at once.
      connected: for each x whether a path leads from it.
    """

    def __init__(self, problem: Problem):
        self._problem, between = problem, problem.between
        self.connected = list(between.connected)
        # TensorFlow's vectoriser enters no V1 loop or branch that exists.
        self.stacks = not (problem.crossings.v1 or problem.crossings.nested_v1_loops)

    def __call__(self, cotangents: Sequence[tf.Tensor], count: Stack) -> list[tf.Tensor]:
        """For each x its cotangents, stacked if `count` is given; zeros where no path leads."""
        # Made anew for each product: a session that has run the copies of V2 loops in it refuses their gradients.
        problem = self._problem
        pullback = _vjp.Pullback(problem.ys, problem.tensors, between=problem.between)

        def one(vectors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            found = pullback(vectors)
            return [x.zeros() if g is None else g for g, x in zip(found, problem.xs, strict=True)]

        if count is None:
            return one(cotangents)
        return strict_pfor(lambda k: one([tf.gather(c, k) for c in cotangents]), count)


def _full(y: tf.Tensor, tangent: tf.Tensor | None, count: Stack) -> tf.Tensor:
    if count is None:
        return tf.zeros_like(y) if tangent is None else tangent
    shape = tf.concat([[count], tf.shape(y)], 0)
    # A tangent that is the same for all vectors comes without the new dimension.
    return tf.zeros(shape, y.dtype.base_dtype) if tangent is None else tf.broadcast_to(tangent, shape)


def say_single(name: str, error: Exception) -> None:
    """Log that an operator goes one vector at a time."""
    _log.info("%s goes one vector at a time, since its product does not vectorise: %s", name, reason(error))
