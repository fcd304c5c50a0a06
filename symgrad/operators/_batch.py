"""Jacobians of each example of a batch."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors
from .._jacobians import _limits
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_maps import Rows, Space, maps_of, units_for_all_examples
from .._jacobians._mode import Mode, check_mode, decide
from .._jacobians._sizing import check_block_size
from .._jacobians._sweep import sweep
from .._keywords import operator
from .._problem import Disconnected, Problem, posed
from ..errors import ShapeError
from . import _disconnected


@operator
def batch_jacobian(
    y: Any,
    x: Any,
    *,
    mode: Mode = "auto",
    block_size: int | None = None,
    disconnected: Disconnected = "raise",
    name: str = "batch_jacobian",
) -> Any:
    """The Jacobian of each example of a batch: dy[b]/dx[b], where y[b] depends on x[b] and on no other example.

    One Lop serves the same output of all examples, so the cost is that of as many Lops as one example has outputs.
    Where examples influence each other (batch normalisation in training) the result is the sum over the batch,
    d(sum_c y[c])/dx[b] by rows, which is no Jacobian of one example.

    Args:
      y: tensor [B, ...].
      x: tensor [B, ...], or a variable of that shape.
      mode: "rows", one Lop for each output of an example; "columns", one Rop for each input of an example; "auto".
      block_size: how many outputs or inputs are vectorised at a time, as for `jacobian`.
      disconnected: what to give if y does not depend on x: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      Tensor [B] + y.shape[1:] + x.shape[1:].

    Raises:
      ShapeError: y or x is a scalar, or their first dimensions differ; the result would be too large.
      DisconnectedError, MissingRuleError, DtypeError, GraphMismatchError, ControlFlowError: as for `jacobian`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> run(symgrad.batch_jacobian(x ** 2, x))
      array([[[2., 0.],
              [0., 4.]],
      <BLANKLINE>
             [[6., 0.],
              [0., 8.]]], dtype=float32)
    """
    check_mode(mode)
    check_block_size(block_size)
    with posed(y, x, disconnected=disconnected, name=name) as problem:
        if len(problem.ys) != 1 or len(problem.xs) != 1:
            raise ShapeError("batch_jacobian takes one y and one x; call it for each pair, or use jacobian")
        (out,), (into,) = problem.ys, problem.xs
        static = _batched_shape(out, into)
        _limits.check_result(static, out.dtype, f"the batch Jacobian of {out.name} by {into.label}")
        check_holomorphic(problem)
        result = _tabulated(problem, mode, block_size)
        if result is None:
            _disconnected.for_inputs([None], problem, "raise" if disconnected == "raise" else "none")
            return None if disconnected == "none" else _in_shape(None, problem, static)
        return _in_shape(result, problem, static)


def _batched_shape(y: tf.Tensor, x: _tensors.Input) -> tf.TensorShape:
    """The shape of the result; checks that both have a batch and the same one."""
    for what, shape in ((y.name, y.shape), (x.label, x.shape)):
        if shape.rank is None:
            raise ShapeError(f"{what} has unknown rank; call set_shape on it, its first dimension is the batch")
        if shape.rank == 0:
            raise ShapeError(f"{what} is a scalar; wanted a shape [B, ...] with the batch first")
    if not y.shape[:1].is_compatible_with(x.shape[:1]):
        raise ShapeError(f"{y.name} has shape {y.shape} and {x.label} {x.shape}: their first dimensions must be equal")
    return y.shape[:1].merge_with(x.shape[:1]).concatenate(y.shape[1:]).concatenate(x.shape[1:])


def _tabulated(problem: Problem, mode: str, block_size: int | None) -> tf.Tensor | None:
    """The result as [B, outputs of an example, inputs of an example], None without a path."""
    (y,), (x,) = problem.ys, problem.xs
    maps = maps_of(decide(mode, problem, through=False), problem)
    by_rows = isinstance(maps, Rows)
    source, target = (y, x) if by_rows else (x, y)
    count, seeds = units_for_all_examples(Space.of(source))
    linear = maps.on(0, count, seeds)
    if linear is None:
        return None
    (found,) = sweep(linear, block_size, f"the batch Jacobian of {y.name} by {'rows' if by_rows else 'columns'}")
    if found is None:
        return None
    batch = Space.of(target).shape[0]
    found = tf.reshape(found, tf.stack([count, batch, -1]) if _nonempty(target) else [0, 0, 0])
    return tf.transpose(found, [1, 0, 2] if by_rows else [1, 2, 0])


def _nonempty(like: Any) -> bool:
    return tf.TensorShape(like.shape).num_elements() != 0


def _in_shape(found: tf.Tensor | None, problem: Problem, static: tf.TensorShape) -> tf.Tensor:
    of_y, of_x = Space.of(problem.ys[0]), Space.of(problem.xs[0])
    whole = Space(of_y.dtype, static, tf.concat([of_y.shape, of_x.shape[1:]], 0))
    if found is None or static.num_elements() == 0:
        return whole.zeros()
    result = tf.reshape(found, static if static.is_fully_defined() else whole.shape)
    result.set_shape(static)
    return result
