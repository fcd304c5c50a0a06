"""`variables` and `regions`: what belongs to a variable, and to a V1 loop."""

from typing import TYPE_CHECKING, Any

from .._op_types import ASSIGNS, ENTERS, PLACEHOLDERS
from .._reach import reach
from ._query import takers
from ._schedule import parents
from ._summary import variable_rows

if TYPE_CHECKING:
    import networkx

_READS = ENTERS | {"Identity", "ReadVariableOp", "RefIdentity"}
_ASKS = frozenset({"IsVariableInitialized", "VarIsInitializedOp", "VariableShape"})


def variables(graph: "networkx.MultiDiGraph") -> list[dict[str, Any]]:
    """The variables of a graph, each with the ops that belong to it.

    Args:
      graph: a graph from `build`.

    Returns:
      For each variable a dict of plain values: `name`, `dtype`, `shape`, `elements` and `trained` as in `summary`, and
      names of ops:

      * `reads`: what takes its value, behind the ops that only read it.
      * `initializers`: assignments of values that depend on no input, variable or gradient.
      * `restores`: assignments of values from a checkpoint.
      * `updates`: whatever else writes it: optimizers, moving averages, counters.
      * `slots`: variables that its optimizer's ops write besides.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     v = tf.get_variable("v", [3], use_resource=False)
      ...     _ = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v))
      >>> symgrad.graph.variables(symgrad.graph.build(g))[0]["slots"]
      ['v/Momentum']
    """
    moving = _after(graph, lambda node: node["role"] in ("variable", "backward") or _is_input(node))
    restored = _after(graph, lambda node: node["type"] in ("Restore", "RestoreV2", "RestoreSlice"))
    rows = []
    for row in variable_rows(graph):
        found: dict[str, list[str]] = {key: [] for key in ("reads", "initializers", "restores", "updates", "slots")}
        for op in _users(graph, row["name"]):
            if graph.nodes[op]["role"] != "update" or not _writes(graph, op, row["name"]):
                found["reads"].append(op)
                continue
            values = [a for a, _, e in graph.in_edges(op, data=True) if e["kind"] == "data" and a != row["name"]]
            sets = graph.nodes[op]["type"] in ASSIGNS
            if sets and any(value in restored for value in values):
                found["restores"].append(op)
            elif sets and not any(value in moving for value in values):
                found["initializers"].append(op)
            else:
                found["updates"].append(op)
                found["slots"] += _slots(graph, op, row["name"])
        rows.append({**row, **{key: list(dict.fromkeys(names)) for key, names in found.items()}})
    return rows


def _is_input(node: dict[str, Any]) -> bool:
    return node["type"] in PLACEHOLDERS or node["type"].startswith("Iterator")


def _after(graph: "networkx.MultiDiGraph", starts: Any) -> set[Any]:
    """The ops for which `starts` holds, and all that data edges lead to from them."""
    return set(reach((name for name, node in graph.nodes(data=True) if starts(node)), lambda name: takers(graph, name)))


def _users(graph: "networkx.MultiDiGraph", name: str) -> list[str]:
    """What uses a variable, behind the ops that hand on its value."""
    found: dict[str, None] = {}
    seen = {name}
    stack = [name]
    while stack:
        for _, target, edge in graph.out_edges(stack.pop(), data=True):
            if edge["kind"] != "data" or target in seen or graph.nodes[target]["type"] in _ASKS:
                continue
            seen.add(target)
            if graph.nodes[target]["type"] in _READS:
                stack.append(target)
            else:
                found[target] = None
    return list(found)


def _writes(graph: "networkx.MultiDiGraph", op: str, name: str) -> bool:
    """Whether an update takes the variable itself and not what it held."""
    return any(edge["kind"] == "data" for edge in (graph.get_edge_data(name, op) or {}).values())


def _slots(graph: "networkx.MultiDiGraph", op: str, name: str) -> list[str]:
    edges = [(e["input"], a) for a, _, e in graph.in_edges(op, data=True) if graph.nodes[a]["role"] == "variable"]
    ordered = [source for _, source in sorted(edges)]
    return ordered[1:] if ordered[:1] == [name] else []


def regions(graph: "networkx.MultiDiGraph") -> dict[str, dict[str, Any]]:
    """The V1 loops of a graph: the frames that its ops run in.

    Args:
      graph: a graph from `build`.

    Returns:
      Name of the frame to a dict: `parent`, the frame around it or None; `ops`, the names of the ops whose innermost
      frame it is; `pair`, the frame whose gradient it is or None.
    """
    found: dict[str, dict[str, Any]] = {
        frame: {"parent": parent, "ops": [], "pair": None} for frame, parent in parents(graph).items()
    }
    frame_of = dict(graph.nodes(data="frame"))
    votes: dict[str, dict[str, int]] = {frame: {} for frame in found}
    for name, node in graph.nodes(data=True):
        frame = node["frame"]
        if frame not in found:
            continue
        found[frame]["ops"].append(name)
        of = frame_of.get(node["pair"])
        if of is not None and of != frame:
            votes[frame][of] = votes[frame].get(of, 0) + 1
    for frame, counts in votes.items():
        if counts:
            found[frame]["pair"] = max(counts, key=counts.__getitem__)
    return found
