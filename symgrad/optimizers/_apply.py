"""One training step: transforms, slots, the update of every variable, shared slots, counters."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from ._check import Pairs
from ._moment import Moment, Scalars
from ._update import update_variable
from ._variables import assign, colocated, is_resource, label, present

__all__ = ["apply_pairs"]


def apply_pairs(optimizer: Any, pairs: Pairs, global_step: Any, name: str | None) -> Any:
    """Build (or in eager code take) the step of `optimizer` for checked pairs; returns its last op."""
    with tf.init_scope():
        optimizer._create_state([var for _, var in pairs])
    with tf.name_scope(name, optimizer._name) as scope:
        return _step(optimizer, pairs, global_step, scope)


def _step(optimizer: Any, pairs: Pairs, global_step: Any, scope: str) -> Any:
    optimizer._begin()
    optimizer._prepare()
    updates = [_update(optimizer, grad, var) for grad, var in pairs]
    with tf.control_dependencies(present(updates)):
        updates += advance(optimizer)
    if global_step is None:
        return optimizer._finish(present(updates), scope)
    finish = optimizer._finish(present(updates), "update")
    with tf.control_dependencies(present([finish])), colocated(global_step):
        return _count(global_step, scope)


def _update(optimizer: Any, grad: Any, var: Any) -> Any:
    """The update of one variable, on its device and under its name (variables of eager code may have any)."""
    scope = "update" if tf.executing_eagerly_outside_functions() else f"update_{label(var)}"
    with tf.name_scope(scope), colocated(var):
        return update_variable(optimizer, grad, var)


def advance(optimizer: Any) -> list[Any]:
    """The ops that move the shared slots and the counter on to the next step."""
    ops = []
    moment: Moment = optimizer._moment
    for name, variable in optimizer._shared_variables().items():
        dtype = variable.dtype.base_dtype
        with colocated(variable):
            new = optimizer._shared[name].advance(moment.scalar(name, dtype), Scalars(moment, dtype))
            ops.append(assign(variable, new, use_locking=optimizer._use_locking))
    counter = optimizer._counter()
    if counter is not None:
        ops.append(counter.assign_add(1, read_value=False))
    return ops


def _count(global_step: Any, scope: str) -> Any:
    if is_resource(global_step):
        return global_step.assign_add(1, name=scope, read_value=False)
    return tf.assign_add(global_step, 1, name=scope).op
