"""Rows and the order within a row, for the members of one group."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

Edge = tuple[int, int]

# Wider rows are broken: a picture two screens wide reads worse than one that is a row longer.
WIDEST_ROW = 8

_SWEEPS = 6


def arrange(
    members: Sequence[int], edges: Sequence[Edge], weak: Sequence[Edge], position: Sequence[float] | None = None
) -> list[list[int]]:
    """Rows by longest path, each row ordered to keep edges short and uncrossed.

    Args:
      members: what to arrange.
      edges: edges among them that make the rows.
      weak: further edges that place a member that no edge touches.
      position: by member, how far down it belongs; where folded groups make a cycle, edges against it are cut.

    Returns:
      The members by row, first row first.
    """
    if len(members) < 2:
        return [[member] for member in members]
    index = {member: i for i, member in enumerate(members)}
    pairs = sorted({(index[a], index[b]) for a, b in edges if a != b})
    depth = [position[member] for member in members] if position is not None else list(range(len(members)))
    after, before = _neighbours(len(members), pairs)
    order = _topological(after, before, depth)
    if len(order) < len(members):
        after, before = _neighbours(len(members), _without_cycles(len(members), pairs, depth))
        order = _topological(after, before, depth)
    weakly = [(index[a], index[b]) for a, b in weak if a != b]
    touching = _neighbours(len(members), [*weakly, *((b, a) for a, b in weakly)])[0]
    rank = _ranks(order, after, before, touching)
    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in order:
        rows[rank[i]].append(i)
    if len(rows) < len(members):
        _reduce_crossings(rows, before, after)
    return [[members[i] for i in part] for row in rows for part in _broken(row)]


def with_aside_rows(rows: list[list[int]], aside: Sequence[int], edges: Sequence[Edge]) -> list[list[int]]:
    """`rows` with rows for the members set aside, each above the row that its member touches first.

    Args:
      rows: of the other members, from `arrange`; they stay as they are.
      aside: members that a picture can leave out.
      edges: among all members.
    """
    if not aside:
        return rows
    anchor = _anchors(rows, edges, aside)
    above: dict[int, list[int]] = {}
    for member, at in anchor.items():
        above.setdefault(at, []).append(member)
    among: dict[int, list[Edge]] = {}
    for a, b in edges:
        if a in anchor and anchor[a] == anchor.get(b):
            among.setdefault(anchor[a], []).append((a, b))
    result: list[list[int]] = []
    for i, row in enumerate([*rows, []]):
        result += arrange(above.get(i, []), among.get(i, []), [])
        result += [row] if row else []
    return result


def _anchors(rows: list[list[int]], edges: Sequence[Edge], aside: Sequence[int]) -> dict[int, int]:
    """For each member the first row that it touches, by itself or through others; behind the last row if none."""
    row_of = {member: i for i, row in enumerate(rows) for member in row}
    touching: dict[int, list[int]] = {member: [] for member in aside}
    for a, b in edges:
        if a in touching:
            touching[a].append(b)
        if b in touching:
            touching[b].append(a)
    found: dict[int, int] = {}
    for member in aside:
        direct = [row_of[other] for other in touching[member] if other in row_of]
        if direct:
            found[member] = min(direct)
    stack = list(found)
    while stack:
        member = stack.pop()
        for other in touching[member]:
            if other in touching and other not in found:
                found[other] = found[member]
                stack.append(other)
    return {member: found.get(member, len(rows)) for member in aside}


def _without_cycles(count: int, pairs: list[Edge], depth: Sequence[float]) -> list[Edge]:
    """Drop the edges that lie on a cycle and lead to a member that belongs further up."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    source, target = zip(*pairs, strict=True)
    matrix = coo_array(([1] * len(pairs), (source, target)), shape=(count, count)).tocsr()
    _, knot = connected_components(matrix, directed=True, connection="strong")
    return [(a, b) for a, b in pairs if knot[a] != knot[b] or (depth[a], a) < (depth[b], b)]


def _neighbours(count: int, pairs: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        after[a].append(b)
        before[b].append(a)
    return after, before


def _topological(after: list[list[int]], before: list[list[int]], depth: Sequence[float]) -> list[int]:
    """A topological order, of those that are free always the one that belongs furthest up; cycles are left out."""
    waiting = [len(sources) for sources in before]
    ready = [(depth[i], i) for i in range(len(after)) if not waiting[i]]
    heapify(ready)
    order = []
    while ready:
        _, node = heappop(ready)
        order.append(node)
        for target in after[node]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(ready, (depth[target], target))
    return order


def _ranks(order: list[int], after: list[list[int]], before: list[list[int]], weak: list[list[int]]) -> list[int]:
    """Longest path from the sources; sources next to their first consumer; strangers beside whatever they touch."""
    rank = [0] * len(order)
    for node in order:
        for target in after[node]:
            rank[target] = max(rank[target], rank[node] + 1)
    for node in reversed(order):
        if not before[node] and after[node]:
            rank[node] = max(0, min(rank[target] for target in after[node]) - 1)
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


def levels(count: int, pairs: Sequence[Edge]) -> list[int]:
    """Length of the longest path to each of `count` nodes; one on a cycle stays where the rest of the graph puts it."""
    after, before = _neighbours(count, pairs)
    waiting = [len(sources) for sources in before]
    level = [0] * count
    queue = [i for i in range(count) if not waiting[i]]
    for node in queue:  # grows while it is walked
        for target in after[node]:
            level[target] = max(level[target], level[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                queue.append(target)
    return level
