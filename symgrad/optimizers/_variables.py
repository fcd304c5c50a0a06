"""Variables of every kind, seen in one way: where they live, their values, how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf

__all__ = [
    "assign",
    "colocated",
    "home",
    "is_resource",
    "is_variable",
    "label",
    "present",
    "read",
    "reference",
    "scatter_add",
    "scatter_update",
    "unwrap",
]

is_resource = _tf.is_resource_variable


def is_variable(value: Any) -> bool:
    """True for TensorFlow's variables of all kinds; `tf.compat.v1.Variable` is not the base of all of them."""
    return isinstance(value, tf.compat.v2.Variable)


def home() -> tf.Graph | None:
    """The graph in which state lives for code that runs here: the outermost V1 graph, or None for eager state."""
    with tf.init_scope():
        return None if tf.executing_eagerly() else tf.get_default_graph()


def unwrap(var: Any) -> Any:
    """The TensorFlow variable inside a Keras 3 variable, anything else as it is."""
    inner = getattr(var, "value", None)
    return inner if is_variable(inner) and not is_variable(var) else var


def colocated(var: Any) -> AbstractContextManager:
    """Ops made inside go to the variable's device."""
    if tf.executing_eagerly():
        return tf.device(var.device)
    return tf.get_default_graph().colocate_with(var)


def label(var: Any) -> str:
    """The variable's name without the output number, for messages and scopes."""
    return getattr(var, "name", str(var)).split(":")[0]


def reference(var: Any) -> Any:
    """What a raw op takes for the variable: the handle of a resource variable, the reference of a V1 variable."""
    return var.handle if is_resource(var) else var._ref()


def read(var: Any) -> tf.Tensor:
    """A fresh read of the variable; it waits for the control dependencies around the call."""
    return var.read_value()


def assign(var: Any, value: tf.Tensor, *, use_locking: bool = False) -> Any:
    """Write the whole variable. Returns the op (None in eager code, where it has happened)."""
    return var.assign(value, use_locking=use_locking, read_value=False)


def scatter_add(var: Any, indices: tf.Tensor, rows: tf.Tensor) -> Any:
    """Add rows to the variable at `indices`."""
    if is_resource(var):
        return tf.raw_ops.ResourceScatterAdd(resource=var.handle, indices=indices, updates=rows)
    return tf.scatter_add(var, indices, rows).op


def scatter_update(var: Any, indices: tf.Tensor, rows: tf.Tensor) -> Any:
    """Replace the variable's rows at `indices`, which are all different."""
    if is_resource(var):
        return tf.raw_ops.ResourceScatterUpdate(resource=var.handle, indices=indices, updates=rows)
    return tf.scatter_update(var, indices, rows).op


def present(ops: Sequence[Any]) -> list[Any]:
    """The ops that exist: eager code has None where a graph has an op."""
    return [op for op in ops if op is not None]
