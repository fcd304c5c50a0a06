"""Sizes of tensors, known or not, in both behaviours of TensorFlow.

After `tf.disable_v2_behavior()` an element of a shape is a `Dimension`, which is never None and which int() refuses
where the size is not known; with TensorFlow 2's behaviour it is an int or None. Only this module looks at elements.
"""

from typing import TypeAlias

import tensorflow.compat.v1 as tf

# A number of vectors: known while building, or a scalar tensor.
Count: TypeAlias = int | tf.Tensor


def size_along(tensor: tf.Tensor, axis: int = 0) -> Count:
    """The size of one dimension: a number where it is known, else a scalar int32 tensor."""
    known = known_along(tensor.shape, axis)
    return tf.shape(tensor)[axis] if known is None else known


def known_along(shape: tf.TensorShape, axis: int) -> int | None:
    """The size of one dimension of a static shape; None if it is not known."""
    return None if shape.rank is None else shape.as_list()[axis]


def known_sizes(shape: tf.TensorShape) -> list[int | None]:
    """The sizes of a static shape, None for each that is not known; empty if the rank is not known."""
    return [] if shape.rank is None else shape.as_list()


def stacked(count: Count, static: tf.TensorShape) -> tf.TensorShape:
    """The static shape of `count` tensors of the static shape `static`, stacked along a new first dimension."""
    return tf.TensorShape([count if isinstance(count, int) else None]).concatenate(static)
