"""Variables of every kind, seen in one way: where they live, their values, how they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._control_flow import v1_control_flow

__all__ = [
    "assign",
    "branches_that_know_references",
    "colocated",
    "group",
    "home",
    "is_resource",
    "is_variable",
    "label",
    "present",
    "read",
    "reference",
    "scalar",
    "scatter_add",
    "scatter_update",
    "snapshot",
    "start",
    "unwrap",
]

is_resource = _tf.is_resource_variable
is_variable = _tensors.is_variable
unwrap = _tensors.unwrap


def home() -> tf.Graph | None:
    """The graph in which state lives for code that runs here: the outermost V1 graph, or None for eager state."""
    with tf.init_scope():
        return None if tf.executing_eagerly() else tf.get_default_graph()


def colocated(var: Any) -> AbstractContextManager:
    """Ops made inside go to the variable's device; a mirrored variable has several, and says nothing."""
    if isinstance(var, tf.compat.v2.distribute.DistributedValues):
        return nullcontext()
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


def snapshot(var: Any) -> tf.Tensor:
    """The variable's value of now, which later writes do not change."""
    # Reading a V1 reference variable gives a view of its memory.
    return var.read_value() if is_resource(var) else tf.raw_ops.DeepCopy(x=var.read_value())


def scalar(value: Any, dtype: tf.DType) -> tf.Tensor:
    """A number or tensor in a dtype; tf.cast would round a Python number to float32 on the way."""
    return tf.cast(value, dtype) if tf.is_tensor(value) else tf.constant(value, dtype)


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


def group(ops: Sequence[Any]) -> Any:
    """One op for all of them; None in eager code, where they have run."""
    return None if tf.executing_eagerly() else tf.group(*present(ops))


@contextmanager
def branches_that_know_references() -> Iterator[None]:
    """In a V1 graph, conditionals of V1: those of V2 are functions, which cannot write V1's reference variables."""
    if home() is not tf.get_default_graph() or not tf.control_flow_v2_enabled():
        yield
        return
    with v1_control_flow():
        yield


def start(var: Any) -> tf.Tensor:
    """The variable's value for state that begins with it: its initial value while it is not initialised."""
    if home() is None:
        return var.read_value()
    with branches_that_know_references():
        return tf.cond(tf.is_variable_initialized(var), var.read_value, lambda: tf.convert_to_tensor(var.initial_value))
