"""More loop variables for V1 loops that exist: ops like those of the loop, on other data, known to its context.

TensorFlow has no way to add to a loop once it is built. What it keeps in the contexts for its own gradients is kept up
here, so that a loop with additions can be differentiated in reverse as well.
"""

from typing import Any

import tensorflow.compat.v1 as tf

from .._op_types import ENTERS
from . import _places
from ._in_context import inside
from ._surroundings import comes_from_outside


def enter(op: tf.Operation, data: tf.Tensor) -> tf.Tensor:
    """`data` inside the frame that the Enter `op` leads into, and as `op` does: once, or to stay."""
    context = op._get_control_flow_context()
    constant = op.get_attr("is_constant")
    if comes_from_outside(data, context.outer_context):
        data = context.outer_context.AddValue(data)
    with inside(op.graph, None):
        made = tf.raw_ops.Enter(
            data=data,
            frame_name=_places.frame_name(op),
            is_constant=constant,
            parallel_iterations=op.get_attr("parallel_iterations"),
        )
    _like(made, op.outputs[0], data)
    _wait_for_iteration(made.op, context)
    made.op._set_control_flow_context(context)
    context.AddName(made.name)
    if constant:
        context._external_values[data.name] = made
    else:
        context.loop_enters.append(made)
    return made


def _wait_for_iteration(made: tf.Operation, context: Any) -> None:
    """What is constant in the loop around must not enter the inner loop once more after its last iteration."""
    source, outer = made.inputs[0].op, context.outer_context
    while outer is not None and outer.GetControlPivot() is None:
        outer = outer.outer_context
    if outer is not None and source.type in ENTERS and source.get_attr("is_constant"):
        made._add_control_input(outer.GetControlPivot().op)


def exit_of(op: tf.Operation, data: tf.Tensor) -> tf.Tensor:
    """`data` as it leaves the loop of the loop Switch `op`."""
    context = op._get_control_flow_context()
    with inside(op.graph, context):
        made = tf.raw_ops.Exit(data=data)
    _like(made, op.outputs[0], data)
    context.loop_exits.append(made)
    context.ExitResult([made])
    return made


def switch(op: tf.Operation, data: tf.Tensor) -> list[tf.Tensor]:
    """`data` on the two sides of the Switch `op`."""
    context = op._get_control_flow_context()
    into = _places.leads_into(op, context)
    with inside(op.graph, context.outer_context if into else context):
        made = tf.raw_ops.Switch(data=data, pred=op.inputs[1])
    sides = [_like(side, old, data) for side, old in zip(made, op.outputs, strict=True)]
    if into:  # as CondContext.AddValue does it
        made[0].op._set_control_flow_context(context)
        while context is not None:
            context._values.update(side.name for side in sides)
            context = context.outer_context
    return sides


def add_variable(op: tf.Operation, start: tf.Tensor) -> tuple[tf.Operation, tf.Tensor, tf.Tensor]:
    """One more variable of the loop of the Enter `op`, which starts as `start`; its way round is not closed yet.

    Returns:
      The Merge, whose second input is to become a NextIteration; the tensor after the loop; the tensor in its body.
    """
    context = op._get_control_flow_context()
    entered = enter(op, start)
    with inside(op.graph, context):
        merged, _ = tf.raw_ops.Merge(inputs=[entered, entered])
        leaving, staying = tf.raw_ops.Switch(data=merged, pred=context.pivot)
    return merged.op, exit_of(leaving.op, leaving), staying


def _like(made: tf.Tensor, old: tf.Tensor, data: tf.Tensor) -> tf.Tensor:
    """`made` with the static shape of `old`, if `data` can have it.

    The tangent of a variable's handle has another dtype and another shape, stacked tangents have one dimension more.
    """
    if made.dtype.base_dtype == old.dtype.base_dtype and data.shape.rank in (None, old.shape.rank):
        made.set_shape(old.shape)
    return made
