"""Which loops of V1 control flow stand around each node of a GraphDef."""

from collections import defaultdict
from typing import Any

from .._op_types import ENTERS, EXITS
from ._scope import Scope

Loops = tuple[tuple[Any, str], ...]


def frames(scope: Scope) -> dict[str, Loops]:
    """For each node inside of a loop, (key, name) of the loops around it, outermost first.

    An Enter and an Exit count as inside of their own loop.
    """
    consumers = defaultdict(list)
    for node in scope.nodes.values():
        for ref in node.input:
            consumers[ref.lstrip("^").partition(":")[0]].append(node.name)
    enters = [n for n in scope.nodes.values() if n.op in ENTERS]
    inside: dict[str, str] = {n.name: _frame(n) for n in enters}
    outer: dict[str, str] = {}
    todo = [(n.name, _frame(n)) for n in enters]
    exits: list[tuple[str, str]] = []
    while todo or exits:
        if not todo:
            name, left = exits.pop()
            around = outer.get(left)
            if around is None:
                continue
            todo.append((name, around))
        name, frame = todo.pop()
        for consumer in consumers[name]:
            node = scope.nodes[consumer]
            if node.op in ENTERS:
                outer.setdefault(_frame(node), frame)
            elif consumer not in inside:
                inside[consumer] = frame
                (exits if node.op in EXITS else todo).append((consumer, frame))
    return {name: _around(frame, outer) for name, frame in inside.items()}


def _frame(node: Any) -> str:
    return node.attr["frame_name"].s.decode()


def _around(frame: str | None, outer: dict[str, str]) -> Loops:
    found: list[tuple[Any, str]] = []
    while frame is not None:
        found.append((frame, frame.removesuffix("/while_context")))
        frame = outer.get(frame)
    return tuple(reversed(found))
