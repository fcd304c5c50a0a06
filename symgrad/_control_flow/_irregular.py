"""What gradients of V1 loops and branches take wrongly, merged Switches and ops outside, and how it is undone."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from .._op_types import ENTERS, EXITS, STACK_POPS
from . import _places


def irregular(ops: Iterable[tf.Operation]) -> list[tf.Operation]:
    """The Switches that feed both branches of a conditional, or several ops in the body of a loop.

    In a loop `tf.gradients` takes the first for the loop's own, and it visits the second once for each reader. The
    backward pass of a conditional, where the predicate comes from a stack, has the first by right.
    """
    found = []
    for op in ops:
        if _places.is_loop_switch(op):
            if len(op.outputs[1].consumers()) > 1:
                found.append(op)
        elif _places.is_branch_switch(op) and is_shared(op) and not _pops(op.inputs[1]):
            found.append(op)
    return found


def is_shared(op: tf.Operation) -> bool:
    return not is_pivot_switch(op) and all(tensor.consumers() for tensor in op.outputs)


def _pops(predicate: tf.Tensor) -> bool:
    return _places.source(predicate).op.type in STACK_POPS


def regularise(switch: tf.Operation) -> None:
    """Let what reads the second output of `switch` read it from another op."""
    readers = list(switch.outputs[1].consumers())
    if _places.is_loop_switch(switch):
        other = tf.identity(switch.outputs[1])
    else:
        other = tf.raw_ops.Switch(data=switch.inputs[0], pred=switch.inputs[1]).output_true
    for op in readers:
        for i, tensor in enumerate(op.inputs):
            if tensor is switch.outputs[1]:
                op._update_input(i, other)


def pivot_switches(predicate: tf.Tensor) -> list[tf.Operation]:
    """The Switch of a predicate by itself, from which `tf.cond` makes the pivots of its branches."""
    return [op for op in predicate.consumers() if _places.is_branch_switch(op) and is_pivot_switch(op)]


def is_pivot_switch(op: tf.Operation) -> bool:
    return _places.source(op.inputs[0]) is _places.source(op.inputs[1])


def put_outside(op: tf.Operation) -> None:
    """Take an op out of a loop in which it does not run.

    TensorFlow counts what enters a backward loop to the names known inside, and where it reads contexts from a
    MetaGraph it takes every op with a known name for one of the loop.
    """
    context = op._get_control_flow_context()
    loop = context and context.GetWhileContext()
    if loop and op.type not in ENTERS and op.inputs and not any(_lies_in(t.op, loop) for t in op.inputs):
        op._set_control_flow_context(loop.outer_context)


def _lies_in(op: tf.Operation, loop: Any) -> bool:
    """True if the outputs of `op` are inside of `loop`."""
    context = op._get_control_flow_context()
    if op.type in EXITS and context is not None:
        context = context.outer_context
    while context is not None and context is not loop:
        context = context.outer_context
    return context is loop
