"""Which of the ops that some tensors are computed from are compiled, and why each of the others is not."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .._tensors import is_differentiable
from ._reasons import Outside, reason


@dataclass(frozen=True)
class Plan:
    """What is compiled.

    Attributes:
      ops: the ops that are compiled, in the order of the graph.
      outside: (reason, detail) of each op that stays, in the order of the graph.
      arguments: the tensors from outside that the compiled ops read.
      waits: the ops outside that a compiled op waits for, such as checks.
    """

    ops: list[tf.Operation]
    outside: dict[tf.Operation, tuple[Outside, str]]
    arguments: list[tf.Tensor]
    waits: list[tf.Operation]

    def hindrances(self) -> dict[tf.Operation, tuple[Outside, str]]:
        """What stays outside and could be wished inside: not what is fed, a variable, or needed outside."""
        return {op: found for op, found in self.outside.items() if found[0] not in _EXPECTED}


_EXPECTED = frozenset({Outside.FED, Outside.VARIABLE, Outside.LARGE, Outside.NEEDED_OUTSIDE})


def planned(fetches: Sequence[tf.Tensor], inputs: Iterable[tf.Tensor] = ()) -> Plan:
    """The plan for `fetches`, which begins at `inputs`. Builds nothing.

    All that an op outside needs for its derivative stays outside too. So no path leaves what is compiled and comes
    back, and a derivative with respect to a tensor outside is whole.
    """
    begins = {id(t) for t in inputs}
    near = _ancestors(fetches, begins)
    order = [op for op in fetches[0].graph.get_operations() if op in near]
    outside = {op: found for op in order if (found := reason(op)) is not None}
    first = [t for op in outside for t in op.inputs if is_differentiable(t)] + list(inputs)
    for op in _ancestors(first, set(), floating=True):
        outside.setdefault(op, (Outside.NEEDED_OUTSIDE, ""))
    inside = _ancestors(fetches, begins, within=near - outside.keys())
    # A tensor that the program begins at may have been needed by other roads as well.
    ops = [op for op in order if op in inside]
    read = {id(t): t for op in ops for t in op.inputs if t.op not in inside or id(t) in begins}
    waits = {op: None for made in ops for op in made.control_inputs if op not in inside}
    return Plan(ops, {op: outside[op] for op in order if op in outside}, list(read.values()), list(waits))


def _ancestors(
    tensors: Iterable[tf.Tensor],
    begins: Collection[int],
    *,
    within: Collection[tf.Operation] | None = None,
    floating: bool = False,
) -> set[tf.Operation]:
    """The ops that tensors are computed from; with `floating` only along tensors that derivatives flow through."""
    found: set[tf.Operation] = set()
    todo = [t.op for t in tensors if id(t) not in begins]
    while todo:
        op = todo.pop()
        if op in found or (within is not None and op not in within):
            continue
        found.add(op)
        todo += [t.op for t in op.inputs if id(t) not in begins and (is_differentiable(t) or not floating)]
        todo += [] if floating else op.control_inputs
    return found
