"""What refuses a reverse pass before it begins: an op without a rule, or the gradient of a V1 loop."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _walk, rules
from .._op_types import EXITS, FUNCTIONAL, STACK_POPS
from ..errors import ControlFlowError, MissingRuleError
from ._gradient_functions import by_composite, rule_of


def require_rules(between: _walk.Between) -> None:
    """Raise MissingRuleError if an op between xs and ys has a derivative and no rule for it."""
    gaps = rules.gaps(between)
    if gaps:
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        raise MissingRuleError(_gap_sentence(*gaps[0], more))


def require_inside(op: tf.Operation, active: set[int] | None) -> None:
    """The same for the bodies of an op, entered through the `active` inputs (None: any)."""
    for between in rules.inside(op, active):
        require_rules(between)
        for inner in between.ops:
            require_inside(inner, set(between.active_inputs(inner)))


def refuse_partial_rules(
    between: _walk.Between, ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], stop: Sequence[tf.Tensor] = ()
) -> None:
    """Raise MissingRuleError if a rule of ours would stand for a gradient of which it knows a part only.

    For `gradients`, which leaves all other gaps to `tf.gradients`: that answers them with an error or with None.
    """
    if any(op.type in FUNCTIONAL or _is_partial(op, between.active_inputs(op)) for op in between.ops):
        for op, index, cut in rules.missing(list(ys), list(xs), stop):
            if _is_partial(op, [index]):
                raise MissingRuleError(_gap_sentence(op, index, cut))


def _is_partial(op: tf.Operation, active: Sequence[int]) -> bool:
    """True if `gradients` takes a rule for `op` that does not speak for one of its `active` inputs."""
    if rules.has_own_gradient(op) or rule_of(op, corrections=False) in (None, by_composite):
        return False
    answered = (rules.transpose.answers(op.type, i) or rules.transpose.is_flat(op.type, i) for i in active)
    return not all(answered)


def _gap_sentence(op: tf.Operation, index: int, cut: rules.Cut, more: str = "") -> str:
    return (
        f"no gradient for op {op.name!r} of type {op.type} with respect to its input {index} "
        f"({op.inputs[index].name}): {cut.value}{more}. Give a rule with symgrad.rules.transpose({op.type!r}), or "
        "wrap the input in tf.stop_gradient if it is meant to be a constant"
    )


def refuse_gradient_loops(between: _walk.Between) -> None:
    """Raise ControlFlowError where a path leads back through the gradient of a V1 loop.

    TensorFlow refuses the loop that it knows as a gradient; in an imported graph it would go on and leave out what
    passes through the stacks.
    """
    for op in between.ops:
        context = op._get_control_flow_context() if op.type in EXITS else None
        if op.type in STACK_POPS or (context is not None and context.grad_state is not None):
            raise ControlFlowError(
                f"ys are computed by the gradient of a V1 loop (at {op.name!r}, {op.type}), whose own gradient cannot "
                "be taken in reverse; take it forward: symgrad.hvp for second derivatives of a scalar, symgrad.Rop of "
                "the gradient else"
            )
