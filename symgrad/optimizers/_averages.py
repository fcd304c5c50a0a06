"""Running averages of the variables: exponential, and over the last part of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._settable import run
from .._optimizing._variables import assign, colocated, home, present, read, snapshot, start
from ..errors import OptimizerError

__all__ = ["ema", "swa"]


class _Average(Transform):
    """A slot of each variable that moves towards it after every step: a <- a + weight (x - a)."""

    slot_name = ""

    def __init__(self) -> None:
        self._swaps: dict[Any, dict[Any, Any]] = {}

    def weight(self, dtype: tf.DType) -> tf.Tensor:
        """How far the average moves after this step."""
        raise NotImplementedError

    def average(self, var: Any) -> Any:
        """The variable that holds the average of a variable."""
        with tf.init_scope():  # a tf.function under a strategy knows a mirrored variable by another key
            return self.optimizer.get_slot(var, self._own(self.slot_name))

    def create(self, variables: Sequence[Any]) -> None:
        """The averages begin where the variables do."""
        swaps = self._swaps.setdefault(home(), {})
        for var in variables:
            if var.ref() not in swaps:
                self.slot(var, self.slot_name, start(var))
                # Built now, so that it is there when the graph is finalized.
                swaps[var.ref()] = var if home() is None else self._swap(var)

    def after(self, variables: Sequence[Any]) -> list[Any]:
        """The averages move."""
        ops = []
        for var in variables:
            with colocated(var):
                average = self.average(var)
                weight = self.weight(var.dtype.base_dtype)
                ops.append(assign(average, read(average) + weight * (read(var) - read(average))))
        return ops

    def swap(self, session: Any = None) -> None:
        """Exchange variables and averages; a second call exchanges them back.

        Args:
          session: where the variables live; None for the default session, or in eager code.

        Raises:
          OptimizerError: no step is built yet, or no session says whose variables are meant.
        """
        swaps = self._swaps.get(home())
        if not swaps:
            raise OptimizerError("there is no average yet: build or take a training step first")
        if home() is None:
            for var in swaps.values():
                self._swap(var)
            return
        run(self.optimizer._session(session), list(swaps.values()))

    def _swap(self, var: Any) -> Any:
        average = self.average(var)
        values = [snapshot(var), snapshot(average)]
        with tf.control_dependencies(values):
            done = present([assign(var, values[1]), assign(average, values[0])])
        return None if tf.executing_eagerly() else tf.group(*done)

    @contextmanager
    def applied(self, session: Any = None) -> Iterator[None]:
        """Inside, the variables hold the averages: for evaluation and export."""
        self.swap(session)
        try:
            yield
        finally:
            self.swap(session)


class ema(_Average):
    """Exponential moving averages of the variables: a <- decay * a + (1 - decay) * x, after every step.

    Put it into `transforms`. The averages are called `<variable>/ExponentialMovingAverage` in checkpoints, as those of
    `tf.compat.v1.train.ExponentialMovingAverage`. A step costs the whole variable, also where the gradient is sparse.

    Args:
      decay: how much of the average is kept at a step.

    Example:
      >>> average = symgrad.optimizers.ema(0.5)
      >>> x = tf.Variable(1.0)
      >>> train = symgrad.optimizers.SGD(0.1, transforms=[average]).minimize(3 * x * x)
      >>> run(train)
      >>> print(f"{run(x):.1f} {run(average.average(x)):.1f}")
      0.4 0.7
    """

    slot_name = "ExponentialMovingAverage"

    def __init__(self, decay: float = 0.999):
        super().__init__()
        if not 0 <= decay < 1:
            raise OptimizerError(f"ema: decay is {decay}; wanted a number of at least 0 and below 1")
        self._decay = decay

    def weight(self, dtype: tf.DType) -> tf.Tensor:
        """1 - decay."""
        return tf.constant(1 - self._decay, dtype)


class swa(_Average):
    """The plain mean of the variables after step `start` and every `every` steps from there; before, the variables.

    Put it into `transforms`.

    Args:
      start: the first step whose result counts.
      every: steps from one result that counts to the next.

    Reference: P. Izmailov et al. (2018), Averaging weights leads to wider optima and better generalization, UAI.
    """

    slot_name = "StochasticWeightAverage"

    def __init__(self, start: int, every: int = 1):
        super().__init__()
        if start < 1 or every < 1:
            raise OptimizerError(f"swa: start is {start} and every is {every}; wanted numbers of at least 1")
        self._first, self._every = start, every

    def create(self, variables: Sequence[Any]) -> None:
        """The averages, and the counter that tells when a result counts."""
        self.optimizer.iterations  # noqa: B018
        super().create(variables)

    def weight(self, dtype: tf.DType) -> tf.Tensor:
        """1 / n for the n-th result that counts, 1 before the first, 0 in between."""
        late = self.optimizer._moment.scalar("t", tf.int64) - self._first
        share = 1 / tf.cast(late // self._every + 1, tf.float64)
        counts = tf.equal(late % self._every, 0)
        weight = tf.where(counts, share, tf.zeros_like(share))
        return tf.cast(tf.where(late <= 0, tf.ones_like(share), weight), dtype)
