"""Where a number lives that training reads and that can be changed between two steps.

In eager code that is a variable. In a V1 graph it is the one entry of a lookup table, whose reads fall back to the
number while nothing has been written: it needs no initialiser, is in no collection and in no checkpoint, and is read by
one op. (A variable with a conditional around its read would do the same, but one conditional makes a session run the
whole graph on its slower executor: 45 us more for 200 variables.)
"""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tf

__all__ = ["EagerCell", "GraphCell", "dtype_of", "run"]


def dtype_of(number: float) -> np.dtype:
    """float32 for Python numbers, as TensorFlow's optimizers round them; NumPy's float64 keeps its precision."""
    return np.dtype(np.float64 if isinstance(number, np.float64) else np.float32)


class EagerCell:
    """A number in a variable; also for a `tf.function`."""

    def __init__(self, name: str, number: float):
        # A plain resource variable even under a strategy, which would mirror a tf.Variable.
        with tf.init_scope(), tf.name_scope(""):
            self.variable = _tf.ResourceVariable(np.asarray(number, dtype_of(number)), name=name, trainable=False)

    def value(self) -> tf.Tensor:
        """The number as a tensor of the moment."""
        return self.variable.read_value()


class GraphCell:
    """A number in a graph and its sessions, each with a value of its own."""

    def __init__(self, name: str, number: float):
        self._default = np.asarray(number, dtype_of(number))
        with tf.init_scope(), tf.name_scope(""), tf.name_scope(name):
            # A name that no other process has: a server outlives the jobs that use it, and a name in common would hand
            # the number that one job has set to the next, whose initialisers do not touch tables.
            self._table = tf.raw_ops.MutableHashTableV2(
                key_dtype=tf.int64, value_dtype=self._default.dtype, shared_name=f"{name}_{uuid.uuid4().hex}"
            )
            self._present = self._read()
            # Built now, so that it is there when the graph is finalized.
            self._given = tf.placeholder(self._default.dtype, [], name="new_value")
            self._write = self.write(self._given)

    def value(self) -> tf.Tensor:
        """The number as a tensor of the moment."""
        return self._present if self._present.graph is tf.get_default_graph() else self._read()

    def write(self, value: tf.Tensor) -> Any:
        """The op that writes a tensor's value."""
        with self._beside_the_table():
            return tf.raw_ops.LookupTableInsertV2(table_handle=self._table, keys=tf.constant(0, tf.int64), values=value)

    def _read(self) -> tf.Tensor:
        with self._beside_the_table():
            value = tf.raw_ops.LookupTableFindV2(
                table_handle=self._table, keys=tf.constant(0, tf.int64), default_value=tf.constant(self._default)
            )
        value.set_shape([])
        return value

    def _beside_the_table(self) -> Any:
        # A device function that knows variables and tables alone would ask for a worker, where the table is not, and
        # the branches of a conditional, which are colocated with what they read, could not be placed.
        return tf.get_default_graph().colocate_with(self._table, ignore_existing=True)

    @property
    def on_a_parameter_server(self) -> bool:
        """Whether other workers train variables there, whose numbers are cells of their own."""
        return "/job:ps" in self._table.device

    def get(self, session: Any) -> float:
        """The number in a session, in the shortest form that rounds to it."""
        return float(str(run(session, self._present)))

    def set(self, session: Any, number: float) -> None:
        """Write the number in a session."""
        run(session, self._write, {self._given: number})


def run(session: Any, fetch: Any, feed_dict: dict | None = None) -> Any:
    """Run without the hooks of a monitored session, for which it would be a training step."""
    if hasattr(session, "run_step_fn"):
        return session.run_step_fn(lambda step_context: step_context.session.run(fetch, feed_dict))
    return session.run(fetch, feed_dict)
