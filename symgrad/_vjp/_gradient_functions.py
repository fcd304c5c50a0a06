"""The gradient functions that ops have during a pass: rules of ours, and users' functions under a watch."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _walk, rules
from .._control_flow import bodies, declared_gradient
from .._op_types import FUNCTIONAL
from .._where import made_at
from ..errors import MissingRuleError, SymgradError

# The gradient functions that ops have for one pass.
Instead = dict[tf.Operation, Callable[..., Any]]


@contextlib.contextmanager
def attached(
    ops: Iterable[tf.Operation],
    instead: Instead | None = None,
    *,
    linear: bool = False,
    corrections: bool = True,
) -> Iterator[None]:
    """Let each op with a rule of ours be differentiated by it, also in the bodies of private V2 loops and branches.

    And those in `instead` by the functions given there.
    """
    attached = {op: op._gradient_function for op in instead or ()}
    for op, function in (instead or {}).items():
        op._gradient_function = function
    todo = list(ops)
    todo += behind_users(todo) if corrections else []
    while todo:
        op = todo.pop()
        rule = checked(op) if linear and is_users(op) else rule_of(op, corrections=corrections)
        if rule is not None and op not in attached:
            attached[op] = op._gradient_function
            op._gradient_function = rule
        for body in bodies(op):
            todo.extend(body.get_operations())
    try:
        yield
    finally:
        for op, own in attached.items():
            op._gradient_function = own


def rule_of(op: tf.Operation, *, corrections: bool = True) -> Callable[..., Any] | None:
    """The rule that stands for TensorFlow's gradient of `op`, if there is one."""
    if rules.has_own_gradient(op):
        return _rule_beside_own(op, corrections=corrections)
    if rules.composite.rule_of(op, corrections=corrections):
        return by_composite
    return rules.transpose.rule_of(op, corrections=corrections)


def _rule_beside_own(op: tf.Operation, *, corrections: bool) -> Callable[..., Any] | None:
    """What stands for a gradient of the op's own that TensorFlow cannot use, or hands to an op without a gradient.

    What tf.recompute_grad computes again is new ops in the hands of a GradientTape, which no rule of ours
    reaches: where one of these corrects TensorFlow, nothing is computed again.
    """
    if _tf.is_gradient_of_recompute(op) or (corrections and _tf.is_recompute(op) and _is_corrected_inside(op)):
        return lambda op, *cotangents: list(cotangents)  # the inside, of which it is the identity, has gradients
    named = op._gradient_function is not None or _tf.has_attribute(op, "_gradient_op_type")
    return None if named else declared_gradient(op)


def _is_corrected_inside(recompute: tf.Operation) -> bool:
    """True if TensorFlow has a wrong gradient, or none, for an op that a tf.recompute_grad computes again."""
    if any(t.dtype.is_complex for t in recompute.inputs):
        return True  # it takes the largest element of an argument, to wait for it
    results = _tf.results_of_custom_gradient(recompute)
    arguments = {t.op for t in recompute.inputs[results:]}
    return any(map(_is_corrected, _walk.ancestors(recompute.inputs[:results], stop=arguments)))


def _is_corrected(op: tf.Operation) -> bool:
    """True if there is a rule that corrects TensorFlow's gradient of `op`, or of an op in one of its bodies."""
    if rules.has_own_gradient(op):
        return False
    tables = (rules.composite, rules.transpose)
    if any(table.rule_of(op) is not table.rule_of(op, corrections=False) for table in tables):
        return True
    return any(_is_corrected(inner) for body in bodies(op) for inner in body.get_operations())


def behind_users(ops: Iterable[tf.Operation]) -> list[tf.Operation]:
    """The ops with rules that correct TensorFlow that gradient functions of users among `ops` may differentiate."""
    users = [op for op in ops if is_users(op)]
    return [op for op in _walk.ancestors([t for op in users for t in op.inputs]) if _is_corrected(op)] if users else []


def by_composite(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[Any]:
    """The gradient of the ops that `op` could be made of."""
    inputs = [tf.identity(t) if _tensors.is_differentiable(t) else t for t in op.inputs]
    outputs = rules.composite[op.type](op, *inputs)
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    pairs = [(y, u) for y, u in zip(outputs, cotangents, strict=True) if y is not None and u is not None]
    moving = [i for i, t in enumerate(inputs) if _tensors.is_differentiable(t)]
    found = tf.gradients([y for y, _ in pairs], [inputs[i] for i in moving], [u for _, u in pairs], name="composite")
    gradients = dict(zip(moving, found, strict=True))
    return [gradients.get(i) for i in range(len(inputs))]


def is_users(op: tf.Operation) -> bool:
    """True for an op with a gradient of its own that a user may have written."""
    return rules.has_own_gradient(op) and op.type not in FUNCTIONAL and not _tf.is_recompute(op)


def checked(op: tf.Operation) -> Callable[..., Any]:
    """The gradient function of `op`, which raises if what it builds is not linear in the incoming gradient."""
    function = rule_of(op) or _tf.get_gradient_function(op)

    def watched(op, *cotangents):
        fresh = [None if u is None else tf.identity(tf.convert_to_tensor(u)) for u in cotangents]
        found = function(op, *fresh)
        gradients = found if isinstance(found, list | tuple) else [found]
        rules.require_linear(op, gradients, [u for u in fresh if u is not None])
        return found

    return watched


def nothing(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[None]:
    """The gradient of a loop, branch or call through which no derivative leads.

    `tf.gradients` goes wherever tensors lead, and a body may leave an argument unused.
    """
    return [None] * len(op.inputs)


@contextlib.contextmanager
def typed(op: tf.Operation | None = None) -> Iterator[None]:
    """Say of an error in a gradient function what it means: there is no usable rule.

    Without an `op` it is asked of the error whose gradient function raised it; what `tf.gradients` says of its
    arguments stays as it is.
    """
    try:
        yield
    except SymgradError:
        raise
    except Exception as error:
        op = op or _tf.op_being_differentiated(error)
        if op is None:
            raise
        made = made_at(op)
        said = f"{type(error).__name__}: {error}" if str(error).strip() else type(error).__name__
        raise MissingRuleError(
            f"the gradient function of {op.type} {op.name!r}{f' (made at {made})' if made else ''} failed with {said}. "
            f"Give a rule with symgrad.rules.transpose({op.type!r}), or wrap the op's inputs in tf.stop_gradient"
        ) from error
