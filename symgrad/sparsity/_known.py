"""What tensors are in one iteration of a loop: counters and all that follows from them, op by op."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _bodies, _tf, _walk
from .._copies import op_like
from .._op_types import CONSTANTS, ENTERS, EXITS, MERGES, STACK_POPS, SWITCHES

Known = Callable[[tf.Tensor], np.ndarray | None]
_HANDED_ON = SWITCHES | {"Identity", "LoopCond", "StopGradient"}


class Runner:
    """Runs ops by themselves, in one graph and session of its own."""

    def __init__(self) -> None:
        self._graph = tf.Graph()
        self._session: tf.Session | None = None
        self._callables: dict[tf.Operation, Callable | None] = {}

    def close(self) -> None:
        """Give back the session, if one was needed."""
        if self._session is not None:
            self._session.close()

    def run(self, op: tf.Operation, values: list[np.ndarray]) -> list[np.ndarray] | None:
        """The outputs of an op of these inputs; None if it cannot be run by itself."""
        if op not in self._callables:
            self._callables[op] = self._made(op)
        call = self._callables[op]
        try:
            return None if call is None else call(*values)
        except (tf.errors.OpError, ValueError, TypeError):
            return None

    def _made(self, op: tf.Operation) -> Callable | None:
        tensors = [*op.inputs, *op.outputs]
        if _tf.is_stateful(op.type) or _bodies.runs_bodies(op) or any(t.dtype in _HANDLES for t in tensors):
            return None
        with self._graph.as_default():
            given = [tf.placeholder(t.dtype.base_dtype) for t in op.inputs]
            attributes = {k: v for k, v in op.node_def.attr.items() if not k.startswith("_")}
            made = op_like(op, given, attributes=attributes, shaped=False)
        if self._session is None:
            self._session = tf.Session(graph=self._graph, config=tf.ConfigProto(device_count={"GPU": 0}))
        return self._session.make_callable(list(made.outputs), given)


_HANDLES = (tf.variant, tf.resource)
_OF_SHAPES = CONSTANTS | {"Rank", "Shape", "ShapeN", "Size"}


def counts(tensor: tf.Tensor) -> bool:
    """True for integers and truth values: what loops count with."""
    return tensor.dtype.base_dtype.is_integer or tensor.dtype.base_dtype == tf.bool


class Iteration:
    """Values in one iteration of a loop, V1 or V2, or in a function.

    Attributes:
      consulted: whether something was asked that changes from iteration to iteration.
    """

    def __init__(self, runner: Runner, outside: Known, given: Mapping[int, Any], before: "Iteration | None" = None):
        """
        Args:
          runner: runs ops.
          outside: tells values around the loop.
          given: for the id of an input of the function the value, or the tensor outside that it is.
          before: the iteration before this one of a V1 loop.
        """
        self._runner, self._outside, self._given, self._before = runner, outside, given, before
        self._found: dict[int, tuple[Any, bool]] = {}
        self.consulted = False

    def of(self, tensor: tf.Tensor) -> np.ndarray | None:
        """The value of a tensor; None if it is not known."""
        value, varies = self._of(tensor)
        self.consulted |= varies
        return value

    def peek(self, tensor: tf.Tensor) -> np.ndarray | None:
        """The same, for what only leads to the next iteration."""
        return self._of(tensor)[0]

    def forget(self) -> None:
        """Let go of the iteration before this one, when all that counts has been looked at."""
        self._before = None

    def _of(self, tensor: tf.Tensor) -> tuple[Any, bool]:
        waiting = [tensor]
        while waiting:
            top = waiting[-1]
            needed = [] if id(top) in self._found else [t for t in self._needs(top) if id(t) not in self._found]
            if needed:
                waiting.extend(needed)
                continue
            if id(top) not in self._found:
                self._evaluate(top)
            waiting.pop()
        return self._found[id(tensor)]

    def _needs(self, tensor: tf.Tensor) -> list[tf.Tensor]:
        op = tensor.op
        if id(tensor) in self._given or op.type in ENTERS | EXITS | MERGES | STACK_POPS or not op.inputs:
            return []
        if op.type in _OF_SHAPES and tf.get_static_value(tensor) is not None:
            return []
        return [op.inputs[0]] if op.type in _HANDED_ON else list(op.inputs)

    def _evaluate(self, tensor: tf.Tensor) -> None:
        op = tensor.op
        if id(tensor) in self._given:
            given = self._given[id(tensor)]
            found = (self._outside(given), False) if isinstance(given, tf.Tensor) else (given, True)
        elif op.type in ENTERS:
            found = self._outside(op.inputs[0]), False
        elif op.type in MERGES:
            found = self._merged(op), True
        elif op.type in EXITS | STACK_POPS:
            found = None, True
        else:
            found = self._computed(tensor)
        self._found[id(tensor)] = found

    def _merged(self, op: tf.Operation) -> Any:
        """What goes around a V1 loop; what a branch gives is not known."""
        if len(op.inputs) != 2 or not _walk.is_back_edge(op, op.inputs[1]) or not counts(op.outputs[0]):
            return None
        if self._before is None:
            return self._outside(op.inputs[0].op.inputs[0]) if op.inputs[0].op.type in ENTERS else None
        return self._before.peek(op.inputs[1].op.inputs[0])

    def _computed(self, tensor: tf.Tensor) -> tuple[Any, bool]:
        op = tensor.op
        if op.type in _OF_SHAPES:  # of others it folds what x is now
            static = tf.get_static_value(tensor)
            if static is not None or not op.inputs:
                return static, False
        if op.type in _HANDED_ON:
            return self._found[id(op.inputs[0])]
        if not op.inputs:
            return None, False
        values, varies = zip(*(self._found[id(t)] for t in op.inputs), strict=True)
        decides = {"LogicalAnd": False, "LogicalOr": True}.get(op.type)
        if decides is not None and any(v is not None and np.ndim(v) == 0 and bool(v) == decides for v in values):
            return np.bool_(decides), any(varies)
        if any(v is None for v in values):
            return None, any(varies)
        results = self._runner.run(op, list(values))
        if results is None:
            return None, any(varies)
        for t, value in zip(op.outputs, results, strict=True):
            self._found[id(t)] = value, any(varies)
        return self._found[id(tensor)]
