"""Rows and the order within a row, for the members of one group."""

from collections.abc import Sequence

Edge = tuple[int, int]

# Wider rows are broken: a picture two screens wide reads worse than one that is a row longer.
WIDEST_ROW = 8

_SWEEPS = 6


def arrange(members: Sequence[int], edges: Sequence[Edge], weak: Sequence[Edge]) -> list[list[int]]:
    """Rows by longest path, each row ordered to keep edges short and uncrossed.

    Args:
      members: what to arrange.
      edges: edges among them that make the rows; cycles (folded groups can have them) are cut deterministically.
      weak: further edges that place a member that no edge touches.

    Returns:
      The members by row, first row first.
    """
    if not members:
        return []
    index = {member: i for i, member in enumerate(members)}
    after = _neighbours(index, edges)
    before = _neighbours(index, [(b, a) for a, b in edges])
    order = _depth_first_order(after)
    rank = _ranks(order, after, before, _neighbours(index, [*weak, *((b, a) for a, b in weak)]))
    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in order:
        rows[rank[i]].append(i)
    _reduce_crossings(rows, before, after)
    return [[members[i] for i in part] for row in rows for part in _broken(row)]


def _neighbours(index: dict[int, int], edges: Sequence[Edge]) -> list[list[int]]:
    found: list[dict[int, None]] = [{} for _ in index]
    for a, b in edges:
        if a != b:
            found[index[a]][index[b]] = None
    return [list(each) for each in found]


def _depth_first_order(after: list[list[int]]) -> list[int]:
    """A topological order where there is one; on a cycle, edges to earlier members are the ones to cut."""
    state = [0] * len(after)
    finished: list[int] = []
    indegree = [0] * len(after)
    for targets in after:
        for b in targets:
            indegree[b] += 1
    starts = sorted(range(len(after)), key=lambda i: indegree[i] > 0)  # true sources first; sorted() is stable
    for start in reversed(starts):
        if state[start] or indegree[start] > 0:
            continue
        _visit(start, after, state, finished)
    for start in range(len(after)):  # what only cycles lead to
        if not state[start]:
            _visit(start, after, state, finished)
    return finished[::-1]


def _visit(start: int, after: list[list[int]], state: list[int], finished: list[int]) -> None:
    state[start] = 1
    stack = [(start, iter(after[start]))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if not state[target]:
                state[target] = 1
                stack.append((target, iter(after[target])))
                break
        else:
            finished.append(node)
            stack.pop()


def _ranks(order: list[int], after: list[list[int]], before: list[list[int]], weak: list[list[int]]) -> list[int]:
    """Longest path from the sources; sources next to their first consumer; strangers beside whatever they touch."""
    place = {node: k for k, node in enumerate(order)}
    rank = [0] * len(order)
    for node in order:
        for target in after[node]:
            if place[target] > place[node]:
                rank[target] = max(rank[target], rank[node] + 1)
    for node in reversed(order):
        if not any(place[source] < place[node] for source in before[node]):
            below = [rank[target] for target in after[node] if place[target] > place[node]]
            if below:
                rank[node] = max(0, min(below) - 1)
    known = [bool(after[i] or before[i]) for i in range(len(order))]
    for _ in range(2):
        for node in order:
            if not known[node]:
                touched = [rank[other] for other in weak[node] if known[other]]
                if touched:
                    rank[node] = max(touched) + 1
                    known[node] = True
    last = max((rank[i] for i in order if known[i]), default=-1) + 1
    return [rank[i] if known[i] else last for i in range(len(order))]


def _reduce_crossings(rows: list[list[int]], before: list[list[int]], after: list[list[int]]) -> None:
    """Sweep down and up: each row by the mean position of its neighbours in the rows already done."""
    at: dict[int, float] = {}
    for row in rows:
        _number(row, at)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = before if down else after
        for row in rows if down else rows[::-1]:
            centre = {
                node: sum(at[other] for other in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else at[node]
                for node in row
            }
            row.sort(key=lambda node: (centre[node], at[node], node))
            _number(row, at)


def _number(row: list[int], at: dict[int, float]) -> None:
    for i, node in enumerate(row):
        at[node] = i - (len(row) - 1) / 2


def _broken(row: list[int]) -> list[list[int]]:
    parts = -(-len(row) // WIDEST_ROW)
    size = -(-len(row) // parts) if parts else 1
    return [row[i : i + size] for i in range(0, len(row), size)]
