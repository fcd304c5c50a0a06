"""Gradient transforms that clip: by value, by norm, all together, and in proportion to the variable.

Repeated rows of a sparse gradient are added first, because a clipped sum is not a sum of clipped parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._optimizing._checked import Pairs
from .._optimizing._hyperparameters import is_number
from .._optimizing._variables import read, scalar
from ..errors import OptimizerError
from ._pairwise import When, chosen, each, on_values, positive, scheduled, summed, values_of, warn_if_none

__all__ = ["clip_adaptively", "clip_by_global_norm", "clip_by_norm", "clip_by_value"]

_Pairwise = Callable[[Pairs], Pairs]


def clip_by_value(low: Any, high: Any, when: When = None) -> _Pairwise:
    """Every number of every gradient between `low` and `high`.

    Args:
      low: smallest number: a number, tensor, variable or schedule.
      high: largest number, likewise.
      when: the variables whose gradients are clipped; None: all.

    Example:
      >>> transform = symgrad.optimizers.clip_by_value(-1.0, 1.0)
      >>> x = tf.Variable([1.0, 2.0])
      >>> run([grad for grad, _ in transform([(tf.constant([0.5, 7.0]), x)])])
      [array([0.5, 1. ], dtype=float32)]
    """
    if is_number(low) and is_number(high) and not low <= high:
        raise OptimizerError(f"clip_by_value: low is {low} and high is {high}; wanted low <= high")

    def make(low: Any, high: Any) -> _Pairwise:
        def clip(grad: tf.Tensor, var: Any) -> tf.Tensor:
            return tf.clip_by_value(grad, scalar(low, grad.dtype), scalar(high, grad.dtype))

        return each("clip_by_value", clip, when)

    return scheduled(make, low, high)


def clip_by_norm(norm: Any, when: When = None) -> _Pairwise:
    """Every gradient shortened to the Euclidean length `norm` where it is longer: g * min(1, norm / |g|).

    Args:
      norm: the length: a number, tensor, variable or schedule.
      when: the variables whose gradients are clipped; None: all.
    """
    positive("clip_by_norm", norm=norm)

    def make(norm: Any) -> _Pairwise:
        return each("clip_by_norm", lambda grad, var: _scaled(grad, _shrink_to(norm, _length([grad]))), when)

    return scheduled(make, norm)


def clip_by_global_norm(norm: Any, when: When = None) -> _Pairwise:
    """All gradients shortened by one factor, so that the length of them together is at most `norm`.

    Gradients that are not finite make all of them NaN; put `skip_nonfinite()` behind.

    Args:
      norm: the length: a number, tensor, variable or schedule.
      when: the variables whose gradients are counted and clipped; None: all.

    Reference: R. Pascanu, T. Mikolov and Y. Bengio (2013), On the difficulty of training recurrent neural networks,
    ICML.
    """
    positive("clip_by_global_norm", norm=norm)
    wanted = chosen("clip_by_global_norm", when)

    def make(norm: Any) -> _Pairwise:
        def transform(pairs: Pairs) -> Pairs:
            warn_if_none("clip_by_global_norm", when, pairs, wanted)
            pairs = [(summed(grad) if wanted(var) else grad, var) for grad, var in pairs]
            counted = [values_of(grad) for grad, var in pairs if wanted(var)]
            if not counted:
                return pairs
            factor = _shrink_to(norm, _length(counted))

            def shortened(values: tf.Tensor) -> tf.Tensor:
                return _scaled(values, factor)

            return [(on_values(shortened, grad) if wanted(var) else grad, var) for grad, var in pairs]

        transform.__name__ = "clip_by_global_norm"
        return transform

    return scheduled(make, norm)


def clip_adaptively(ratio: Any = 0.01, floor: float = 1e-3, when: When = None) -> _Pairwise:
    """The gradient of each unit at most `ratio` times as long as its weights: g * min(1, ratio max(|x|, floor) / |g|).

    A unit is what one index of the last axis names, as in kernels of dense and convolutional layers; a vector or a
    scalar is one unit. The result is dense, also of a sparse gradient, since lengths are taken over whole variables.
    What is not finite makes its unit NaN; put `skip_nonfinite()` behind.

    Args:
      ratio: a number, tensor, variable or schedule.
      floor: stands for the length of weights that are shorter, so that zeros can begin to move.
      when: the variables whose gradients are clipped; None: all. The paper leaves the last layer out.

    Reference: A. Brock et al. (2021), High-performance large-scale image recognition without normalization, ICML.
    """
    positive("clip_adaptively", ratio=ratio, floor=floor)
    wanted = chosen("clip_adaptively", when)

    def make(ratio: Any) -> _Pairwise:
        def clip(grad: Any, var: Any) -> tf.Tensor:
            grad = tf.convert_to_tensor(grad)
            longest = scalar(ratio, tf.float64) * tf.maximum(_lengths_of_units(read(var)), scalar(floor, tf.float64))
            return _scaled(grad, _shrink_to(longest, _lengths_of_units(grad)))

        def transform(pairs: Pairs) -> Pairs:
            warn_if_none("clip_adaptively", when, pairs, wanted)
            return [(clip(grad, var) if wanted(var) else grad, var) for grad, var in pairs]

        transform.__name__ = "clip_adaptively"
        return transform

    return scheduled(make, ratio)


def _lengths_of_units(tensor: tf.Tensor) -> tf.Tensor:
    """The length of what each index of the last axis names, float64, with the other axes kept as 1."""
    rank = tensor.shape.rank
    if rank is None:
        raise OptimizerError("clip_adaptively: the rank of a variable is unknown; give it a shape, or leave it out")
    axes = list(range(rank - 1)) if rank > 1 else None
    return tf.sqrt(tf.reduce_sum(tf.square(tf.cast(tensor, tf.float64)), axis=axes, keepdims=True))


def _length(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    """The Euclidean length of all together, float64; not finite where a number is not.

    Squares of finite numbers overflow, in float16 from 256 and in float32 from 2e19: the numbers of each tensor are
    divided by the largest first, whose square comes back in double precision.
    """
    squares = []
    for tensor in tensors:
        wide = tf.cast(tensor, tf.float32) if tensor.dtype in (tf.float16, tf.bfloat16) else tensor
        largest = tf.maximum(tf.reduce_max(tf.abs(wide)), wide.dtype.as_numpy_dtype(np.finfo(np.float32).tiny))
        rest = tf.reduce_sum(tf.square(wide / largest))
        squares.append(tf.square(tf.cast(largest, tf.float64)) * tf.cast(rest, tf.float64))
    return tf.sqrt(tf.add_n(squares))


def _shrink_to(norm: Any, length: tf.Tensor) -> tf.Tensor:
    """The factor that makes a length `norm` where it is longer; NaN where the length is not finite."""
    norm = scalar(norm, tf.float64)
    factor = norm / tf.maximum(length, norm)
    return tf.where_v2(tf.math.is_finite(length), factor, tf.constant(float("nan"), tf.float64))


def _scaled(values: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """The product, in a precision in which the factor is not zero."""
    if values.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(tf.cast(values, tf.float32) * tf.cast(factor, tf.float32), values.dtype)
    return values * tf.cast(factor, values.dtype)
