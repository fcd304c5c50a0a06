"""Switches that an optimiser of graphs has merged: what TensorFlow's gradients take wrongly, and how it is undone."""

from collections.abc import Iterable

import tensorflow.compat.v1 as tf

from .._op_types import STACK_POPS
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
