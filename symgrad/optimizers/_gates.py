"""Transforms that decide whether a step is taken: accumulate, skip what is not finite, scale the loss."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Gated, Transform
from .._optimizing._checked import Pairs
from .._optimizing._variables import assign, colocated, present, read
from ..errors import OptimizerError
from ._transforms import values_of

__all__ = ["accumulate", "loss_scale", "skip_nonfinite"]


def _all_finite(pairs: Pairs) -> tf.Tensor:
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(values_of(grad))) for grad, _ in pairs])


def _after(value: tf.Tensor, ops: list[Any]) -> tf.Tensor:
    """The tensor, and the ops have run."""
    with tf.control_dependencies(present(ops)):
        return tf.identity(value)


class skip_nonfinite(Transform):
    """Leave the step out when a gradient is infinite or NaN: no variable, slot or counter changes.

    `skipped` counts the steps that were left out. It is a variable, `<optimizer>/skipped_steps`, saved like others.
    """

    @property
    def skipped(self) -> Any:
        """How many steps were left out, an int64 variable."""
        return self.optimizer._scalar_state("skipped_steps", 0, tf.int64)

    def __call__(self, pairs: Pairs) -> Gated:
        """The same gradients, and whether all of them are finite."""
        finite = _all_finite(pairs)
        count = self.skipped.assign_add(tf.cast(tf.logical_not(finite), tf.int64), read_value=False)
        return Gated(pairs, _after(finite, [count]))


class accumulate(Transform):
    """Take a step once in `steps` calls, with the mean of the gradients of all of them.

    The sums are slots called `accumulated`, dense for sparse gradients too. The counter of the optimizer and
    `global_step` count the steps that are taken. Transforms in front of it see each gradient, those behind the mean.

    Args:
      steps: number of calls for one step.
      reduction: "mean" or "sum".
    """

    def __init__(self, steps: int, reduction: str = "mean"):
        if not isinstance(steps, int) or steps < 1:
            raise OptimizerError(f"accumulate: steps is {steps!r}; wanted an int of at least 1")
        if reduction not in ("mean", "sum"):
            raise OptimizerError(f"accumulate: reduction is {reduction!r}; wanted 'mean' or 'sum'")
        self._steps, self._mean = steps, reduction == "mean"

    def __call__(self, pairs: Pairs) -> Gated:
        """The mean so far, and whether it is complete."""
        calls = self.optimizer._scalar_state("accumulated_calls", 0, tf.int64)
        count = read(calls) + 1
        ready = tf.equal(count, self._steps)
        with tf.control_dependencies([count, ready]):
            writes = [assign(calls, tf.where(ready, tf.zeros_like(count), count))]
        results = []
        for grad, var in pairs:
            total, write = self._add(grad, var, ready)
            writes.append(write)
            results.append((total / self._steps if self._mean else total, var))
        return Gated(results, _after(ready, writes))

    def _add(self, grad: Any, var: Any, ready: tf.Tensor) -> tuple[tf.Tensor, Any]:
        """The sum with this gradient, and the op that keeps it for the next call, or 0 if the step is taken."""
        with tf.init_scope():
            sums = self.optimizer._zeros_slot(var, "accumulated", "accumulated")
        with colocated(var):
            total = read(sums) + tf.convert_to_tensor(grad)
            return total, assign(sums, tf.where(ready, tf.zeros_like(total), total))


class loss_scale(Transform):
    """Compute gradients of a multiple of the loss, so that small ones do not vanish in float16, and divide them by it.

    The factor doubles after `interval` steps with finite gradients; one with others is left out and halves the factor.
    `compute_gradients` and `minimize` take care of the loss. With a tape of your own, multiply the loss by `scale`
    and divide the gradients by it.

    Args:
      initial: factor to begin with.
      interval: steps until it doubles.

    Reference: P. Micikevicius et al. (2018), Mixed precision training, ICLR.
    """

    def __init__(self, initial: float = 2.0**15, interval: int = 2000):
        if not initial > 0 or interval < 1:
            raise OptimizerError(f"loss_scale: initial is {initial} and interval {interval}; wanted numbers above 0")
        self._initial, self._interval = initial, interval

    @property
    def scale(self) -> Any:
        """The present factor, a float32 variable."""
        return self.optimizer._scalar_state("loss_scale", self._initial, tf.float32)

    def loss(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss times the factor."""
        return loss * tf.cast(read(self.scale), loss.dtype)

    def gradient(self, grad: Any) -> Any:
        """The gradient divided by the factor."""
        inverse = tf.cast(1 / read(self.scale), grad.dtype)
        if isinstance(grad, tf.IndexedSlices):
            return tf.IndexedSlices(grad.values * inverse, grad.indices, grad.dense_shape)
        return grad * inverse

    def __call__(self, pairs: Pairs) -> Gated:
        """The same gradients, and whether all of them are finite; the factor follows."""
        finite = _all_finite(pairs)
        steps = self.optimizer._scalar_state("loss_scale_steps", 0, tf.int64)
        with tf.control_dependencies([finite]):
            good, scale = read(steps) + 1, read(self.scale)
            full = good >= self._interval
            grown = tf.where(full, scale * 2, scale)
            new_scale = tf.where(finite, grown, tf.maximum(scale / 2, 1.0))
            new_steps = tf.where(tf.logical_and(finite, tf.logical_not(full)), good, tf.zeros_like(good))
        with tf.control_dependencies([new_scale, new_steps]):
            writes = [assign(self.scale, new_scale), assign(steps, new_steps)]
        return Gated(pairs, _after(finite, writes))
