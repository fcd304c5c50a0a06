"""One op like another: same type and attributes, other inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf


def op_like(
    op: tf.Operation,
    inputs: Sequence[tf.Tensor],
    *,
    attributes: Mapping[str, Any] | None = None,
    name: str | None = None,
    shaped: bool = True,
) -> tf.Operation:
    """An op like `op` in the default graph, that reads `inputs`.

    Args:
      op: the op to copy.
      inputs: what the new op reads.
      attributes: those of the new op, if not all of those that `op` has.
      name: that of the new op; by default the last part of that of `op`.
      shaped: whether the outputs are known to have the shapes, and the variables and lists behind them, of those of
        `op`; else TensorFlow infers the shapes.
    """
    made = tf.get_default_graph().create_op(
        op.type,
        list(inputs),
        name=name or op.name.rsplit("/", 1)[-1],
        attrs=dict(op.node_def.attr if attributes is None else attributes),
    )
    if shaped:
        tell_outputs(op, made)
    return made


def tell_outputs(op: tf.Operation, made: tf.Operation) -> None:
    """Let the outputs of `made` know what those of `op` know: their shapes, and what variables and lists they are."""
    for old, new in zip(op.outputs, made.outputs, strict=True):
        new.set_shape(old.shape)
        _tf.copy_handle_data(old, new)


def behave_as(op: tf.Operation, made: tf.Operation, *, device: str = "") -> None:
    """Let `made` run where `op` runs (on `device`, if it says nothing) and be differentiated as `op` is."""
    made._set_device(op.device or device)
    made._gradient_function = op._gradient_function
