"""Tensors of known shapes as one vector, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .errors import ShapeError


class Flat:
    """The numbers of several tensors or variables, flattened in order, as the last dimension of one tensor.

    Attributes:
      size: how many numbers they hold.

    Args:
      likes: tensors or variables of known shapes.
      dtype: of the vector.
    """

    def __init__(self, likes: Sequence[Any], dtype: tf.DType = tf.float64):
        for like in likes:
            if not tf.TensorShape(like.shape).is_fully_defined():
                raise ShapeError(f"{like.name} has the shape {like.shape}; wanted a known number of elements")
        self._shapes = [tf.TensorShape(like.shape).as_list() for like in likes]
        self._dtypes = [tf.as_dtype(like.dtype).base_dtype for like in likes]
        self._sizes = [int(np.prod(shape, dtype=np.int64)) for shape in self._shapes]
        self.size = sum(self._sizes)
        self.dtype = dtype

    def pack(self, tensors: Sequence[Any], leading: int = 0) -> tf.Tensor:
        """Tensors shaped like them, with `leading` dimensions in front of each, as one of shape [..., size]."""
        flat = [
            tf.cast(tf.reshape(t, tf.concat([tf.shape(t)[:leading], [size]], 0)), self.dtype)
            for t, size in zip(tensors, self._sizes, strict=True)
        ]
        return flat[0] if len(flat) == 1 else tf.concat(flat, -1)

    def unpack(self, vector: tf.Tensor) -> list[tf.Tensor]:
        """The parts of a tensor of shape [..., size], each of shape [...] + its shape and of its dtype."""
        parts = tf.split(vector, self._sizes, axis=-1) if len(self._sizes) > 1 else [vector]
        rows = vector.shape.as_list()[:-1]
        leading = rows if None not in rows else tf.shape(vector)[:-1]
        return [
            tf.cast(tf.reshape(part, tf.concat([leading, shape], 0) if rows else shape), dtype)
            for part, shape, dtype in zip(parts, self._shapes, self._dtypes, strict=True)
        ]

    def arrays(self, vector: np.ndarray) -> list[np.ndarray]:
        """The parts of an array of shape [size], each in its shape and dtype."""
        ends = np.cumsum(self._sizes)[:-1]
        return [
            part.reshape(shape).astype(dtype.as_numpy_dtype)
            for part, shape, dtype in zip(np.split(vector, ends), self._shapes, self._dtypes, strict=True)
        ]
