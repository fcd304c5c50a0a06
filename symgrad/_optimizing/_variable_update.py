"""How one variable is updated: by kernel or formula, in all rows or those with a gradient; then it is constrained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError, ShapeError
from ._host import StepHost
from ._variables import assign, group, is_resource, label, present, read, scatter_add, scatter_update

__all__ = ["constrained", "update_by_rows", "update_dense", "update_variable"]


def update_variable(optimizer: StepHost, grad: Any, var: Any) -> Any:
    """The whole update of one variable, through the hooks of TensorFlow's class. Returns the op (eager: None)."""
    rows = None
    if isinstance(grad, tf.IndexedSlices):
        rows = grad.indices if optimizer._moves_touched_rows_only() else None
        if is_resource(var):
            done = optimizer._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
        else:
            done = optimizer._apply_sparse_duplicate_indices(grad, var)
    elif is_resource(var):
        done = optimizer._resource_apply_dense(grad, var)
    else:
        done = optimizer._apply_dense(grad, var)
    return constrained(var, optimizer._constraint_of(var), done, rows)


def constrained(var: Any, constraint: Any, done: Any, rows: tf.Tensor | None = None) -> Any:
    """Put the variable back where its constraint wants it, after `done`.

    Args:
      var: the variable.
      constraint: function of its value, or None.
      done: the op of the update, or None.
      rows: indices of all rows that the update has moved, None for all; used if the constraint says `rowwise`.
    """
    if constraint is None:
        return done
    with tf.control_dependencies(present([done])):
        if rows is not None and getattr(constraint, "rowwise", False):
            rows = tf.unique(rows).y
            return scatter_update(var, rows, constraint(tf.gather(var, rows)))
        return assign(var, constraint(read(var)))


def update_dense(optimizer: StepHost, grad: tf.Tensor, var: Any) -> Any:
    """The update by a dense gradient: the kernel where the optimizer names one, else its formula."""
    h, slots = optimizer._scalars(var), optimizer._slots_of(var)
    kernel = optimizer._kernel()
    if kernel is not None and kernel.fits(var):
        return kernel.dense(grad, var, h, slots)
    values = {name: read(variable) for name, variable in slots.items()}
    delta, new = _formula(optimizer, grad, var, h, values)
    with tf.control_dependencies([delta, *values.values(), *new.values()]):  # no slot is written before all are read
        locking = {"use_locking": h.use_locking}
        writes = [assign(slots[name], value, **locking) for name, value in new.items()]
        return group([var.assign_add(delta, read_value=False, **locking), *writes])


def update_by_rows(optimizer: StepHost, grad: tf.IndexedSlices, var: Any) -> Any:
    """The update of the rows that a sparse gradient names, each once; other rows and their slots stay as they are."""
    h, slots = optimizer._scalars(var), optimizer._slots_of(var)
    kernel = optimizer._kernel()
    if kernel is not None and kernel.fits(var, rows=True):
        return kernel.rows(grad, var, h, slots)
    values = {name: tf.gather(variable, grad.indices) for name, variable in slots.items()}
    delta, new = _formula(optimizer, grad.values, tf.gather(var, grad.indices), h, values)
    with tf.control_dependencies([delta, *values.values(), *new.values()]):
        writes = [scatter_update(slots[name], grad.indices, value) for name, value in new.items()]
        return group([scatter_add(var, grad.indices, delta), *writes])


def _formula(optimizer: StepHost, grad: tf.Tensor, var: Any, h: Any, values: dict[str, tf.Tensor]) -> tuple:
    """The optimizer's `step`, and what it returned checked."""
    result = optimizer.step(grad, var, h, SimpleNamespace(**values))
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
        raise OptimizerError(
            f"{type(optimizer).__name__}.step returned {type(result).__name__}; wanted a pair: what to add to the "
            "variable, and a dict of the new slots ({} if there are none)"
        )
    delta, new = result
    unknown = sorted(set(new) - set(values))
    if unknown:
        raise OptimizerError(
            f"{type(optimizer).__name__}.step wrote the slots {unknown}, which are not declared; declare them in the "
            f"class, `{unknown[0]} = slot()` (it has {sorted(values)})"
        )
    where = f"{type(optimizer).__name__}.step for variable {label(h.variable)}"
    delta = _like(delta, grad, f"{where}: what to add")
    return delta, {name: _like(value, values[name], f"{where}: slot {name}") for name, value in new.items()}


def _like(value: Any, model: tf.Tensor, what: str) -> tf.Tensor:
    value = tf.convert_to_tensor(value, dtype_hint=model.dtype)
    if value.dtype != model.dtype:
        raise OptimizerError(f"{what} has dtype {value.dtype.name}; wanted {model.dtype.name}")
    if not value.shape.is_compatible_with(model.shape):
        raise ShapeError(f"{what} has shape {value.shape}; wanted {model.shape}")
    return value
