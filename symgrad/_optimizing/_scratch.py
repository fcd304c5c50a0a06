"""A variable that lives for a part of one step, for a kernel of TensorFlow that writes what a formula has half-way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from ._variables import is_resource

__all__ = ["can_scratch_for", "through_scratch"]


def can_scratch_for(var: Any) -> bool:
    """Whether the update of `var` can make such a variable here, for kernels that take resource variables alone.

    XLA has none, and may compile any `tf.function`; eager code would copy its buffer and gain nothing.
    """
    in_v1_graph = not tf.executing_eagerly() and not isinstance(tf.get_default_graph(), _tf.FuncGraph)
    return is_resource(var) and in_v1_graph


def through_scratch(initial: tf.Tensor, kernel: Callable[[tf.Tensor], tf.Operation]) -> tf.Tensor:
    """What a kernel makes of a variable that begins as `initial`.

    Args:
      initial: tensor, whose buffer becomes the variable's.
      kernel: function of a resource handle, which makes the op that changes the variable.

    Returns:
      The variable's last value, like `initial`; the variable is gone by then, so that the buffer is free for reuse.
    """
    # Each run makes one of a new name: workers that run one graph on one server do not meet in it.
    handle = tf.raw_ops.VarHandleOp(dtype=initial.dtype, shape=initial.shape, shared_name=_tf.anonymous_name())
    with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=initial)]):
        changed = kernel(handle)
    with tf.control_dependencies([changed]):
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=initial.dtype)
    with tf.control_dependencies([value]):
        gone = tf.raw_ops.DestroyResourceOp(resource=handle)
    with tf.control_dependencies([gone]):
        return tf.ensure_shape(value, initial.shape)
