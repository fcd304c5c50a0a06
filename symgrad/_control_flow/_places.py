"""Where each op of V1 control flow runs: in which frames, behind which branches; read off the dataflow alone."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from .. import _walk
from .._op_types import ENTERS, EXITS, MERGES, SWITCHES

Frame = tuple[str, ...]


class Guard(NamedTuple):
    """One side of a branch: what runs only if the tensor named `pred` is False (branch 0) or True (branch 1)."""

    pred: str
    branch: int


class Place(NamedTuple):
    """Where an op runs.

    Attributes:
      frame: the names of the loops around it, the outermost first.
      guards: the branches around it inside the innermost of these loops, the outermost first.
    """

    frame: Frame = ()
    guards: tuple[Guard, ...] = ()


OUTSIDE = Place()


def is_loop_switch(op: tf.Operation) -> bool:
    """True for the Switch that either leaves a loop or goes round again."""
    return op.type in SWITCHES and op.inputs[1].op.type == "LoopCond"


def is_branch_switch(op: tf.Operation) -> bool:
    """True for the Switch that leads into the branches of a conditional."""
    return op.type in SWITCHES and op.inputs[1].op.type != "LoopCond"


def is_loop_merge(op: tf.Operation) -> bool:
    """True for the Merge at the head of a loop."""
    return op.type in MERGES and any(_walk.is_back_edge(op, t) for t in op.inputs)


def source(predicate: tf.Tensor) -> tf.Tensor:
    """The predicate before the Identities that `tf.cond` puts after it for some of the Switches of a branch."""
    while predicate.op.type == "Identity":
        predicate = predicate.op.inputs[0]
    return predicate


def leads_into(switch: tf.Operation, context: Any) -> bool:
    """True if `context` is the branch that the Switch leads into, not the place where it runs."""
    if context is None or not context.IsCondContext() or is_loop_switch(switch):
        return False
    return source(context.pred) is source(switch.inputs[1])


def frame_name(enter: tf.Operation) -> str:
    """The name of the frame that an Enter leads into."""
    return enter.get_attr("frame_name").decode("utf-8", "replace")


class Places:
    """The place of every op of a graph.

    A Switch, an Enter and an Exit run at one place and hand their values to another; `of` is where an op runs, `behind`
    is where what reads the tensor runs.
    """

    def __init__(self, ops: Iterable[tf.Operation]):
        self.order = _walk.in_order(ops, control=True)
        self.around: dict[Frame, tuple[Guard, ...]] = {}  # the branches of the outer frame that a loop lies in
        self._of: dict[tf.Operation, Place] = {}
        for op in self.order:
            self._of[op] = self._place(op)

    def of(self, op: tf.Operation) -> Place:
        """Where `op` runs."""
        return self._of.get(op, OUTSIDE)

    def behind(self, tensor: tf.Tensor) -> Place:
        """Where an op runs that reads `tensor` and nothing else."""
        place = self.of(tensor.op)
        if is_branch_switch(tensor.op):
            return Place(place.frame, (*place.guards, Guard(source(tensor.op.inputs[1]).name, tensor.value_index)))
        return self._outer(place.frame) if tensor.op.type in EXITS else place

    def _place(self, op: tf.Operation) -> Place:
        sources = [self.behind(t) for t in op.inputs if not _walk.is_back_edge(op, t)]
        if op.type in MERGES and not is_loop_merge(op):
            return Place(sources[0].frame, _common([place.guards for place in sources]))
        sources += [self._after(control) for control in op.control_inputs]
        deepest = max(sources, key=_depth, default=OUTSIDE)
        return self._enter(op, deepest) if op.type in ENTERS else deepest

    def _enter(self, op: tf.Operation, outer: Place) -> Place:
        frame = (*outer.frame, frame_name(op))
        self.around[frame] = max(self.around.get(frame, ()), outer.guards, key=len)
        return Place(frame)

    def _after(self, op: tf.Operation) -> Place:
        """Where an op runs that waits for `op`."""
        place = self.of(op)
        return self._outer(place.frame) if op.type in EXITS else place

    def _outer(self, frame: Frame) -> Place:
        return Place(frame[:-1], self.around.get(frame, ()))


def _depth(place: Place) -> tuple[int, int]:
    return len(place.frame), len(place.guards)


def _common(paths: list[tuple[Guard, ...]]) -> tuple[Guard, ...]:
    """The longest beginning that all paths share."""
    shared = []
    for guards in zip(*paths, strict=False):
        if any(guard != guards[0] for guard in guards):
            break
        shared.append(guards[0])
    return tuple(shared)
