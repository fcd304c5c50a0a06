"""Transforms that decide whether a step is taken: accumulate, skip what is not finite, scale the loss.

A gate judges, counts and keeps only what the gates in front of it let through: a gradient that one has refused does not
reach the sums of the next, and is counted once.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Gated, Transform
from .._optimizing._checked import Pairs
from .._optimizing._variables import assign, colocated, present, read
from ..errors import OptimizerError
from ._pairwise import values_of

__all__ = ["accumulate", "apply_if_finite", "loss_scale", "skip_nonfinite"]


def _all_finite(pairs: Pairs) -> tf.Tensor:
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(values_of(grad))) for grad, _ in pairs])


def _after(value: tf.Tensor, ops: list[Any]) -> tf.Tensor:
    """The tensor, and the ops have run."""
    with tf.control_dependencies(present(ops)):
        return tf.identity(value)


def _through(when: tf.Tensor | None) -> tf.Tensor:
    return tf.constant(True) if when is None else when


class _Gate(Transform):
    """A transform whose answer depends on the gates in front of it."""

    def __call__(self, pairs: Pairs) -> Any:
        """As `under` without a gate in front."""
        return self.under(pairs, None)


class skip_nonfinite(_Gate):
    """Leave the step out when a gradient is infinite or NaN: no variable, slot or counter changes.

    In front of `accumulate` it leaves such a gradient out of the sums, and the step waits for one more call; behind it,
    the whole step is left out. `skipped` counts what was left out. It is a variable, `<optimizer>/skipped_steps`, saved
    like others.
    """

    @property
    def skipped(self) -> Any:
        """How many steps were left out, an int64 variable."""
        return self.state("skipped_steps", 0, tf.int64)

    def under(self, pairs: Pairs, when: tf.Tensor | None) -> Gated:
        """The same gradients, and whether all of them are finite."""
        finite = _all_finite(pairs)
        left_out = tf.logical_and(_through(when), tf.logical_not(finite))
        count = self.skipped.assign_add(tf.cast(left_out, tf.int64), read_value=False)
        return Gated(pairs, _after(finite, [count]))


class apply_if_finite(_Gate):
    """As `skip_nonfinite`, but take the step whatever it is once more than `limit` in a row were left out.

    A run whose every gradient is NaN would go on for ever without a step; with a limit it shows. `skipped` counts all
    that were left out, `in_a_row` those since the last finite one; both are saved.

    Args:
      limit: how many in a row are left out.
    """

    def __init__(self, limit: int):
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise OptimizerError(f"apply_if_finite: limit is {limit!r}; wanted an int of at least 1")
        self._limit = limit

    @property
    def skipped(self) -> Any:
        """How many steps were left out, an int64 variable."""
        return self.state("left_out_steps", 0, tf.int64)

    @property
    def in_a_row(self) -> Any:
        """How many were not finite since the last that was, an int64 variable."""
        return self.state("left_out_in_a_row", 0, tf.int64)

    def under(self, pairs: Pairs, when: tf.Tensor | None) -> Gated:
        """The same gradients, and whether they are finite or too many have not been."""
        finite, through, before = _all_finite(pairs), _through(when), read(self.in_a_row)
        run = tf.where(finite, tf.zeros_like(before), before + 1)
        taken = tf.logical_or(finite, run > self._limit)
        with tf.control_dependencies([run, taken]):
            left_out = tf.cast(tf.logical_and(through, tf.logical_not(taken)), tf.int64)
            writes = [assign(self.in_a_row, tf.where(through, run, before))]
            writes.append(self.skipped.assign_add(left_out, read_value=False))
        return Gated(pairs, _after(taken, writes))


class accumulate(_Gate):
    """Take a step once in `steps` calls, with the mean of the gradients of all of them.

    The sums are slots called `accumulated`, dense for sparse gradients too. The counter of the optimizer and
    `global_step` count the steps that are taken. Transforms in front of it see each gradient, those behind the mean. A
    call that a gate in front holds back is none: its gradient is not added, whatever it is, and the sums stay.

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

    def under(self, pairs: Pairs, when: tf.Tensor | None) -> Gated:
        """The mean so far, and whether it is complete."""
        calls = self.state("accumulated_calls", 0, tf.int64)
        count = read(calls) + tf.cast(_through(when), tf.int64)
        ready = tf.logical_and(_through(when), tf.equal(count, self._steps))
        with tf.control_dependencies([count, ready]):
            writes = [assign(calls, tf.where(ready, tf.zeros_like(count), count))]
        results = []
        for grad, var in pairs:
            total, write = self._add(grad, var, when, ready)
            writes.append(write)
            results.append((total / self._steps if self._mean else total, var))
        return Gated(results, _after(ready, writes))

    def _add(self, grad: Any, var: Any, when: tf.Tensor | None, ready: tf.Tensor) -> tuple[tf.Tensor, Any]:
        """The sum with this gradient, and the op that keeps it for the next call, or 0 if the step is taken."""
        sums = self.slot(var, "accumulated")
        with colocated(var):
            grad = tf.convert_to_tensor(grad)
            if when is not None:  # chosen and not multiplied: 0 times NaN is NaN
                grad = tf.where(when, grad, tf.zeros_like(grad))
            total = read(sums) + grad
            return total, assign(sums, tf.where(ready, tf.zeros_like(total), total))


class loss_scale(_Gate):
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
        return self.state("loss_scale", self._initial, tf.float32)

    def loss(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss times the factor."""
        return loss * tf.cast(read(self.scale), loss.dtype)

    def gradient(self, grad: Any) -> Any:
        """The gradient divided by the factor."""
        inverse = tf.cast(1 / read(self.scale), grad.dtype)
        if isinstance(grad, tf.IndexedSlices):
            return tf.IndexedSlices(grad.values * inverse, grad.indices, grad.dense_shape)
        return grad * inverse

    def under(self, pairs: Pairs, when: tf.Tensor | None) -> Gated:
        """The same gradients, and whether all of them are finite; the factor follows."""
        finite, through = _all_finite(pairs), _through(when)
        steps = self.state("loss_scale_steps", 0, tf.int64)
        with tf.control_dependencies([finite, through]):
            before, scale = read(steps), read(self.scale)
            good = before + 1
            full = good >= self._interval
            grown = tf.where(full, scale * 2, scale)
            new_scale = tf.where(finite, grown, tf.maximum(scale / 2, 1.0))
            new_steps = tf.where(tf.logical_and(finite, tf.logical_not(full)), good, tf.zeros_like(good))
            new_scale, new_steps = tf.where(through, new_scale, scale), tf.where(through, new_steps, before)
        with tf.control_dependencies([new_scale, new_steps]):
            writes = [assign(self.scale, new_scale), assign(steps, new_steps)]
        return Gated(pairs, _after(finite, writes))
