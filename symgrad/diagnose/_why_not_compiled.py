"""What symgrad.compiled leaves outside, and why."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _where
from .._compiled import Outside, fetched, planned
from .._finding import Finding

_ADVICE = {
    Outside.V1_FLOW: "V2 control flow (tf.enable_control_flow_v2() before it is built) may go in",
    Outside.LIST: "Write the loop out in Python, or leave it to the session",
    Outside.DEVICE: "Only what may run on the CPU of this task is compiled",
}


def why_not_compiled(tensors: Any, inputs: Any = ()) -> list[Finding]:
    """What `symgrad.compiled(tensors, inputs)` leaves outside that could be wished inside; builds nothing.

    What is fed, variables, large constants and what is needed for the derivative of something outside are not named.

    Args:
      tensors: tensor or structure of tensors of a graph.
      inputs: tensor or structure of tensors at which the compiled part begins.

    Returns:
      A list of `Finding`, a V1 loop or branch as one; empty if all goes in.

    Raises:
      DtypeError, GraphMismatchError, ShapeError: as for `symgrad.compiled`.

    Example:
      >>> x = tf.placeholder(tf.float32, [3])
      >>> y = tf.exp(tf.reduce_max(x, name="largest"))
      >>> [(f.cause.name, f.op) for f in symgrad.diagnose.why_not_compiled(y)]
      [('DIFFERS', 'largest')]
    """
    hindrances = planned(*fetched(tensors, inputs)).hindrances()
    alike: dict[Any, list[tf.Operation]] = {}
    for op in hindrances:
        alike.setdefault(_around(op), []).append(op)
    return [_finding(ops, *hindrances[ops[0]]) for ops in alike.values()]


def _around(op: tf.Operation) -> Any:
    """The outermost V1 loop or branch that an op is in, or the op."""
    context = op._get_control_flow_context()
    while context is not None and context.outer_context is not None:
        context = context.outer_context
    return op if context is None else context


def _finding(ops: list[tf.Operation], cause: Outside, detail: str) -> Finding:
    op = ops[0]
    names = tuple(o.name for o in ops)
    return Finding(
        op.name,
        cause,
        op.name,
        op.type,
        where=_where.made_at(op),
        detail=detail,
        advice=_ADVICE.get(cause, ""),
        ops=names,
    )
