"""One training step: transforms, slots, the update of every variable, shared slots, counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from ._chain import Transform, run_chain
from ._checked import Pairs
from ._host import StepHost
from ._scalars import Moment, Scalars
from ._variable_update import update_variable
from ._variables import assign, branches_that_know_references, colocated, home, is_resource, label, present

__all__ = ["advance", "after", "apply_pairs", "count", "gated", "links", "transformed"]


def apply_pairs(optimizer: StepHost, pairs: Pairs, global_step: Any, name: str | None) -> Any:
    """Build (or in eager code take) the step of `optimizer` for checked pairs; returns its last op."""
    pairs, when = transformed(optimizer, pairs)
    with tf.name_scope(name, optimizer._name) as scope:
        if when is None:
            return _step(optimizer, pairs, global_step, scope)
        return gated(when, lambda: _step(optimizer, pairs, global_step, None), scope)


def transformed(optimizer: StepHost, pairs: Pairs) -> tuple[Pairs, tf.Tensor | None]:
    """The pairs after the chain, the step's condition; and all state is made."""
    when = None
    if optimizer.transforms:
        with tf.name_scope(None, f"{optimizer._name}_transforms"):
            pairs, when = run_chain(optimizer.transforms, pairs)
    variables = [var for _, var in pairs]
    with tf.init_scope(), branches_that_know_references():
        optimizer._create_state(variables)
        optimizer._create_slots(variables)
        for link in links(optimizer):
            link.create(variables)
    return pairs, when


def links(optimizer: StepHost) -> list[Transform]:
    """The transforms that do something around the update."""
    return [transform for transform in optimizer.transforms if isinstance(transform, Transform)]


def _step(optimizer: StepHost, pairs: Pairs, global_step: Any, scope: str | None) -> Any:
    variables = [var for _, var in pairs]
    optimizer._begin()
    optimizer._prepare()
    with after([grad for grad, _ in pairs] if links(optimizer) else []):
        before = [op for link in links(optimizer) for op in link.before(variables)]
    with after(before):
        updates = [_update(optimizer, grad, var) for grad, var in pairs]
    with after(updates):
        updates += [op for link in links(optimizer) for op in link.after(variables)]
    with after(updates):
        updates += advance(optimizer)
    if global_step is None:
        return optimizer._finish(present(updates), scope)
    with after([optimizer._finish(present(updates), "update")]), colocated(global_step):
        return count(global_step, scope)


def after(ops: list[Any]) -> Any:
    """What is built inside runs after these ops and gradients."""
    return tf.control_dependencies([op.values if isinstance(op, tf.IndexedSlices) else op for op in present(ops)])


def _update(optimizer: StepHost, grad: Any, var: Any) -> Any:
    """The update of one variable, on its device and under its name (variables of eager code may have any)."""
    scope = "update" if home() is None else f"update_{label(var)}"
    with tf.name_scope(scope), colocated(var):
        return update_variable(optimizer, grad, var)


def advance(optimizer: StepHost) -> list[Any]:
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
        with after([*ops, moment.finished]):
            ops.append(counter.assign_add(1, read_value=False))
    return ops


def count(global_step: Any, scope: str | None) -> Any:
    """Increment the caller's step counter."""
    if is_resource(global_step):
        return global_step.assign_add(1, name=scope, read_value=False)
    return tf.assign_add(global_step, 1, name=scope).op


def gated(when: tf.Tensor, build: Callable[[], Any], scope: str | None = None) -> Any:
    """What `build` makes, run only where `when` is true. Returns the op (None in eager code)."""
    if tf.executing_eagerly():
        if when:
            build()
        return None

    def taken() -> tf.Tensor:
        with tf.control_dependencies([build()]):
            return tf.constant(True)

    with branches_that_know_references():
        result = tf.cond(when, taken, lambda: tf.constant(False))
    return tf.group(result, name=scope)
