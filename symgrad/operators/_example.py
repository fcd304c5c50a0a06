"""Jacobians of the outputs of each example by weights that all of them share."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _vjp, rules
from .._jacobians import _limits
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_maps import LinearMap, Space
from .._jacobians._one_example import Examples
from .._jacobians._sweep import sweep
from .._jacobians._tabulate import block, tabulate
from .._keywords import operator
from .._problem import Disconnected, Problem, posed
from .._sizes import known_sizes
from ..errors import DisconnectedError, DtypeError, ShapeError
from . import _disconnected

_log = logging.getLogger("symgrad")


@operator
def example_jacobian(
    y: Any, xs: Any, *, rows: Any, disconnected: Disconnected = "raise", name: str = "example_jacobian"
) -> Any:
    """The Jacobian of the outputs of each example by what all examples share, such as weights: dy[b]/dx.

    The numbers of `jacobian(y, xs)`, whose every row goes through the whole batch. Here each goes through its own
    example alone, so that all of them cost a few gradients. A run stops where y[b] is not what row b alone gives.

    Args:
      y: tensor [B, ...], y[b] a function of row b of `rows` and of xs.
      xs: tensor, variable or structure of them x_i, not computed from the rows.
      rows: tensor or structure of all tensors [B, ...] with a row for each example, of any dtype: inputs, targets,
        weights. Where y holds gradients, B must be unknown while they are built (a placeholder [None, ...]).
      disconnected: what to give for an x that y does not depend on: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      Structure like `xs`: tensors [B] + y.shape[1:] + x_i.shape.

    Raises:
      ShapeError: an op couples the examples, such as batch norm in training; a tensor with a row for each example is
        left out of `rows`, or the graph keeps the number of examples; the result would be too large.
      DisconnectedError: y does not depend on some x_i, or on no row.
      DtypeError, MissingRuleError, GraphMismatchError, ControlFlowError: as for `jacobian`.

    Example:
      >>> x, w = tf.constant([[1., 2.], [3., 4.]]), tf.constant([1., 1.])
      >>> run(symgrad.example_jacobian(tf.reduce_sum(x * w, 1) ** 2, w, rows=x))
      array([[ 6., 12.],
             [42., 56.]], dtype=float32)
    """
    with posed(y, xs, disconnected=disconnected, name=name) as problem:
        if len(problem.ys) != 1:
            raise ShapeError("example_jacobian takes one y; call it for each, or use jacobian")
        (out,) = problem.ys
        examples = Examples(out, _rows(rows, out.graph))
        _refuse_batches_as_xs(examples, rows, problem)
        for x in problem.xs:
            _limits.check_result(out.shape.concatenate(x.shape), out.dtype, f"the Jacobian of {out.name} by {x.label}")
        between = problem.between
        _disconnected.for_paths(problem, disconnected)
        check_holomorphic(problem)
        if examples.in_v1_control_flow or problem.crossings.v1:
            _log.info(
                "the Jacobian of %s goes through the whole batch for each row: it crosses V1 control flow", out.name
            )
            (found,) = tabulate(problem, mode="auto", block_size=None)
        else:
            found = _by_examples(out, problem.xs, examples)
        if disconnected == "none":
            found = [f if connected else None for f, connected in zip(found, between.connected, strict=True)]
        return _tensors.pack(xs, found)


def _rows(rows: Any, graph: tf.Graph) -> list[tf.Tensor]:
    given = [x.given for x in _tensors.inputs(rows, graph, any_dtype=True)]
    for row in given:
        if _tensors.is_variable(row):
            raise DtypeError(f"rows has the variable {row.name}; wanted the tensor that is read from it")
        if row.graph is not graph:
            raise ShapeError(
                f"rows has {row.name} of a graph around the function in which y is; pass it as an argument"
            )
    return given


def _refuse_batches_as_xs(examples: Examples, rows: Any, problem: Problem) -> None:
    """Raise for an x that is computed from the rows, and for rows that are computed from an x."""
    for x in problem.xs:
        if not _tensors.is_variable(x.given) and examples.depends(x.given):
            raise ShapeError(
                f"{x.label} is computed from rows; wanted what examples share (see symgrad.batch_jacobian)"
            )
    ends = [t for t in _tensors.flatten(rows) if _tensors.is_floating(t)]
    if ends and any(rules.between(ends, problem.tensors).reached):
        raise ShapeError("rows are computed from xs, so that a way to y would be left out; give what they are made of")


def _by_examples(y: tf.Tensor, xs: Sequence[_tensors.Input], examples: Examples) -> list[tf.Tensor]:
    """dy/dx for each x, the rows of each example through a copy of it."""
    examples.try_one()
    space = Space.of(y)
    example = Space(space.dtype, space.static[1:], space.shape[1:])
    last = space.size - 1
    indices = examples.complete(tf.range(space.shape[0]))

    def one(k: tf.Tensor) -> list[tf.Tensor | None]:
        of_example = examples.at(tf.gather(indices, k // example.size)[tf.newaxis])
        shape = [1, *known_sizes(example.static)] if example.static.is_fully_defined() else None
        of_example = tf.reshape(of_example, tf.concat([[1], example.shape], 0) if shape is None else shape)
        chosen = tf.reshape(tf.one_hot(k % example.size, example.size, dtype=y.dtype), tf.shape(of_example))
        chosen.set_shape(of_example.shape)
        found = _vjp.vjp([of_example], [x.tensor for x in xs], [chosen])
        return [*(None if g is None else tf.math.conj(g) for g in found), tf.reduce_sum(of_example * chosen)]

    targets = [*map(Space.of, xs), Space(space.dtype, tf.TensorShape([]), tf.zeros([0], tf.int32))]
    # Blocks are filled up past the end.
    linear = LinearMap(space.size, lambda k: tf.maximum(tf.minimum(k, last), 0), one, targets)
    *found, values = sweep(linear, None, f"the Jacobian of the examples of {y.name}")
    if values is None:
        raise DisconnectedError(f"{y.name} has no examples")
    check = _same(y, values, found, xs)
    with tf.control_dependencies([check]):
        return [
            block(space, Space.of(x), None if f is None else tf.identity(f)) for x, f in zip(xs, found, strict=True)
        ]


def _same(
    y: tf.Tensor, values: tf.Tensor, found: Sequence[tf.Tensor | None], xs: Sequence[_tensors.Input]
) -> tf.Operation:
    """An op that stops the run where y is not what its rows give: then something couples the examples.

    The two may differ by rounding: by what a relative change of xs by the root of the smallest one makes of y.
    """
    moves = [
        tf.reduce_sum(tf.abs(tf.reshape(f, tf.stack([tf.size(y), -1])) * tf.reshape(x.value(), [1, -1])), 1)
        for x, f in zip(xs, found, strict=True)
        if f is not None
    ]
    scale = tf.add_n([*moves, tf.abs(values)])
    gap = tf.abs(values - tf.reshape(y, [-1]))
    epsilon = 0.1 if gap.dtype == tf.bfloat16 else np.sqrt(np.finfo(gap.dtype.as_numpy_dtype).eps)
    said = (
        f"example_jacobian: {y.name} is not what its rows give one by one, by the share in front of this; something "
        "couples the examples (batch norm in training, a sum or sort over the batch), or rows are in another order. "
        "Take symgrad.jacobian"
    )
    far = tf.reduce_max(tf.math.divide_no_nan(gap, scale + tf.reduce_max(tf.abs(values))))
    return tf.raw_ops.Assert(condition=tf.logical_not(far > epsilon), data=[far, said])
