"""What ops read: also what a function body captured, and what an op takes from a stack or an array."""

from collections.abc import Iterable

import tensorflow.compat.v1 as tf

from . import _tf
from ._op_types import ENTERS, MERGES, STACK_POPS, STACK_PUSHES, SWITCHES

# Ops that hand on the handle of a stack or array; ops that put something there, or take it from there.
_HANDLE_PASSES = ENTERS | MERGES | SWITCHES | {"Identity"}


class Sources:
    """The tensors that ops read.

    A captured input of a function body is the tensor outside. What an op takes from a stack (the gradient of a V1 loop
    keeps there what the loop computed) it reads from where it was pushed; those tensors come after the op's inputs.
    """

    def __init__(self, stop_at: Iterable[tf.Tensor] = ()):
        self._stop_at = {id(t) for t in stop_at}
        self._outside: dict[int, dict[int, tf.Tensor]] = {}
        self._pushed: dict[tf.Operation, list[tf.Tensor]] = {}

    def again(self) -> "Sources":
        """The same for function bodies that have captured more since."""
        found = Sources()
        found._stop_at = self._stop_at
        return found

    def outer(self, tensor: tf.Tensor) -> tf.Tensor:
        """The tensor that `tensor` stands for: itself, or what its function body captured."""
        while isinstance(tensor.graph, _tf.FuncGraph) and id(tensor) not in self._stop_at:
            captured = self._captures(tensor.graph).get(id(tensor))
            if captured is None or isinstance(captured, _tf.EagerTensor):
                break
            tensor = captured
        return tensor

    def of(self, op: tf.Operation) -> list[tf.Tensor]:
        """The data inputs of `op`, then what it takes from a stack."""
        read = [*op.inputs, *self.pushed(op)] if op.type in STACK_POPS else op.inputs
        return [self.outer(t) for t in read] if isinstance(op.graph, _tf.FuncGraph) else list(read)

    def pushed(self, pop: tf.Operation) -> list[tf.Tensor]:
        """What is pushed on the stack that `pop` takes from."""
        stack = maker_of(pop)
        if stack not in self._pushed:
            self._pushed[stack] = [push.inputs[1] for push in pushes(stack)]
        return self._pushed[stack]

    def _captures(self, graph) -> dict[int, tf.Tensor]:
        if id(graph) not in self._outside:
            self._outside[id(graph)] = {id(inner): outer for outer, inner in graph.captures}
        return self._outside[id(graph)]


def maker_of(op: tf.Operation) -> tf.Operation:
    """The op that made the stack or array whose handle is the first input of `op`.

    The gradient of a loop in a loop keeps the handles of the arrays of the inner loop on a stack.
    """
    maker = op.inputs[0].op
    while maker.type in _HANDLE_PASSES or maker.type in STACK_POPS:
        maker = pushes(maker_of(maker))[0].inputs[1].op if maker.type in STACK_POPS else maker.inputs[0].op
    return maker


def pushes(stack: tf.Operation) -> list[tf.Operation]:
    """The ops that push on a stack."""
    found: dict[tf.Operation, None] = {}
    handles, seen = [stack.outputs[0]], set()
    while handles:
        for op in handles.pop().consumers():
            if op.type in STACK_PUSHES:
                found[op] = None
            elif op.type in _HANDLE_PASSES and op not in seen:
                seen.add(op)
                handles.extend(op.outputs)
    return list(found)
