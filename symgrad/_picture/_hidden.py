"""Which ops a picture leaves out: constants, initialisers, saving and restoring, and zeros that nothing reads."""

from typing import TYPE_CHECKING

from .._op_types import ASSIGNS, writes_variable

if TYPE_CHECKING:
    import networkx

_STORAGE = frozenset(
    {
        "IsVariableInitialized", "MergeV2Checkpoints", "Restore", "RestoreV2", "Save", "SaveV2", "ShardedFilename",
        "VarIsInitializedOp",
    }
)  # fmt: skip
_FILES = frozenset({"Restore", "RestoreV2", "Save", "SaveV2"})


def aside(graph: "networkx.MultiDiGraph") -> dict[str, str]:
    """The ops that a picture leaves out unless it is asked for them, and why.

    Left out are constants, dead zeros, what initialises, saves or restores variables, and what works for hidden ops
    alone. An op that a shown backward op is paired with is always shown.

    Returns:
      Name to `"constant"` (shown ops read it), `"dead"` (a backward op that nothing reads) or `"initializer"`.
    """
    away = _hidden(graph)
    return {name: _reason(graph, name, away) for name in graph if name in away}


def _reason(graph: "networkx.MultiDiGraph", name: str, away: set[str]) -> str:
    node = graph.nodes[name]
    if node.get("role") == "backward":
        return "dead" if node.get("dead") else "constant"
    return "constant" if any(target not in away for target in graph.successors(name)) else "initializer"


def _hidden(graph: "networkx.MultiDiGraph") -> set[str]:
    away = {name for name, node in graph.nodes(data=True) if _is_aside(graph, name, node)}
    away |= _initialisers(graph) | _storing_calls(graph)
    _close(graph, away)
    for name, node in graph.nodes(data=True):
        if name not in away:
            away.discard(node.get("pair"))
    return away


def _is_aside(graph: "networkx.MultiDiGraph", name: str, node: dict) -> bool:
    if node.get("role") == "constant" or node.get("type") in _STORAGE or node.get("type") == "Const":
        return True
    if node.get("dead") and node.get("type") in ("ZerosLike", "Const", "Shape", "Fill"):
        return True
    # `v/Read/ReadVariableOp` is what a resource variable keeps for itself; uses read it again
    return node.get("type") == "ReadVariableOp" and graph.out_degree(name) == 0


def _storing_calls(graph: "networkx.MultiDiGraph") -> set[str]:
    """Calls of functions that save or restore variables, with what is in these."""
    found: set[str] = set()
    for call, scope, body in graph.graph.get("inlined", ()):
        if call in found or any(kind in _FILES for _, kind in body.nodes(data="type")):
            found |= {call, *(f"{scope}/{name}" for name in body)}
    return found


def _initialisers(graph: "networkx.MultiDiGraph") -> set[str]:
    """Update ops whose new value depends on no variable, no input and no gradient."""
    from_model = {
        name
        for name, node in graph.nodes(data=True)
        if node.get("role") in ("variable", "backward") or node.get("type", "").startswith(("Placeholder", "Iterator"))
        if not _feeds_only_storage(graph, name)
    }
    stack = list(from_model)
    while stack:
        for _, target, edge in graph.out_edges(stack.pop(), data=True):
            writes = graph.nodes[target].get("role") == "update" and edge.get("input") == 0
            if target not in from_model and edge.get("kind") == "data" and not writes:
                from_model.add(target)
                stack.append(target)
    return {
        name
        for name, node in graph.nodes(data=True)
        if node.get("role") == "update" and name not in from_model and not _always_shown(node["type"])
    }


def _always_shown(kind: str) -> bool:
    """A NoOp group is judged by its members, and what adds to a variable is no initialiser."""
    return kind == "NoOp" or (writes_variable(kind) and kind not in ASSIGNS)


def _feeds_only_storage(graph: "networkx.MultiDiGraph", name: str) -> bool:
    """True for the placeholder that holds a checkpoint's file name."""
    if not graph.nodes[name].get("type", "").startswith("Placeholder"):
        return False
    kinds = {graph.nodes[target].get("type") for target in graph.successors(name)}
    return bool(kinds) and kinds <= (_STORAGE | {"Identity", "StringJoin"}) and bool(kinds & _STORAGE)


def _close(graph: "networkx.MultiDiGraph", away: set[str]) -> None:
    """Hide what only hidden ops consume; a NoOp group hides when everything that it waits for is hidden."""
    waiting = {name: len(graph.succ[name]) for name in graph}
    queue = sorted(away)
    while queue:
        for source in graph.predecessors(queue.pop()):
            if source in away:
                continue
            waiting[source] -= 1
            if waiting[source] <= 0 and graph.nodes[source].get("role") not in ("variable", "backward"):
                away.add(source)
                queue.append(source)
    groups = [name for name, kind in graph.nodes(data="type") if kind == "NoOp" and name not in away]
    changed = True
    while changed:
        gone = [name for name in groups if name not in away and all(p in away for p in graph.predecessors(name))]
        changed = bool(gone)
        away.update(gone)
