"""Tangents through function calls: through the ops of the body, put in the place of the call."""

import tensorflow.compat.v1 as tf

from .. import _tf, rules
from .._bodies import called
from .._control_flow import alias, can_inline, graft, home_of, private, refuse_side_effects
from .._op_types import CALLS
from ._compiled_calls import through_originals
from ._handlers import whole
from ._push import Series, pushed


@whole(*CALLS)
def _through_call(series: Series, op: tf.Operation) -> None:
    if through_originals(series, op):
        return None
    if not can_inline(op):
        return series.through(op)
    given = series.given(op)
    first = series.pushes[0]
    with first.where_outputs_lie(op):  # by another name what comes in is told apart from what the call came from
        inputs = [alias(t) if i in given else t for i, t in enumerate(op.inputs)]
    outputs, ops = _inlined(op, inputs)
    needed = [(old, new) for old, new, n in zip(op.outputs, outputs, first.needed(op), strict=True) if n]
    xs, ys = [inputs[i] for i in given], [new for _, new in needed]
    between = rules.between(ys, xs, within=ops)
    inner = pushed(between, ys, xs, list(given.values()), series.algebra)
    for driver, found in zip(series.pushes, inner.pushes, strict=True):
        for old, new in needed:
            tangent = found.result(new)
            if tangent is not None:
                driver.add(old, tangent)
    return None


def _inlined(op: tf.Operation, inputs: list[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """The outputs of a call on `inputs`, computed by copies of the ops of its body, and these."""
    if tf.get_default_graph() is op.graph:
        return private(op, inputs, home_of(op))
    refuse_side_effects(op)
    copies: list[tf.Operation] = []  # in a function body that is being built, where the tangents are
    outputs = graft(_tf.function_graph(op, [t.shape for t in op.inputs], called(op)), inputs, copies)
    return outputs, copies
