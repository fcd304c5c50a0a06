"""Tangents through V1 loops and branches: each op of the frame has its like beside it, in the same frame.

No loop body is copied and no op that is there is changed: the tangent of a loop variable is one more variable of the
same loop, which turns as long as the loop's own condition says.
"""

import functools

import tensorflow.compat.v1 as tf

from .. import _walk
from .._control_flow import enter, exit_of, is_loop_merge, is_loop_switch, switch
from .._op_types import EXITS, SWITCHES
from ._handlers import handler
from ._push import Push


def moving(driver: Push, tensor: tf.Tensor) -> tf.Tensor:
    """The tangent of a tensor, zeros if it does not move."""
    tangent = driver.of(tensor)
    return driver.zeros(tensor) if tangent is None else tangent


@handler("Enter", "RefEnter")
def _enter(driver: Push, op: tf.Operation) -> None:
    tangent = driver.of(op.inputs[0])
    if tangent is not None:
        driver.add(op.outputs[0], enter(op, tangent))


@handler("Switch", "RefSwitch")
def _switch(driver: Push, op: tf.Operation) -> None:
    tangent = driver.of(op.inputs[0])
    if tangent is None:
        return
    sides = switch(op, tangent)
    if is_loop_switch(op):
        _leave_or_stay(driver, op, *sides)
        return
    for tensor, side in zip(op.outputs, sides, strict=True):
        driver.add(tensor, side)


def _leave_or_stay(driver: Push, op: tf.Operation, leaving: tf.Tensor, staying: tf.Tensor) -> None:
    """Give the new loop variable the form in which `tf.gradients` can differentiate it.

    That is one Exit, also where no y wants it, as a variable that never leaves is passed over; and one reader in the
    body, as the Switch is visited once for each of its readers and must be visited twice.
    """
    left = exit_of(op, leaving)
    for consumer in op.outputs[0].consumers():
        if consumer.type in EXITS:
            driver.add(consumer.outputs[0], left)
    with driver.where_outputs_lie(op):
        driver.add(op.outputs[1], tf.identity(staying))


@handler("Exit", "RefExit")
def _exit(driver: Push, op: tf.Operation) -> None:
    """Made together with its Switch."""


@handler("NextIteration", "RefNextIteration")
def _next_iteration(driver: Push, op: tf.Operation) -> None:
    with driver.where_outputs_lie(op):
        driver.add(op.outputs[0], tf.raw_ops.NextIteration(data=moving(driver, op.inputs[0])))


@handler("Merge", "RefMerge")
def _merge(driver: Push, op: tf.Operation) -> None:
    (_loop_merge if is_loop_merge(op) else _branch_merge)(driver, op)


def _loop_merge(driver: Push, op: tf.Operation) -> None:
    first, again = sorted(op.inputs, key=lambda t: _walk.is_back_edge(op, t))
    if driver.count is not None and driver.of(first) is None and first.op.type == "Enter":
        with driver.where_outputs_lie(first.op.inputs[0].op):  # zeros from outside: the vectoriser takes no others
            driver.add(first, enter(first.op, driver.zeros(first.op.inputs[0])))
    with driver.where_outputs_lie(op):
        start = moving(driver, first)
        merged, _ = tf.raw_ops.Merge(inputs=[start, start])
    driver.shaped(merged, op.outputs[0])
    driver.add(op.outputs[0], merged)
    closing = functools.partial(_close, driver, merged.op, again)
    driver.deferred.setdefault(op._get_control_flow_context(), []).append(closing)


def _close(driver: Push, merge: tf.Operation, again: tf.Tensor) -> None:
    """Lead the back edge to the tangent of the last iteration, which is there by now."""
    if driver.of(again) is None:
        _next_iteration(driver, again.op)
    merge._update_input(1, driver.of(again))


def _branch_merge(driver: Push, op: tf.Operation) -> None:
    if all(driver.of(tensor) is None for tensor in op.inputs):
        return
    arriving = [_arriving(driver, tensor) for tensor in op.inputs]
    context = op._get_control_flow_context()
    for tensor in arriving if context is not None else ():
        context.AddName(tensor.name)
    with driver.where_outputs_lie(op):
        merged, _ = tf.raw_ops.Merge(inputs=arriving)
    driver.shaped(merged, op.outputs[0])
    driver.add(op.outputs[0], merged)


def _arriving(driver: Push, tensor: tf.Tensor) -> tf.Tensor:
    """The tangent of a result of one branch, alive only if that branch is taken.

    A rule may give a constant, and in the backward pass of a branch TensorFlow keeps no context that would bind it.
    """
    with driver.where_outputs_lie(tensor.op):
        tangent = driver.of(tensor)
        if tangent is None:
            return driver.zeros(tensor)
        # What waits for a Switch runs whichever way it goes; what waits for one of its sides does not.
        side = tf.identity(tensor).op if tensor.op.type in SWITCHES else tensor.op
        arriving = tf.identity(tangent)
        arriving.op._add_control_input(side)  # tf.control_dependencies would mark `side`, an op of the user's
        return arriving
