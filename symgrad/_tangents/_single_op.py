"""Tangents through one op: by a rule, or by the double VJP of this op alone."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _vjp, _walk, rules
from .._control_flow import home_of, private
from .._op_types import FUNCTIONAL
from ..errors import MissingRuleError

Tangents = Sequence[tf.Tensor | None]


def through(op: tf.Operation, tangents: Tangents, needed: Sequence[bool], *, instead: _vjp.Instead) -> Tangents:
    """The tangents of the outputs of `op` from those of its inputs; None is a tangent of zeros.

    `instead` is as for `_vjp.gradient_of`.
    """
    if all(has_rule(op, i) for i, t in enumerate(tangents) if t is not None):
        return _by_rule(op, tangents)
    if op.type in FUNCTIONAL:  # `tf.gradients` changes a V2 loop or branch: take a copy
        _, (op,) = private(op, list(op.inputs), home_of(op))
        _vjp.require_inside(op, {i for i, t in enumerate(tangents) if t is not None})
    return _by_double_vjp(op, tangents, needed, instead)


def has_rule(op: tf.Operation, index: int) -> bool:
    """True if a pushforward rule says how the tangent of this input goes on."""
    if rules.has_own_gradient(op):
        return _tf.is_recompute(op)
    return rules.pushforward.answers(op.type, index)


def is_by_table(op: tf.Operation, active: Sequence[int]) -> bool:
    """True if the rules for these inputs are rows of a table, which say all without being run."""
    rule = rules.pushforward.find(op.type)
    return isinstance(rule, rules.Row) and all(has_rule(op, i) for i in active)


def _by_rule(op: tf.Operation, tangents: Tangents) -> Tangents:
    rule = rules.pushforward[op.type]
    if not isinstance(rule, rules.Row):
        pairs = zip(op.inputs, tangents, strict=True)
        tangents = [tf.zeros_like(x) if t is None and _tensors.is_floating(x) else t for x, t in pairs]
    found = rule(op, *tangents)
    found = list(found) if isinstance(found, list | tuple) else [found]
    if len(found) != len(op.outputs):
        raise MissingRuleError(
            f"the pushforward rule of {op.type} returned {len(found)} tangents for {len(op.outputs)} outputs of "
            f"{op.name!r}; return one for each output, None for zeros"
        )
    for tangent, output in zip(found, op.outputs, strict=True):
        if tangent is not None and _tensors.is_floating(output):
            tangent.set_shape(output.shape)
    return found


def _by_double_vjp(op, tangents: Tangents, needed: Sequence[bool], instead: _vjp.Instead) -> Tangents:
    """The gradient function of `op` at dummies u is J^T u; its own VJP at the tangents is J v.

    The dummies are made of ones: zeros turn the gradients of a norm and of a cumulative logsumexp into 0/0.
    """
    dummies = [_dummy(t, n) for t, n in zip(op.outputs, needed, strict=True)]
    pulled = _vjp.gradient_of(op, dummies, instead=instead)
    return _pushed(pulled, op, dummies, tangents, needed)


def _dummy(output: tf.Tensor, needed: bool) -> tf.Tensor | None:
    if not _tensors.is_differentiable(output):
        return None
    if output.dtype == tf.resource:  # a variable that a loop hands on: it moves by its own tangent
        dtype = _tf.handle_dtype(output)
        return None if dtype is None else tf.zeros(tf.raw_ops.VariableShape(input=output), dtype)
    return tf.ones_like(output) if needed and _tensors.is_floating(output) else tf.zeros_like(output)


def _pushed(pulled, op, dummies, tangents, needed) -> Tangents:
    pairs = [
        (_tensors.densify(g, x), t)
        for g, x, t in zip(pulled, op.inputs, tangents, strict=True)
        if g is not None and t is not None
    ]
    moving = [u for u in dummies if u is not None]
    if not pairs or not moving:
        return [None] * len(dummies)
    ends = [g for g, _ in pairs]
    between = rules.between(ends, moving, within=_walk.readers(moving))
    found = iter(_vjp.vjp(ends, moving, [t for _, t in pairs], between=between, name="tangent"))
    pushed = [None if u is None else next(found) for u in dummies]
    return [tf.zeros_like(u) if t is None and n else t for t, u, n in zip(pushed, dummies, needed, strict=True)]
