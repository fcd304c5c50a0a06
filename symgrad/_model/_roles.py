"""What each op is there for, by its type and its place in the graph; and the V1 loop it runs in."""

import numpy as np

from .._files import Wiring
from .._op_types import CONSTANTS, EXITS, PLACEHOLDERS, V1_CONTROL_FLOW, VARIABLES, writes_variable

_INPUTS = PLACEHOLDERS | {"_Arg", "IteratorGetNext", "IteratorV2"}
_CONTROL = V1_CONTROL_FLOW | {"Assert", "ControlTrigger", "MergeV2Checkpoints", "NoOp", "SaveV2", "ShardedFilename"}


def roles(wiring: Wiring, backward: np.ndarray) -> list[str]:
    """The role of each op, see `build`.

    Besides the ops that write a variable, `"update"` takes in what works for them alone: arithmetic on gradients on
    its way to an update, initial values, and the groups that run updates together.
    """
    types = wiring.types
    fixed = [_by_type(kind) for kind in types]
    update = np.array([role == "update" for role in fixed]) & ~backward if types else np.zeros(0, bool)
    _spread_updates(wiring, fixed, backward, update)
    result = []
    for i, role in enumerate(fixed):
        result.append("backward" if backward[i] else "update" if update[i] else role)
    return result


def _by_type(kind: str) -> str:
    if kind in VARIABLES or kind == "TemporaryVariable":
        return "variable"
    if kind in CONSTANTS:
        return "constant"
    if kind in _CONTROL:
        return "control"
    if writes_variable(kind):
        return "update"
    return "forward"


def _spread_updates(wiring: Wiring, fixed: list[str], backward: np.ndarray, update: np.ndarray) -> None:
    """Mark in `update` what only updates consume and what comes after them, unless it is part of the model itself."""
    count = len(fixed)
    producers: list[list[int]] = [[] for _ in range(count)]
    consumers: list[list[int]] = [[] for _ in range(count)]
    for a, b in zip(wiring.source.tolist(), wiring.target.tolist(), strict=True):
        producers[b].append(a)
        consumers[a].append(b)
    after = _reached(np.flatnonzero(backward | update).tolist(), consumers, count)
    fed = [i for i in range(count) if fixed[i] == "variable" or wiring.types[i] in _INPUTS or backward[i]]
    model = _reached(fed, consumers, count)
    free = [
        fixed[i] in ("forward", "control") and not backward[i] and wiring.types[i] not in _INPUTS and
        (after[i] or not model[i])
        for i in range(count)
    ]  # fmt: skip
    waiting = [len(c) for c in consumers]
    queue = np.flatnonzero(update).tolist()
    while queue:
        for source in producers[queue.pop()]:
            waiting[source] -= 1
            if not waiting[source] and free[source] and not update[source]:
                update[source] = True
                queue.append(source)
    for i in range(count):  # NoOp groups: everything they wait for is an update; nothing depends on the order here
        if wiring.types[i] == "NoOp" and not update[i] and producers[i] and not backward[i]:
            update[i] = all(update[p] or wiring.types[p] == "NoOp" for p in producers[i])


def _reached(starts: list[int], neighbours: list[list[int]], count: int) -> list[bool]:
    seen = [False] * count
    for start in starts:
        seen[start] = True
    stack = list(starts)
    while stack:
        for other in neighbours[stack.pop()]:
            if not seen[other]:
                seen[other] = True
                stack.append(other)
    return seen


def frames(wiring: Wiring, enters: dict[int, str]) -> list[str | None]:
    """The innermost V1 loop frame of each op by its `frame_name`; an Exit counts to the frame it leaves."""
    count = len(wiring.names)
    result: list[str | None] = [None] * count
    if not enters:
        return result
    consumers: list[list[int]] = [[] for _ in range(count)]
    for a, b in zip(wiring.source.tolist(), wiring.target.tolist(), strict=True):
        consumers[a].append(b)
    inside: list[tuple[str, ...] | None] = [None] * count
    stack: list[tuple[int, tuple[str, ...]]] = []
    feeds = np.zeros(count, bool)
    feeds[wiring.target] = True
    for i in np.flatnonzero(~feeds).tolist():
        stack.append((i, ()))
    while stack:
        op, around = stack.pop()
        if inside[op] is not None and len(inside[op] or ()) >= len(around):
            continue
        inside[op] = around
        leaving = _frame_after(op, around, wiring.types[op], enters)
        own = leaving if op in enters else around
        result[op] = own[-1] if own else None
        stack.extend((other, leaving) for other in consumers[op])
    return result


def _frame_after(op: int, around: tuple[str, ...], kind: str, enters: dict[int, str]) -> tuple[str, ...]:
    """The stack of frames in which the outputs of an op live."""
    if op in enters:  # the bounds hold in every real graph; a forged one must not make this run for ever
        return around if enters[op] in around or len(around) > 32 else (*around, enters[op])
    if kind in EXITS:
        return around[:-1]
    return around
