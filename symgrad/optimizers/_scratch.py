"""A variable that lives for a part of one step, for a kernel of TensorFlow that writes what a formula has half-way."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow.compat.v1 as tf

from .. import _tf

__all__ = ["can_scratch", "through_scratch"]


def can_scratch() -> bool:
    """Whether such a variable can be made here. XLA has none, and may compile any `tf.function`; eager code would copy
    its buffer and gain nothing.
    """
    return not tf.executing_eagerly() and not isinstance(tf.get_default_graph(), _tf.FuncGraph)


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
