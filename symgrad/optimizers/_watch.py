"""What TensorBoard shows of a training step: hyperparameters, gradients, how far each variable moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs
from .._optimizing._settable import GraphCell
from .._optimizing._variables import home, label, read, snapshot
from ._pairwise import summed, values_of

__all__ = ["watch"]


class watch(Transform):
    """Write hyperparameters, and the norms of gradient and update of each variable, as TensorBoard scalars.

    It sees the gradients as they are at its place in the chain. In a V1 graph the summaries are in
    `tf.GraphKeys.SUMMARIES` (or `collections`), for `tf.summary.merge_all()` and sessions that save summaries by
    themselves; fetching them takes no step, and the update is that of the last step taken. In eager code and in a
    `tf.function` they go to the default writer of `tf.summary`, with the number of the step.

    Args:
      histograms: also the distribution of each gradient.
      collections: graph collections for the summaries, in place of TensorFlow's own.
    """

    def __init__(self, histograms: bool = False, collections: Sequence[str] | None = None):
        self._histograms, self._collections = histograms, collections
        self._prefix = ""
        self._before: dict[Any, tf.Tensor] = {}
        self._hypers: list[tf.Tensor] = []
        self._norms: dict[Any, GraphCell] = {}

    def __call__(self, pairs: Pairs) -> Pairs:
        """The same gradients."""
        if home() is not None:  # two optimizers of one name have tags of their own: Adam/..., Adam_1/...
            with tf.name_scope(""), tf.name_scope(f"{self.optimizer._name}_summaries") as scope:
                self._prefix = scope.replace("_summaries", "").rstrip("/")
        hyper, finished = self.optimizer._hyper, self.optimizer._finished_steps
        self._hypers = [tf.cast(hyper.tensor(name, finished), tf.float32) for name in hyper]
        for name, value in zip(hyper, self._hypers, strict=True):
            self._scalar(name, value)
        for grad, var in pairs:
            values = values_of(summed(grad))
            self._scalar(f"gradient_norm/{label(var)}", tf.norm(values))
            if self._histograms:
                self._histogram(f"gradient/{label(var)}", values)
        return pairs

    def bind(self, optimizer: Any) -> None:
        """Tags begin with the optimizer's name."""
        super().bind(optimizer)
        self._prefix = optimizer._name

    def create(self, variables: Sequence[Any]) -> None:
        """In a V1 graph, a cell for each norm, so that fetching the summaries takes no step."""
        for var in variables if home() is not None else ():
            if var.ref() not in self._norms:
                self._norms[var.ref()] = GraphCell(f"{self.optimizer._name}/update_norm/{label(var)}", 0.0)
                self._scalar(f"update_norm/{label(var)}", self._norms[var.ref()].value())

    def before(self, variables: Sequence[Any]) -> list[Any]:
        """The variables as they are; schedules have been read before the counter moves on."""
        self._before = {var.ref(): snapshot(var) for var in variables}
        return [*self._hypers, *self._before.values()]

    def after(self, variables: Sequence[Any]) -> list[Any]:
        """How far they have moved."""
        ops = []
        for var in variables:
            norm = tf.cast(tf.norm(read(var) - self._before[var.ref()]), tf.float32)
            if home() is None:
                self._scalar(f"update_norm/{label(var)}", norm)
            else:
                ops.append(self._norms[var.ref()].write(norm))
        return ops

    def _scalar(self, name: str, value: tf.Tensor) -> None:
        self._write(tf.raw_ops.ScalarSummary(tags=f"{self._prefix}/{name}", values=value))

    def _histogram(self, name: str, values: tf.Tensor) -> None:
        self._write(tf.raw_ops.HistogramSummary(tag=f"{self._prefix}/{name}", values=values))

    def _write(self, summary: tf.Tensor) -> None:
        if home() is None:
            # tf.summary.scalar of version 2 needs the package tensorboard; what the op of version 1 makes does not.
            tf.compat.v2.summary.experimental.write_raw_pb(summary, step=self.optimizer.iterations)
        else:
            tf.add_to_collections(self._collections or tf.GraphKeys.SUMMARIES, summary)
