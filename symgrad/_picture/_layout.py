"""The layout plan: which group holds what, in which row, in which order. Coordinates come later, from `_place`.

A picture has columns: the forward graph, its gradient, the gradient of that, ..., and the updates of variables. One
tree of groups (name scopes, series of like-named scopes, ops) serves all columns: a backward op lives in the group of
the forward op that it belongs to, an update in the group of its variable. So a group and its gradient share a row,
whatever is open or closed, and there is no edge from an activation to its gradient that crosses the ranks.
"""

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .._collector import collector_paused
from ._hidden import aside
from ._layering import Edge, arrange, levels, with_aside_rows
from ._tree import Tree

if TYPE_CHECKING:
    import networkx

MAX_ORDER = 4


@dataclass
class Op:
    """An op of the picture: where it lives, and what a label or a tooltip says of it.

    `aside` tells why a picture leaves it out unless asked for it ("constant", "dead", "initializer"); "" for the rest.
    """

    name: str
    type: str
    role: str
    pair: str | None
    outputs: tuple
    group: int = -1
    column: int = 0
    aside: str = ""


@dataclass
class Group:
    """A scope, a series or the cell of one op.

    Attributes:
      label: what is written on it; `name` is the full scope or op name.
      kind: `"root"`, `"scope"`, `"series"` or `"cell"`.
      role: role of its forward part, for its colour.
      parent: position of the group around it, -1 for the root.
      rows: its child groups, row by row from the inputs to the outputs (empty for a cell).
      cells: for each column the ops of a cell, row by row (empty for other groups).
      counts: for each column the number of ops in and below it.
      main: the same, of those that no picture leaves out.
      is_call: it is an op that calls functions, with them.
    """

    label: str
    name: str
    kind: str
    role: str = "forward"
    parent: int = -1
    rows: list[list[int]] = field(default_factory=list)
    cells: list[list[list[int]]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    main: list[int] = field(default_factory=list)
    is_call: bool = False


@dataclass
class Plan:
    """Groups (the root first), ops, edges between ops, and the columns' names.

    An edge is (source op, target op, kind), each pair of ops once, data before control.
    """

    groups: list[Group]
    ops: list[Op]
    edges: list[tuple[int, int, str]]
    columns: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain lists and dicts, for JSON."""
        return asdict(self)


def plan(graph: "networkx.MultiDiGraph", *, constants: bool = False, series: bool = True) -> Plan:
    """Plan the picture of a graph from `build`.

    Args:
      graph: nodes with `role`, `pair`, `order`, `type` (missing ones count as forward ops).
      constants: show constants, initialisers and dead zeros too.
      series: fold five or more siblings with like names (`conv2d_1 ... conv2d_47`) into one group, and siblings that
        spell out a hierarchy (`conv2_block1_1_relu`) into blocks.

    Returns:
      A `Plan`, the same for the same graph.
    """
    with collector_paused():
        return _plan(graph, aside(graph), constants=constants, series=series)


def _plan(graph: "networkx.MultiDiGraph", away: dict[str, str], *, constants: bool, series: bool) -> Plan:
    names = [name for name in graph if constants or name not in away]
    position = {name: i for i, name in enumerate(names)}
    ops = [_op(name, graph.nodes[name], away.get(name, "")) for name in names]
    edges = _edges(graph, position)
    highest = _columns(graph, ops)
    homes = _homes(graph, ops, position)
    tree = Tree(homes, series=series)
    groups = [Group(node.label, node.name, node.kind, parent=node.parent) for node in tree.nodes]
    for i, home in enumerate(tree.home):
        ops[i].group = home
    _name_loops(graph, groups, ops)
    _name_functions(graph, groups)
    columns = _column_names(highest)
    _count(groups, ops, len(columns))
    _fill(groups, ops, edges, len(columns))
    return Plan(groups, ops, edges, columns)


def _op(name: Any, node: dict, why: str) -> Op:
    kind, role = str(node.get("type", "")), node.get("role", "forward")
    return Op(str(name), kind, role, node.get("pair"), tuple(node.get("outputs", ())), aside=why)


def _edges(graph: "networkx.MultiDiGraph", position: dict) -> list[tuple[int, int, str]]:
    kinds: dict[tuple[int, int], str] = {}
    for a, b, kind in graph.edges(data="kind", default="data"):
        if a in position and b in position and a != b:
            key = position[a], position[b]
            if kinds.get(key) != "data":
                kinds[key] = kind
    return [(a, b, kind) for (a, b), kind in kinds.items()]


def _columns(graph: "networkx.MultiDiGraph", ops: list[Op]) -> int:
    """Set each op's column: 0 forward, the order for a backward op, the last one for updates; the highest order."""
    for op in ops:
        if op.role == "backward":
            op.column = max(1, min(int(graph.nodes[op.name].get("order", 1)), MAX_ORDER))
    highest = max((op.column for op in ops), default=0)
    for op in ops:
        if op.role == "update":
            op.column = highest + 1
    return highest


def _column_names(highest: int) -> list[str]:
    gradients = ["gradient", "2nd order", "3rd order", "4th order and higher"]
    return ["forward", *gradients[:highest], "update"]


def _homes(graph: "networkx.MultiDiGraph", ops: list[Op], position: dict) -> list[str]:
    """For each op the name whose cell it lives in: its own, its forward op's or its variable's."""
    homes = [graph.nodes[op.name].get("home", op.name) for op in ops]
    updates = []
    for i, op in enumerate(ops):
        if op.role == "backward":
            root = _forward_root(graph, op.name)
            homes[i] = graph.nodes[root].get("home", root)
        elif op.role == "update":
            variable = _written(graph, op.name)
            if variable is not None:
                homes[i] = variable
                updates.append(i)
    for i in updates:  # what works for one update only lives with it; the list grows while it is walked
        for source in graph.predecessors(ops[i].name):
            k = position.get(source)
            if k is not None and ops[k].role == "update" and homes[k] == source and ops[k].type != "NoOp":
                homes[k] = homes[i]
                updates.append(k)
    return homes


def _forward_root(graph: "networkx.MultiDiGraph", name: str) -> str:
    """Follow pairs down to a forward op; an op without one stays where it is."""
    seen = set()
    current = name
    while current not in seen:
        seen.add(current)
        pair = graph.nodes[current].get("pair")
        if pair is None or pair not in graph:
            return current if current != name or graph.nodes[name].get("role") != "backward" else name
        current = pair
    return name


def _written(graph: "networkx.MultiDiGraph", name: str) -> str | None:
    for source, _, edge in graph.in_edges(name, data=True):
        if edge.get("input") == 0 and edge.get("kind") == "data" and graph.nodes[source].get("role") == "variable":
            return source
    return None


def _name_loops(graph: "networkx.MultiDiGraph", groups: list[Group], ops: list[Op]) -> None:
    """Say so on the scope that holds all forward ops of a V1 loop frame: it is that loop's box."""
    around: dict[str, list[int]] = {}
    for op in ops:
        frame = graph.nodes[op.name].get("frame")
        if frame is None or op.column:
            continue
        path = [op.group]
        while path[-1] > 0:
            path.append(groups[path[-1]].parent)
        shared = set(around.get(frame, path))
        around[frame] = [at for at in path if at in shared]
    for at in {path[0] for path in around.values()}:
        if groups[at].kind == "scope":
            groups[at].label += " (loop)"


def _name_functions(graph: "networkx.MultiDiGraph", groups: list[Group]) -> None:
    """Say of a scope that it is the body of a function, and of what is around it that it opens to that."""
    functions = {scope for _, scope, _ in graph.graph.get("inlined", ())}
    for group in groups:
        if group.kind == "scope" and group.name in functions:
            group.label += " (function)"
            if group.parent:
                groups[group.parent].is_call = True


def _count(groups: list[Group], ops: list[Op], columns: int) -> None:
    roles: dict[int, set[str]] = defaultdict(set)
    for group in groups:
        group.counts, group.main = [0] * columns, [0] * columns
    for op in ops:
        at = op.group
        while at >= 0:
            groups[at].counts[op.column] += 1
            groups[at].main[op.column] += not op.aside
            if op.column == 0 and not op.aside:
                roles[at].add("read" if op.type in ("Identity", "ReadVariableOp") else op.role)
            at = groups[at].parent
    for i, group in enumerate(groups):
        order = ("forward", "variable", "read", "control", "constant")
        role = next((role for role in order if role in roles[i]), "constant" if group.counts[0] else "forward")
        group.role = "forward" if role == "read" else role
    for op in ops:
        if op.column == 0 and groups[op.group].kind == "cell" and not op.aside:
            groups[op.group].role = op.role


def _fill(groups: list[Group], ops: list[Op], edges: list[tuple[int, int, str]], columns: int) -> None:
    """Rows of every group: of the child groups by the forward edges among them, of a cell's ops by theirs.

    What a picture may leave out has rows of its own, so that leaving it out moves nothing else.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for i, group in enumerate(groups[1:], start=1):
        children[group.parent].append(i)
    forward, other, inner = _lift(groups, ops, edges)
    position = _positions(groups, ops, edges)
    for i, members in children.items():
        is_aside = {member: not any(groups[member].main) for member in members}
        groups[i].rows = _rows(is_aside, forward[i], other[i], position)
    inside: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, op in enumerate(ops):
        inside[op.group, op.column].append(k)
    for i, group in enumerate(groups):
        if group.kind == "cell":
            group.cells = [[] for _ in range(columns)]
            for column in range(columns):
                rows = _rows({k: bool(ops[k].aside) for k in inside[i, column]}, inner[i, column], [], None)
                backwards = 0 < column < columns - 1
                group.cells[column] = rows[::-1] if backwards else rows


def _rows(
    is_aside: dict[int, bool], edges: list[Edge], weak: list[Edge], position: list[float] | None
) -> list[list[int]]:
    """Rows of the members that always show, and rows of those set aside among them."""
    main = [member for member, away in is_aside.items() if not away]
    if len(main) == len(is_aside):
        return arrange(main, edges, weak, position)
    kept, weakly = ([(a, b) for a, b in some if not (is_aside[a] or is_aside[b])] for some in (edges, weak))
    away = [member for member, away in is_aside.items() if away]
    return with_aside_rows(arrange(main, kept, weakly, position), away, [*edges, *weak])


def _positions(groups: list[Group], ops: list[Op], edges: list[tuple[int, int, str]]) -> list[float]:
    """How far down each group belongs: the depth of its deepest forward op, for a series the mean of its members."""
    inside = [i for i, op in enumerate(ops) if op.column == 0]
    index = {op: k for k, op in enumerate(inside)}
    pairs = [(index[a], index[b]) for a, b, _ in edges if a in index and b in index]
    depths = levels(len(inside), pairs)
    deepest: list[float] = [0.0] * len(groups)
    members: dict[int, list[float]] = defaultdict(list)
    for op, k in index.items():
        deepest[ops[op].group] = max(deepest[ops[op].group], depths[k])
    for at in range(len(groups) - 1, 0, -1):  # children come after their parents
        if members[at]:
            deepest[at] = sum(members[at]) / len(members[at])
        parent = groups[at].parent
        if groups[parent].kind == "series":
            members[parent].append(deepest[at])
        else:
            deepest[parent] = max(deepest[parent], deepest[at])
    return deepest


def _lift(groups: list[Group], ops: list[Op], edges: list[tuple[int, int, str]]) -> tuple[dict, dict, dict]:
    """Edges between siblings: of the forward ops, of all others, and of the ops in one column of one cell."""
    depth = [0] * len(groups)
    for i, group in enumerate(groups[1:], start=1):
        depth[i] = depth[group.parent] + 1
    forward: dict[int, list] = defaultdict(list)
    other: dict[int, list] = defaultdict(list)
    inner: dict[tuple[int, int], list] = defaultdict(list)
    for source, target, _ in edges:
        a, b = ops[source].group, ops[target].group
        if a == b:
            if ops[source].column == ops[target].column:
                inner[a, ops[source].column].append((source, target))
            continue
        while groups[a].parent != groups[b].parent:
            if depth[a] >= depth[b]:
                a = groups[a].parent
            else:
                b = groups[b].parent
        both = ops[source].column == ops[target].column == 0
        (forward if both else other)[groups[a].parent].append((a, b))
    return forward, other, inner
