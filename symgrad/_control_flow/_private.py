"""Private copies of V2 control flow and function calls.

`tf.gradients` gives a forward `While`, `If`, `Case` or function call further outputs for its own use. A session that
has already run the op does not see the change and refuses to run it again. So derivatives are taken through a copy of
these ops and of what lies between them and ys; what the caller had stays as it was.
"""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf, _walk
from .._copies import behave_as, op_like
from .._op_types import BRANCHES, FUNCTIONAL, LOOPS
from ._in_context import frame_of, in_place_of, inside
from ._inline import can_inline, inline
from ._own_bodies import own_bodies
from ._side_effects import refuse_side_effects, refuse_v1_in_bodies
from ._surroundings import encloses, leads_to_the_call


class PrivateCopy:
    """Copies of the ops of a graph that `tf.gradients` would change, and of all that lies between them and ys.

    Function calls are replaced by the ops of their bodies. Where V1 loops or branches would have to be copied nothing
    is; the ops in `recomputed` are to be differentiated through copies that their gradient functions make.
    """

    def __init__(self, between: _walk.Between):
        self._tensors: dict[int, tf.Tensor] = {}
        self._ops: dict[tf.Operation, list[tf.Operation]] = {}
        self.recomputed: list[tf.Operation] = []
        touched = _touched(between)
        if not all(encloses(op._get_control_flow_context(), op.graph._get_control_flow_context()) for op in touched):
            self.recomputed = [op for op in touched if needs_copy(op)]
            return
        for op in touched:
            reads = zip(between.sources.of(op), op.inputs, strict=True)
            self._copy(op, [self._tensors.get(id(s), t) for s, t in reads])

    def of(self, tensors: Iterable[tf.Tensor]) -> list[tf.Tensor]:
        """The tensors, each replaced by its copy if it has one."""
        return [self._tensors.get(id(t), t) for t in tensors]

    def ops(self, ops: Iterable[tf.Operation]) -> list[tf.Operation]:
        """The ops, each replaced by what stands in its place, if anything does."""
        return [new for op in ops for new in self._ops.get(op, [op])]

    def _copy(self, op: tf.Operation, inputs: list[tf.Tensor]) -> None:
        if leads_to_the_call(op):  # the copies are there already
            outputs, self._ops[op] = [inputs[0]] * len(op.outputs), []
        else:
            outputs, self._ops[op] = private(op, inputs, frame_of(op.graph._get_control_flow_context()))
        self._tensors.update((id(old), new) for old, new in zip(op.outputs, outputs, strict=True))


def behind(ops: Iterable[tf.Operation]) -> list[tf.Operation]:
    """The loops, branches and calls of V2 that ops are computed from."""
    return [op for op in _walk.ancestors([t for op in ops for t in op.inputs]) if needs_copy(op)]


def _touched(between: _walk.Between) -> list[tf.Operation]:
    """The ops that need a copy, and those behind them."""
    tensors: set[int] = set()
    ops = []
    for op in between.ops:
        if needs_copy(op) or any(id(t) in tensors for t in between.sources.of(op)):
            ops.append(op)
            tensors.update(map(id, op.outputs))
    return ops


def refuse_copies(between: _walk.Between) -> None:
    """Raise what making a `PrivateCopy` would raise, before anything is built."""
    for op in _touched(between):
        refuse_v1_in_bodies(op)
        refuse_side_effects(op)


def refuse_inlining(between: _walk.Between) -> None:
    """Raise what putting function bodies in the place of calls would raise, before anything is built."""
    for op in between.ops:
        if op.type in FUNCTIONAL or can_inline(op):
            refuse_v1_in_bodies(op)
            refuse_side_effects(op)


def private(
    op: tf.Operation, inputs: list[tf.Tensor], context: Any = None
) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """What computes the outputs of an op on other inputs and may be changed: its outputs and ops, one but for a call.

    Args:
      op: of any type.
      inputs: one for each input of `op`.
      context: the V1 loop or branch to put the copy in.

    Raises:
      ControlFlowError: the op must not run twice.
    """
    refuse_v1_in_bodies(op)
    refuse_side_effects(op)
    if can_inline(op):
        return inline(op, inputs, context, own_bodies)
    copied = clone(op, inputs, context)
    own_bodies(copied)
    return list(copied.outputs), [copied]


def alias(tensor: tf.Tensor) -> tf.Tensor:
    """The same values, or the same variable or list, under another name: what enters a copy is told apart by it."""
    other = tf.identity(tensor)
    _tf.copy_handle_data(tensor, other)
    return other


def needs_copy(op: tf.Operation) -> bool:
    """True for an op that `tf.gradients` changes under the eyes of a session, and for a function call."""
    return can_inline(op) or (op.type in FUNCTIONAL and not isinstance(op.graph, _tf.FuncGraph))


def clone(op: tf.Operation, inputs: list[tf.Tensor], context: Any = None) -> tf.Operation:
    """An op like `op` that reads `inputs`, with the same attributes, device and control inputs, in a V1 `context`."""
    place = in_place_of(op, context)
    if op.type in LOOPS | BRANCHES:  # its gradient adds inputs, and what it waits for must come after
        with place:
            inputs = [tf.identity(inputs[0]), *inputs[1:]]
        place = inside(op.graph, context)
    with place:
        copied = op_like(op, inputs)
    behave_as(op, copied)
    return copied
