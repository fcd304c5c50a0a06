"""Gradient functions that go through copies of V2 ops, where TensorFlow would change the ops of the user."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, rules
from .._control_flow import alias, behind, encloses, inside, private
from ._gradient_functions import Instead, attached, is_users
from ._refusals import require_inside, require_rules


def in_users_hands(ops: Iterable[tf.Operation], corrections: bool = True) -> Instead:
    """Gradient functions that go through copies, for what TensorFlow would change if a user's gradient function calls
    `tf.gradients` on the user's own tensors.
    """
    instead: Instead = {}
    users = [op for op in ops if is_users(op)]
    for op in behind(users) if users else ():
        context = op.graph._get_control_flow_context()
        if encloses(op._get_control_flow_context(), context):
            copied = _copied_once(op, op._gradient_function, context)
            instead[op] = functools.partial(_by_shared_copy, copied, corrections)
        else:
            instead[op] = functools.partial(by_private_copy, op._gradient_function, corrections)
    return instead


def by_private_copy(
    own: Callable[..., Any] | None, corrections: bool, op: tf.Operation, *cotangents: tf.Tensor | None
) -> list[Any]:
    """The gradient of a copy of `op`, made where the gradient is: in a backward loop it runs once more there.

    `own` is the gradient function that the op had; `corrections`: as for `reverse`.
    """
    return _through_copy(_copied(op, own), corrections, op, *cotangents)


def _by_shared_copy(copied: Callable[[], Any], corrections: bool, op: tf.Operation, *cotangents: Any) -> list[Any]:
    """The gradient of a copy of `op`, one for all that ask for it."""
    return _through_copy(copied(), corrections, op, *cotangents)


def _copied_once(op: tf.Operation, own: Callable[..., Any] | None, context: Any) -> Callable[[], Any]:
    """What copies `op` into a V1 `context` at its first call: a user's gradient function may leave the op alone."""

    @functools.cache
    def copied():
        with inside(op.graph, context):
            return _copied(op, own)

    return copied


def _copied(
    op: tf.Operation, own: Callable[..., Any] | None
) -> tuple[list[tf.Tensor], list[tf.Tensor], list[tf.Operation]]:
    """The inputs of a copy of `op`, its outputs, and what it is made of; `own` as for `by_private_copy`."""
    inputs = [alias(t) if _tensors.is_differentiable(t) else t for t in op.inputs]
    instead, op._gradient_function = op._gradient_function, own
    try:
        return inputs, *private(op, inputs, op.graph._get_control_flow_context())
    finally:
        op._gradient_function = instead


def _through_copy(copied, corrections: bool, op: tf.Operation, *cotangents: tf.Tensor | None) -> list[Any]:
    inputs, outputs, ops = copied
    pairs = [(y, u) for y, u in zip(outputs, cotangents, strict=True) if u is not None]
    moving = [i for i, t in enumerate(inputs) if _tensors.is_differentiable(t)]
    ys, xs, vectors = [y for y, _ in pairs], [inputs[i] for i in moving], [u for _, u in pairs]
    between = rules.between(ys, xs, within=ops)
    require_rules(between)
    for inner in between.ops:
        require_inside(inner, set(between.active_inputs(inner)))
    with attached(ops, corrections=corrections):
        gradients = dict(zip(moving, tf.gradients(ys, xs, vectors, name="copy"), strict=True))
    return [gradients.get(i) for i in range(len(inputs))]
