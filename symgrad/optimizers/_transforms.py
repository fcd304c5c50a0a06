"""Gradient transforms that keep nothing: clip, centralise, add noise, decay, freeze.

Each function here returns a transform: something that takes `[(gradient, variable), ...]` and returns the like. A
sparse gradient stays sparse where the result is; repeated rows are added first, because a clipped sum is not a sum of
clipped parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs
from .._optimizing._hyperparameters import is_number
from .._optimizing._variables import assign, colocated, read, scalar
from ..errors import OptimizerError

__all__ = [
    "add_noise",
    "centralize",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "decoupled_decay",
    "freeze",
    "l2_decay",
    "summed",
]

_Pairwise = Callable[[Pairs], Pairs]


def summed(grad: Any) -> Any:
    """A gradient in which every row comes once; a dense one as it is."""
    if not isinstance(grad, tf.IndexedSlices):
        return grad
    rows, positions = tf.unique(grad.indices)
    values = tf.math.unsorted_segment_sum(grad.values, positions, tf.size(rows))
    return tf.IndexedSlices(values, rows, grad.dense_shape)


def _on_values(function: Callable[[tf.Tensor], tf.Tensor], grad: Any) -> Any:
    """The function of a dense gradient, or of the rows of a sparse one."""
    grad = summed(grad)
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(function(grad.values), grad.indices, grad.dense_shape)
    return function(grad)


def _each(name: str, function: Callable[[tf.Tensor], tf.Tensor]) -> _Pairwise:
    def transform(pairs: Pairs) -> Pairs:
        return [(_on_values(function, grad), var) for grad, var in pairs]

    transform.__name__ = name
    return transform


def _positive(name: str, **numbers: Any) -> None:
    for argument, number in numbers.items():
        if is_number(number) and not number > 0:
            raise OptimizerError(f"{name}: {argument} is {number}; wanted a number above 0")


def clip_by_value(low: float, high: float) -> _Pairwise:
    """Every number of every gradient between `low` and `high`.

    Example:
      >>> transform = symgrad.optimizers.clip_by_value(-1.0, 1.0)
      >>> x = tf.Variable([1.0, 2.0])
      >>> run([grad for grad, _ in transform([(tf.constant([0.5, 7.0]), x)])])
      [array([0.5, 1. ], dtype=float32)]
    """
    if is_number(low) and is_number(high) and not low <= high:
        raise OptimizerError(f"clip_by_value: low is {low} and high is {high}; wanted low <= high")
    return _each(
        "clip_by_value", lambda grad: tf.clip_by_value(grad, scalar(low, grad.dtype), scalar(high, grad.dtype))
    )


def clip_by_norm(norm: float) -> _Pairwise:
    """Every gradient shortened to the Euclidean length `norm` where it is longer: g * min(1, norm / |g|)."""
    _positive("clip_by_norm", norm=norm)
    return _each("clip_by_norm", lambda grad: _scaled(grad, _shrink_to(norm, _length([grad]))))


def clip_by_global_norm(norm: float) -> _Pairwise:
    """All gradients shortened by one factor, so that the length of them together is at most `norm`.

    Gradients that are not finite make all of them NaN; put `skip_nonfinite()` behind.

    Reference: R. Pascanu, T. Mikolov and Y. Bengio (2013), On the difficulty of training recurrent neural networks,
    ICML.
    """
    _positive("clip_by_global_norm", norm=norm)

    def transform(pairs: Pairs) -> Pairs:
        grads = [summed(grad) for grad, _ in pairs]
        factor = _shrink_to(norm, _length([values_of(grad) for grad in grads]))
        scaled = [_on_values(lambda values: _scaled(values, factor), grad) for grad in grads]
        return [(grad, var) for grad, (_, var) in zip(scaled, pairs, strict=True)]

    transform.__name__ = "clip_by_global_norm"
    return transform


def values_of(grad: Any) -> tf.Tensor:
    """The numbers of a gradient."""
    return grad.values if isinstance(grad, tf.IndexedSlices) else grad


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
    return tf.where(tf.math.is_finite(length), factor, tf.constant(float("nan"), tf.float64))


def _scaled(values: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """The product, in a precision in which the factor is not zero."""
    if values.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(tf.cast(values, tf.float32) * tf.cast(factor, tf.float32), values.dtype)
    return values * tf.cast(factor, values.dtype)


def centralize() -> _Pairwise:
    """Dense gradients of matrices and kernels less their mean over all axes but the last; others as they are.

    Reference: H. Yong et al. (2020), Gradient centralization: a new optimization technique for DNNs, ECCV.
    """

    def transform(pairs: Pairs) -> Pairs:
        return [(_centred(grad), var) for grad, var in pairs]

    transform.__name__ = "centralize"
    return transform


def _centred(grad: Any) -> Any:
    if isinstance(grad, tf.IndexedSlices) or grad.shape.rank is None or grad.shape.rank < 2:
        return grad
    return grad - tf.reduce_mean(grad, axis=list(range(grad.shape.rank - 1)), keepdims=True)


def freeze(frozen: Callable[[Any], bool]) -> _Pairwise:
    """Leave out the variables for which `frozen(variable)` is true: neither they nor their slots change."""

    def transform(pairs: Pairs) -> Pairs:
        return [(grad, var) for grad, var in pairs if not frozen(var)]

    transform.__name__ = "freeze"
    return transform


def l2_decay(rate: float, when: Callable[[Any], bool] | None = None) -> _Pairwise:
    """The gradient of rate / 2 * |x|^2 added: g + rate * x. A sparse gradient becomes dense, since all rows decay.

    Args:
      rate: strength of the penalty.
      when: function of the variable, whether it decays; None: all do.
    """
    _positive("l2_decay", rate=rate)

    def decayed(grad: Any, var: Any) -> Any:
        if when is not None and not when(var):
            return grad
        return tf.convert_to_tensor(grad) + scalar(rate, grad.dtype) * read(var)

    def transform(pairs: Pairs) -> Pairs:
        return [(decayed(grad, var), var) for grad, var in pairs]

    transform.__name__ = "l2_decay"
    return transform


class decoupled_decay(Transform):
    """Decay that is not part of the gradient: x <- x - learning_rate * rate * x, before the optimizer's own step.

    Makes `Momentum` into SGDW and `Adam` into `AdamW`.

    Args:
      rate: share of the variable that is taken away per unit of learning rate.
      when: function of the variable, whether it decays; None: all do.

    Reference: I. Loshchilov and F. Hutter (2019), Decoupled weight decay regularization, ICLR.
    """

    def __init__(self, rate: float, when: Callable[[Any], bool] | None = None):
        _positive("decoupled_decay", rate=rate)
        self._rate, self._when = rate, when

    def before(self, variables: Sequence[Any]) -> list[Any]:
        """The decay of every variable that decays."""
        ops = []
        for var in variables:
            if self._when is None or self._when(var):
                with colocated(var):
                    factor = 1 - self.optimizer._scalars(var).learning_rate * scalar(self._rate, var.dtype.base_dtype)
                    ops.append(assign(var, read(var) * factor, use_locking=self.optimizer._use_locking))
        return ops


class add_noise(Transform):
    """Gaussian noise on every gradient, whose variance falls with the steps t: stddev^2 / (1 + t)^decay.

    Of a sparse gradient the rows that it names get noise.

    Args:
      stddev: standard deviation at the first step.
      decay: how the variance falls; 0 keeps it.
      seed: for the same noise in every run.

    Reference: A. Neelakantan et al. (2015), Adding gradient noise improves learning for very deep networks,
    arXiv:1511.06807.
    """

    def __init__(self, stddev: float, decay: float = 0.55, seed: int | None = None):
        _positive("add_noise", stddev=stddev)
        self._stddev, self._decay, self._seed = stddev, decay, seed

    def __call__(self, pairs: Pairs) -> Pairs:
        """The gradients with noise."""
        stddev = scalar(self._stddev, tf.float32)
        if self._decay:
            stddev *= tf.pow(1.0 + tf.cast(self.optimizer._finished_steps(), tf.float32), -self._decay / 2)
        return [(_on_values(self._noisy(stddev, i), grad), var) for i, (grad, var) in enumerate(pairs)]

    def _noisy(self, stddev: tf.Tensor, place: int) -> Callable[[tf.Tensor], tf.Tensor]:
        # One seed for all variables would give variables of one shape the same noise.
        seed = None if self._seed is None else self._seed + place

        def noisy(grad: tf.Tensor) -> tf.Tensor:
            noise = tf.random.normal(tf.shape(grad), dtype=grad.dtype, seed=seed)
            return grad + tf.cast(stddev, grad.dtype) * noise

        return noisy
