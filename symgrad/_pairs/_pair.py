"""`pair`: the backward ops of a graph, the forward op of each, their order, and which of them are dead."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import _vote

# What tf.gradients makes in the scope of the call itself, outside the gradient scopes: seeds, zeros for outputs without
# a gradient, sums, and the counters and switches of loops and conditionals (gradients_util.py, control_flow_state.py).
_PLUMBING = frozenset(
    {
        "AccumulateNV2", "Add", "AddN", "AddV2", "Cast", "Concat", "ConcatV2", "Const", "ControlTrigger", "Enter",
        "Exit", "Fill", "GatherV2", "GreaterEqual", "Identity", "IdentityN", "LoopCond", "Merge", "NextIteration",
        "NoOp", "OnesLike", "Pack", "RefEnter", "Reshape", "Shape", "ShapeN", "Size", "StackPopV2", "StackPushV2",
        "StackV2", "StridedSlice", "Sub", "Switch", "UnsortedSegmentSum", "VariableShape", "ZerosLike",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Pairs:
    """Parallel arrays over the ops.

    Attributes:
      backward: True for an op that a gradient computation made.
      forward: position of the op whose gradient it is part of, -1 where there is none (or it is in another graph).
      order: 0 for forward ops, 1 for gradients, 2 for gradients of gradients.
      dead: True for a backward op that nothing consumes and that is no result.
    """

    backward: np.ndarray
    forward: np.ndarray
    order: np.ndarray
    dead: np.ndarray


class _Work:
    """The graph as lists, and what has been found out so far."""

    def __init__(self, names: Sequence[str], types: Sequence[str], inputs: list[list[int]]):
        self.names, self.types, self.inputs = list(names), types, inputs
        self.index = {name: i for i, name in enumerate(self.names)}
        self.consumers: list[list[int]] = [[] for _ in self.names]
        for target, sources in enumerate(inputs):
            for source in sources:
                self.consumers[source].append(target)
        self.forward: dict[int, int] = {}
        self.call: dict[int, str] = {}


def pair(
    names: Sequence[str],
    types: Sequence[str],
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    original: dict[int, int] | None = None,
) -> Pairs:
    """Find the backward ops of a graph and pair each with its forward op.

    Args:
      names, types: op names and op types by position.
      edges: source, target and output index of every edge as int arrays; output -1 is a control edge.
      original: position of `op._original_op` for the ops of a live graph that have one, -1 where it is in another
        graph. It is exact and goes before names; ops of an imported part have none.

    Returns:
      `Pairs`.
    """
    source, target, output = edges
    data = output >= 0
    work = _Work(names, types, _inputs(len(names), source[data], target[data]))
    _from_original(work, original or {})
    _from_names(work, original or {})
    _plumbing(work)
    return _result(work, source, target, data)


def _inputs(count: int, source: np.ndarray, target: np.ndarray) -> list[list[int]]:
    inputs: list[list[int]] = [[] for _ in range(count)]
    for a, b in zip(source.tolist(), target.tolist(), strict=True):
        inputs[b].append(a)
    return inputs


def _from_original(work: _Work, original: dict[int, int]) -> None:
    """Take TensorFlow's own record, and read the scope of the call off the name where it can be."""
    for op, forward in original.items():
        work.forward[op] = forward
        if forward < 0:
            continue
        wanted = work.names[forward].split("/")
        parts = work.names[op].split("/")
        for stop in range(len(parts) - 1, 0, -1):
            last = _vote.stripped(parts[stop - 1])
            named = [*parts[: stop - 1], last]
            if last is not None and named[-len(wanted) :] == wanted and len(named) > len(wanted):
                work.call[op] = "/".join(parts[: stop - len(wanted)])
                break


def _from_names(work: _Work, original: dict[int, int]) -> None:
    """Pair by name scope what has no record: everything in a file, imported parts in a live graph."""
    scopes = _vote.collect(work.names)
    recorded = {scope for op in original for scope in scopes.of_op.get(op, ())}
    for scope in recorded:
        scopes.candidates.pop(scope, None)
    best = _vote.vote(work, scopes)
    for op, found in scopes.of_op.items():
        if op in original or recorded.intersection(found):
            continue
        choice = _deepest_supported(found, best)
        if choice is not None and choice.forward != op:
            work.forward[op] = choice.forward
            work.call[op] = choice.call


def _deepest_supported(found: list[str], best: dict[str, _vote.Candidate]) -> _vote.Candidate | None:
    """The innermost scope with evidence of its own, else the innermost that its call supports."""
    read = [best[scope] for scope in reversed(found) if scope in best]
    return next((candidate for candidate in read if candidate.local + candidate.flow), read[0] if read else None)


def _plumbing(work: _Work) -> None:
    """Add what tf.gradients made outside the gradient scopes, paired with the op it serves."""
    waiting = dict(_plumbing_candidates(work))
    frontier = [op for op in work.forward if op not in waiting]
    reached = []
    while frontier:
        op = frontier.pop()
        for other in (*work.inputs[op], *work.consumers[op]):
            call = waiting.pop(other, None)
            if call is not None:
                work.call[other] = call
                work.forward[other] = -1
                reached.append(other)
                frontier.append(other)
    for op, call in waiting.items():  # zeros for outputs that turned out not to matter touch no other backward op
        if work.types[op] == "ZerosLike" and not work.consumers[op]:
            work.call[op] = call
            work.forward[op] = -1
            reached.append(op)
    _pair_plumbing(work, reached)


def _plumbing_candidates(work: _Work) -> Iterator[tuple[int, str]]:
    """Unpaired ops of a plumbing type in the scope of a call, or below such an op (`zeros_1/Const`)."""
    calls = set(work.call.values()) - {""}
    if not calls:
        return
    for op, name in enumerate(work.names):
        if op in work.forward or "/" not in name or work.types[op] not in _PLUMBING:
            continue
        parts = name.split("/")
        for stop in range(min(len(parts) - 1, _vote.MAX_DEPTH), 0, -1):
            call = "/".join(parts[:stop])
            if call not in calls:
                continue
            head = work.index.get(f"{call}/{parts[stop]}")
            if head is not None and work.types[head] in _PLUMBING and not _is_copy(work, op, call):
                yield op, call
            break


def _is_copy(work: _Work, op: int, call: str) -> bool:
    """True for a forward op recomputed in the call's scope: outside there is one of that name with the same inputs."""
    rest = work.names[op][len(call) + 1 :]
    outer = call.split("/")
    for keep in range(len(outer)):
        prefix = "/".join([*outer[:keep], ""])
        first = work.index.get(prefix + rest)
        if first is None or first == op or work.types[first] != work.types[op] or not work.inputs[op]:
            continue
        mine, theirs = work.inputs[op], work.inputs[first]
        if len(mine) == len(theirs) and all(
            a == b or (work.names[b].startswith(prefix) and work.names[a] == f"{call}/{work.names[b][len(prefix) :]}")
            for a, b in zip(mine, theirs, strict=True)
        ):
            return True
    return False


def _pair_plumbing(work: _Work, reached: list[int]) -> None:
    """The pair of a consumer, else of a producer, else the forward op that it reads; spread until nothing changes.

    A sum that no backward op of its call consumes is a final one: it belongs to the op whose uses it sums over.
    """
    frontier = [op for op, forward in work.forward.items() if forward >= 0]
    open_ops = set(reached)
    for neighbours in (work.inputs, work.consumers):
        if neighbours is work.consumers:
            frontier += _pair_final_sums(work, open_ops)
        queue = list(frontier)
        for op in queue:
            for other in neighbours[op]:
                if other in open_ops and work.call[other] == work.call.get(op):
                    open_ops.discard(other)
                    work.forward[other] = work.forward[op]
                    queue.append(other)
                    frontier.append(other)
    for op in open_ops:
        read = next((source for source in work.inputs[op] if source not in work.forward), None)
        if read is not None:
            work.forward[op] = read


def _pair_final_sums(work: _Work, open_ops: set[int]) -> list[int]:
    """Pair each open sum with the op that all the paired ops of its inputs read, if there is just one."""
    done = []
    for op in sorted(open_ops):
        summed = [work.forward.get(source, -1) for source in work.inputs[op]]
        if work.types[op] not in ("AddN", "AccumulateNV2") or len(summed) < 2 or min(summed) < 0:
            continue
        common = set.intersection(*(set(work.inputs[forward]) for forward in summed))
        if len(common) == 1:
            work.forward[op] = common.pop()
            open_ops.discard(op)
            done.append(op)
    return done


def _result(work: _Work, source: np.ndarray, target: np.ndarray, data: np.ndarray) -> Pairs:
    count = len(work.names)
    backward = np.zeros(count, bool)
    forward = np.full(count, -1, np.int32)
    for op, pair_of in work.forward.items():
        backward[op] = True
        forward[op] = pair_of
    return Pairs(backward, forward, _orders(backward, forward), _dead(work, backward, source, target, data))


def _orders(backward: np.ndarray, forward: np.ndarray) -> np.ndarray:
    """One more than the order of the pair; chains are followed once each."""
    order = np.zeros(len(backward), np.int16)
    known = ~backward
    for start in np.flatnonzero(backward).tolist():
        chain = []
        op = start
        while op >= 0 and not known[op]:
            known[op] = True  # also ends a chain that bites its tail, which only a forged file has
            chain.append(op)
            op = int(forward[op])
        level = int(order[op]) if op >= 0 else 0
        for link in reversed(chain):
            level += 1
            order[link] = level
    return order


def _dead(work: _Work, backward: np.ndarray, source: np.ndarray, target: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Backward ops that nothing consumes and that cannot be a result.

    Where an optimizer or anything else outside takes results of the call, every other op without a consumer is dead.
    Where nothing does, the results are themselves without consumers, and only ops without a backward input (zeros and
    shapes for gradients that were not needed) are known to be dead.
    """
    consumed = np.zeros(len(backward), bool)
    consumed[source] = True
    fed = np.zeros(len(backward), bool)
    fed[target[data & backward[source]]] = True
    leaving = np.unique(source[data & backward[source] & ~backward[target]])
    used_calls = {work.call.get(op) for op in leaving.tolist()} - {None}
    dead = backward & ~consumed
    for op in np.flatnonzero(dead & fed).tolist():
        dead[op] = work.call.get(op) in used_calls
    return dead
