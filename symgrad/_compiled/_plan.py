"""Which of the ops that some tensors are computed from are compiled, and why each of the others is not."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .._control_flow import Place, Places
from .._op_types import VARIABLE_READS, VARIABLES
from .._tensors import is_differentiable
from ._bounds import LIMITED, Bound, bound, holds
from ._reasons import EXPECTED, Outside, Reason, reason

_HANDLES = (tf.resource, tf.variant)


@dataclass(frozen=True)
class Plan:
    """What is compiled.

    Attributes:
      ops: the ops that are compiled, in the order of the graph.
      arguments: the tensors from outside that the compiled ops read.
      waits: the ops outside that a compiled op waits for, such as checks.
      hindrances: the reasons of what stays outside and could be wished inside: not what is fed, a large constant, the
        read of a variable, only waited for, or stays because of another.
      bounds: of each stack or list that says nothing of it how much it holds at most.
    """

    ops: list[tf.Operation]
    arguments: list[tf.Tensor]
    waits: list[tf.Operation]
    hindrances: dict[tf.Operation, Reason]
    bounds: dict[tf.Operation, Bound]


def _is_hindrance(op: tf.Operation, why: Outside) -> bool:
    reads = op.type == "Identity" and op.inputs[0].dtype._is_ref_dtype
    return why not in EXPECTED and op.type not in VARIABLES | VARIABLE_READS and not reads


def planned(fetches: Sequence[tf.Tensor], inputs: Iterable[tf.Tensor] = ()) -> Plan:
    """The plan for `fetches`, which begins at `inputs`. Builds nothing.

    All that an op outside needs for its derivative stays outside too. So no path leaves what is compiled and comes
    back, and a derivative with respect to a tensor outside is whole. A V1 loop or branch, and all that share a stack,
    an array or a list, go in or stay as a whole.
    """
    begins = {id(t): t for t in inputs}
    near = _ancestors(fetches, begins)
    order = [op for op in fetches[0].graph.get_operations() if op in near]
    together = _Together(order)
    outside: dict[tf.Operation, Reason] = {op: found for op in order if (found := reason(op)) is not None}
    _keep_outside(outside, together, begins.values(), near)
    bounds: dict[tf.Operation, Bound] = {}
    for op in filter(lambda op: holds(op.type), order):
        if op not in outside:
            most = bound(op, near - outside.keys())
            if most is None:
                outside[op] = Outside.UNBOUNDED, ""
                _keep_outside(outside, together, (), near)
            elif op.type in LIMITED:
                bounds[op] = most
    inside = _ancestors(fetches, begins, within=near - outside.keys())
    ops = [op for op in order if op in inside]
    read = {id(t): t for op in ops for t in op.inputs if t.op not in inside or id(t) in begins}
    waits = {op: None for made in ops for op in made.control_inputs if op not in inside}
    bounds = {op: most for op, most in bounds.items() if op in inside}
    data = _ancestors(fetches, begins, control=False)
    hindrances = {op: outside[op] for op in order if op in data and op in outside and _is_hindrance(op, outside[op][0])}
    return Plan(ops, list(read.values()), list(waits), hindrances, bounds)


def _keep_outside(
    outside: dict[tf.Operation, Reason],
    together: "_Together",
    begins: Iterable[tf.Tensor],
    near: Collection[tf.Operation],
) -> None:
    """Add to `outside` what goes together with the ops there, and what their derivatives need, to the end."""
    needed = list(begins)
    todo = list(outside)
    while todo or needed:
        for op in todo:
            for other in together.with_(op):
                if other not in outside:
                    outside[other] = Outside.TOGETHER, f"{op.type} {op.name!r}: {outside[op][0].value}"
                    todo.append(other)
        needed += [t for op in todo for t in op.inputs if is_differentiable(t)]
        found = [op for op in _ancestors(needed, (), floating=True, control=False) if op in near and op not in outside]
        outside |= dict.fromkeys(found, (Outside.NEEDED, ""))
        todo, needed = found, []


class _Together:
    """The ops of one V1 loop or branch, and those of one stack, array or list handed around."""

    def __init__(self, ops: Sequence[tf.Operation]):
        self._places = Places(ops)
        self._groups: dict[Hashable, list[tf.Operation]] = defaultdict(list)
        self._of: dict[tf.Operation, list[Hashable]] = defaultdict(list)
        for op in ops:
            for unit in self._units(op):
                self._add(unit, op)
            for t in (*op.inputs, *op.outputs):
                if _is_shared(t):
                    self._add(id(t), op)
                    self._add(id(t), t.op)

    def with_(self, op: tf.Operation) -> list[tf.Operation]:
        """The others; each is told once."""
        return [other for key in self._of.pop(op, ()) for other in self._groups.pop(key, ())]

    def _units(self, op: tf.Operation) -> set[str]:
        """The outermost loops and branches that an op is in, or leads into, or comes out of."""
        around = [self._places.of(op), *map(self._places.behind, (*op.inputs, *op.outputs))]
        return {unit for place in around if (unit := self._outermost(place))}

    def _outermost(self, place: Place) -> str:
        guards = self._places.around.get(place.frame[:1], ()) if place.frame else place.guards
        return guards[0].pred if guards else place.frame[0] if place.frame else ""

    def _add(self, key: Hashable, op: tf.Operation) -> None:
        self._groups[key].append(op)
        self._of[op].append(key)


def _is_shared(tensor: tf.Tensor) -> bool:
    """True for the handle of a stack, array or list; a variable may be read both in- and outside."""
    return tensor.dtype in _HANDLES and tensor.op.type != "VarHandleOp" and not tensor.op.type.startswith("Placeholder")


def _ancestors(
    tensors: Iterable[tf.Tensor],
    begins: Collection[int],
    *,
    within: Collection[tf.Operation] | None = None,
    floating: bool = False,
    control: bool = True,
) -> set[tf.Operation]:
    """The ops that tensors are computed from, with `floating` only along tensors that derivatives flow through.

    And those that these wait for, unless not asked for what is under `control`.
    """
    found: set[tf.Operation] = set()
    todo = [t.op for t in tensors if id(t) not in begins]
    while todo:
        op = todo.pop()
        if op in found or (within is not None and op not in within):
            continue
        found.add(op)
        todo += [t.op for t in op.inputs if id(t) not in begins and (is_differentiable(t) or not floating)]
        todo += op.control_inputs if control else []
    return found
