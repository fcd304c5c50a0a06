"""Fields: functions y[n] of points x[n], as residuals of differential equations have them."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _rehearsal, _sizes, _tensors
from .._crossings import takes_stacked_tangents
from .._jacobians._holomorphic import check_holomorphic
from .._problem import Problem, posed
from .._tangents import Algebra, Index, Push, factorial, pushed
from ..errors import ShapeError
from . import _disconnected, _mixing


@contextlib.contextmanager
def fields_at(y: Any, x: Any, given: Any = None, *, disconnected: str, name: str) -> Iterator["Fields"]:
    """The checked arguments of an operator on fields; inside the block ops go to the graph of y, under `name`.

    Args:
      y: tensor [N, ...] or structure of them.
      x: tensor [N, d], or a list of columns [N, 1].
      given: tensors that are used besides.
      disconnected: what to give for a y that depends on no coordinate: "raise", "zero" or "none".
      name: scope of the new ops.
    """
    with posed(y, x, disconnected=disconnected, name=name, vectors=given) as problem:
        widths = _checked(problem)
        if disconnected == "raise":
            reached = zip(problem.ys, problem.between.reached, strict=True)
            _disconnected.for_outputs([y if r else None for y, r in reached], problem, disconnected)
        check_holomorphic(problem)
        _mixing.warn(problem.between, problem.tensors, name)
        yield Fields(problem, widths, disconnected)


def _checked(problem: Problem) -> list[int]:
    """The number of coordinates in each x; checks that all have the same points."""
    widths = [_width(x) for x in problem.xs]
    first = problem.xs[0]
    points = first.shape[:1]
    for label, shape in [(x.label, x.shape) for x in problem.xs] + [(y.name, y.shape) for y in problem.ys]:
        if shape.rank is None or shape.rank == 0:
            raise ShapeError(f"{label} has the shape {shape}; wanted [N, ...] with the points first")
        if not shape[:1].is_compatible_with(points):
            raise ShapeError(
                f"{label} has the shape {shape} and {first.label} {first.shape}: their first dimensions, the points, "
                "must be equal"
            )
        points = points.merge_with(shape[:1])
    return widths


class Fields:
    """Functions ys of points.

    Attributes:
      ys: the fields.
      xs: what the coordinates are in.
      dimension: the number of coordinates.
    """

    def __init__(self, problem: Problem, widths: Sequence[int], disconnected: str):
        self.ys, self.xs = problem.ys, problem.xs
        self.dimension = sum(widths)
        self._problem = problem
        self._widths = widths
        self._disconnected = disconnected

    def rehearse(self, order: int) -> None:
        """Refuse, before anything is built, what series of this order would be refused for."""
        _rehearsal.series(self._problem.between, order)

    @property
    def takes_stacks(self) -> bool:
        """Whether many directions can be pushed as one tensor."""
        return takes_stacked_tangents(self._problem.between)

    def push(self, algebra: Algebra, directions: Any) -> list[Push]:
        """The terms of ys, when the points move along directions.

        Args:
          algebra: the terms; a direction is that of one parameter, or one of a stack.
          directions: array or tensor [R, d], the same for all points, or tensor [R, N, d].
        """
        given: list[dict[int, tf.Tensor]] = [{} for _ in self.xs]
        end = 0
        for terms, x, width in zip(given, self.xs, self._widths, strict=True):
            start, end = end, end + width
            part = directions[..., start:end]
            if algebra.stacks:
                seed = tf.convert_to_tensor(_cast(part, x.dtype))
                terms[0] = self._of_variable(x, seed if seed.shape.rank == 3 else seed[:, tf.newaxis], stacked=True)
                continue
            for r in range(len(algebra.indices[0])):
                if not isinstance(part, np.ndarray) or part[r].any():
                    seed = tf.convert_to_tensor(_cast(part[r], x.dtype))
                    seed = seed if seed.shape.rank == 2 else seed[tf.newaxis]
                    terms[algebra.number(algebra.unit(r))] = self._of_variable(x, seed, stacked=False)
        return pushed(self._problem.between, self.ys, self._problem.tensors, given, algebra).pushes

    def _of_variable(self, x: _tensors.Input, seed: tf.Tensor, *, stacked: bool) -> tf.Tensor:
        """A direction, for a variable in its whole shape, which its handle does not tell."""
        if x.tensor.dtype != tf.resource:
            return seed
        shape = tf.shape(x.value())
        return tf.broadcast_to(seed, tf.concat([tf.shape(seed)[:1], shape], 0) if stacked else shape)

    def derivative(self, push: Push, y: tf.Tensor, index: Index) -> tf.Tensor | None:
        """The derivative of a multi-index from its coefficient; None where y depends on nothing."""
        return self.scaled(push, y, float(factorial(index)))

    def scaled(self, push: Push, y: tf.Tensor, scale: float) -> Any:
        """A coefficient of y times a number; zeros where it is zero by the structure of the graph."""
        found = push.result(y)
        if found is None:
            reached = self._problem.between.reached[[id(t) for t in self.ys].index(id(y))]
            return push.zeros(y) if reached or self._disconnected == "zero" else None
        if push.count is None:
            found.set_shape(y.shape)
        return found if scale == 1 else found * scale


def _width(x: _tensors.Input) -> int:
    width = _sizes.known_along(x.shape, 1) if x.shape.rank == 2 else None
    if width is None:
        raise ShapeError(
            f"{x.label} has the shape {x.shape}; wanted points [N, d] with d known, or a list of columns [N, 1]"
        )
    return width


def _cast(part: Any, dtype: tf.DType) -> Any:
    return part.astype(dtype.as_numpy_dtype) if isinstance(part, np.ndarray) else part


def directions_of(given: Any, like: _tensors.Input, dimension: int, label: str) -> Any:
    """Directions as an array [R, d], or as a tensor [R, d] or [R, N, d] where they are computed.

    Raises:
      ShapeError: they have another shape, or their number is not known.
    """
    if not tf.is_tensor(given):
        array = np.asarray(given, like.dtype.as_numpy_dtype)
        if array.ndim in (2, 3) and array.shape[-1] == dimension and len(array):
            return array
        raise ShapeError(f"{label} has the shape {array.shape}; wanted [R, {dimension}] or [R, N, {dimension}]")
    shape = given.shape
    good = shape.rank in (2, 3) and _sizes.known_along(shape, 0) and _sizes.known_along(shape, -1) == dimension
    if not good or given.dtype.base_dtype != like.dtype:
        raise ShapeError(
            f"{label} is {given.dtype.base_dtype.name} of the shape {shape}; wanted {like.dtype.name} "
            f"[R, {dimension}] or [R, N, {dimension}], R known"
        )
    return given


def columns(fields: Sequence[tf.Tensor], dimension: int, name: str) -> list[tuple[tf.Tensor, int]]:
    """The components of a vector field: for each the tensor and its column there.

    Raises:
      ShapeError: they are not as many as the coordinates.
    """
    found: list[tuple[tf.Tensor, int]] = []
    for y in fields:
        width = _sizes.known_along(y.shape, 1) if y.shape.rank == 2 else None
        found.extend((y, i) for i in range(width or 0))
    if len(found) != dimension or any(y.shape.rank != 2 for y in fields):
        shapes = ", ".join(str(y.shape) for y in fields)
        raise ShapeError(
            f"{name} of a field of the shape {shapes} at points of {dimension} coordinates; wanted as many components "
            f"as coordinates: [N, {dimension}], or a list of columns [N, 1]"
        )
    return found
