"""Tangents through V1 TensorArrays, and through the stacks that the gradient of a V1 loop keeps its values on.

Each array and each stack with something active in it gets a shadow for the tangents: made, entered, written and read by
the same ops. The "tangent" of a handle is the handle of the shadow.
"""

import tensorflow.compat.v1 as tf

from .. import _sources, _tensors
from .._control_flow import enter, inside, switch
from .._op_types import ENTERS, SWITCHES, is_array_of_gradients
from .._pfor import NotVectorisedError
from ..errors import ControlFlowError
from ..rules import reapply
from . import _stack_order, _stacked
from ._handlers import PREPARATIONS, handler
from ._push import Push
from ._v1_frames import moving


def shadow(driver: Push, handle: tf.Tensor) -> tf.Tensor:
    """The handle of the shadow of an array or stack, at the place where `handle` is; made when first asked for."""
    found = driver.of(handle)
    if found is None:
        op = handle.op
        for tensor, made in zip(op.outputs, _like(driver, op), strict=True):
            driver.add(tensor, made)
        found = driver.of(handle)
    return found


def _like(driver: Push, op: tf.Operation) -> list[tf.Tensor]:
    """The outputs of an op like `op`, which makes a handle or hands it on, for the shadow."""
    if op.type in SWITCHES:
        return switch(op, shadow(driver, op.inputs[0]))
    if op.type in ENTERS:
        return [enter(op, shadow(driver, op.inputs[0]))]
    if op.type == "StackPopV2":
        return [_popped(driver, op)]
    # The call may come from a place in a loop, and the array or stack be made outside of it.
    with inside(op.graph, op._get_control_flow_context()):
        if op.type == "Identity":
            return [tf.identity(shadow(driver, op.inputs[0]))]
        if op.type in ("StackV2", "TensorArrayV3"):  # stacked elements have a shape of their own
            one = driver.count is None
            return reapply(op, op.inputs, shaped=one, leave=() if one else ("element_shape",))
        if is_array_of_gradients(op.type):
            inputs = [shadow(driver, op.inputs[0]), *(_input(driver, t) for t in op.inputs[1:])]
            return reapply(op, inputs, shaped=driver.count is None)
    raise ControlFlowError(
        f"the handle of a TensorArray or stack comes from {op.name!r} of type {op.type}, through which tangents cannot "
        "be followed; wanted one that comes straight from the op that made it"
    )


def _input(driver: Push, tensor: tf.Tensor) -> tf.Tensor:
    """What the shadow is given where the array or stack is given `tensor`.

    That is the tangent of a value or flow, the shadow of an array inside of a loop, an index as it is.
    """
    if tensor.dtype == tf.resource:
        return shadow(driver, tensor)
    return moving(driver, tensor) if _tensors.is_floating(tensor) else tensor


@PREPARATIONS.append
def _prepare_arrays(driver: Push) -> None:
    """Make the shadows of all active arrays: the flows of the arrays begin there, before any op on the way."""
    for op in driver.between.ops:
        if op.type in _ARRAY_OPS:
            maker = _sources.maker_of(op)
            while is_array_of_gradients(maker.type):
                maker = _sources.maker_of(maker)
            shadow(driver, maker.outputs[0])


_WRITES = ("TensorArrayScatterV3", "TensorArrayWriteV3")
_ARRAY_OPS = [f"TensorArray{what}V3" for what in ("Concat", "Gather", "Read", "Scatter", "Split", "Write")]


@handler(*_ARRAY_OPS)
def _array_op(driver: Push, op: tf.Operation) -> None:
    """All these ops are linear in what they read or write."""
    array = shadow(driver, op.inputs[0])
    if driver.count is not None:
        return _stacked_array_op(driver, op, array)
    with driver.where_outputs_lie(op):
        made = reapply(op, [array, *(_input(driver, t) for t in op.inputs[1:])])
    for tensor, tangent in zip(op.outputs, made, strict=True):
        if _tensors.is_floating(tensor):
            driver.add(tensor, tangent)
    return None


def _stacked_array_op(driver: Push, op: tf.Operation, array: tf.Tensor) -> None:
    """The same for an array whose elements are stacked tangents."""
    if op.type in ("TensorArrayConcatV3", "TensorArraySplitV3"):
        raise NotVectorisedError(
            f"{op.type} {op.name!r} joins elements of an array, which stacked tangents have no form for"
        )
    with driver.where_outputs_lie(op):
        inputs = [array, *(_input(driver, t) for t in op.inputs[1:])]
        if op.type == "TensorArrayScatterV3":
            inputs[2] = _stacked.swapped(inputs[2])
        (made,) = reapply(op, inputs, shaped=False, leave=("element_shape",))
        if op.type == "TensorArrayGatherV3":
            made = _stacked.swapped(made)
    (tensor,) = op.outputs
    driver.add(tensor, made if op.type in _WRITES else driver.shaped(made, tensor))


@handler("StackPopV2")
def _pop(driver: Push, op: tf.Operation) -> None:
    driver.add(op.outputs[0], _popped(driver, op))


def _popped(driver: Push, op: tf.Operation) -> tf.Tensor:
    """What the shadow of a stack gives where `op` takes something from the stack."""
    stack = _sources.maker_of(op)
    if driver.of(stack.outputs[0]) is None:
        shadow(driver, stack.outputs[0])
        for push in _sources.pushes(stack):
            _push(driver, push)
    for push in _sources.pushes(stack):
        _stack_order.let_go_first(driver, push, op)
    handle = shadow(driver, op.inputs[0])
    with driver.where_outputs_lie(op):
        return driver.shaped(_stack_order.take(driver, op, [handle]), op.outputs[0])


def _push(driver: Push, op: tf.Operation) -> None:
    """Push a tangent wherever the gradient pushes a value; zeros if the value does not move, so that both match."""
    handle = shadow(driver, op.inputs[0])
    with driver.where_outputs_lie(op):
        driver.add(op.outputs[0], _stack_order.take(driver, op, [handle, _input(driver, op.inputs[1])]))


@handler("StackPop", "StackPush")
def _old_stack(driver: Push, op: tf.Operation) -> None:
    raise ControlFlowError(
        f"{op.type} {op.name!r} is of the first version of stacks, from before TensorFlow 1.2; build the gradient of "
        "the loop again, in the imported graph"
    )
