"""Blocks through V1 loops, which no loop around them may enter: one block is built, and each turn runs a copy of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _walk
from .._control_flow import refuse_side_effects
from .._op_types import EXITS, MERGES, SWITCHES, is_array, lives_one_run
from .._reach import reach
from ..errors import ControlFlowError
from ._forward_copies import Copies

_JOINING = MERGES | EXITS
# TensorFlow's tensors have at most so many dimensions.
_MOST_IN_SHAPE = 254


class Template:
    """Tensors computed from `start`, a number, of which there are copies in functions for other numbers.

    What does not depend on `start` runs once, outside, but for V1 loops whose inside is needed and what is only alive
    in a branch. Variables that are read there are read again by each copy.

    Attributes:
      start: int32 scalar, to be used once while the template is built.
    """

    def __init__(self) -> None:
        self.start = tf.placeholder_with_default(0, [], "start")
        self.results: list[tf.Tensor] = []

    def at(self, start: tf.Tensor) -> list[tf.Tensor]:
        """The results for another number, by copies in the default graph, a function inside of that of the template.

        Raises:
          ControlFlowError: an op that would have to be copied draws random numbers, changes a state or may have one.
        """
        copies = Copies(self._shared(), [(self.start, start)])
        found = copies.of(self.results, "copy")
        of_block = set(_walk.readers([self.start]))  # these would run once for each block without copies, too
        for op in copies.made:
            if op.type == "PyFunc" and op not in of_block:
                raise ControlFlowError(
                    f"PyFunc {op.name!r} may give something else at a second run, which the copies would need; say "
                    "tf.py_func(..., stateful=False) if its function has no state and draws no random numbers"
                )
            if not lives_one_run(op.type):  # each copy has its own
                refuse_side_effects(op)
        return found

    def _shared(self) -> Callable[[tf.Operation], bool]:
        operations = self.start.graph.get_operations()
        arrays = [op for op in operations if lives_one_run(op.type)]
        loops = {_outermost_loop(op) for op in arrays} - {None}
        copied = set(_walk.readers([self.start])) | _alive_in_branches(operations) | _handed_on(arrays)
        copied.update(op for op in operations if _outermost_loop(op) in loops)
        copied |= _waiting_for(copied)
        return lambda op: op not in copied and not _is_inside(op) and not _may_be_shape(op)


def _may_be_shape(op: tf.Operation) -> bool:
    """True for small constants: TensorFlow reads shapes of them while building, which it cannot of what is captured."""
    return (
        op.type == "Const" and op.outputs[0].shape.num_elements() <= _MOST_IN_SHAPE and op.outputs[0].dtype.is_integer
    )


def _outermost_loop(op: tf.Operation) -> Any:
    """The V1 loop around `op`, None if there is none but those around the call of the operator."""
    return next((context for context in reversed([*_contexts(op)]) if context.IsWhileContext()), None)


def _is_inside(op: tf.Operation) -> bool:
    """True for an op in a V1 loop; what leaves the loop is outside."""
    loop = _outermost_loop(op)
    return loop is not None and not (op.type in EXITS and loop is op._get_control_flow_context())


def _waiting_for(ops: Iterable[tf.Operation]) -> set[tf.Operation]:
    """The ops that begin when one of `ops` is over: stacks are filled before they are emptied."""
    return set(reach((after for op in ops for after in op._control_outputs), lambda op: op._control_outputs))


def _handed_on(arrays: Sequence[tf.Operation]) -> set[tf.Operation]:
    """The ops on stacks and arrays, and those that hand on a handle or the flow that stands for what was written."""
    marks = [t for op in arrays for t in op.outputs if _is_handle(t) or _is_flow(op, t)]
    return {*arrays, *_walk.readers(marks, lambda op: not lives_one_run(op.type))}


def _is_handle(tensor: tf.Tensor) -> bool:
    return tensor.dtype == tf.resource or tensor.dtype._is_ref_dtype


def _is_flow(op: tf.Operation, tensor: tf.Tensor) -> bool:
    return is_array(op.type) and tensor.dtype == tf.float32 and tensor.shape.rank in (0, None)


def _alive_in_branches(operations: Sequence[tf.Operation]) -> set[tf.Operation]:
    """The ops of V1 branches: those behind a Switch and before a Merge, also behind loops and branches in a branch."""

    def alive(ops: Iterable[tf.Operation]) -> list[tf.Operation]:
        return [op for op in ops if op.type not in _JOINING or _is_in_branch(op)]

    def onward(op: tf.Operation) -> list[tf.Operation]:
        return alive([*(reader for t in op.outputs for reader in t.consumers()), *op._control_outputs])

    return set(reach(alive(op for op in operations if op.type in SWITCHES or _is_in_branch(op)), onward))


def _is_in_branch(op: tf.Operation) -> bool:
    """True for an op in a V1 branch or in a loop there, but for those around the call of the operator."""
    return any(context.IsCondContext() for context in _contexts(op))


def _contexts(op: tf.Operation) -> Iterator[Any]:
    """The V1 loops and branches around `op`, innermost first, but for those around the call of the operator."""
    context, around = op._get_control_flow_context(), op.graph._get_control_flow_context()
    while context is not None and context is not around:
        yield context
        context = context.outer_context
