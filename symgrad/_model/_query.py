"""Questions to a built graph: what lies between, what is in it, which gradients belong to an op."""

from collections.abc import Collection, Hashable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .._reach import reach
from ..errors import GraphMismatchError

if TYPE_CHECKING:
    import networkx


def between(graph: "networkx.MultiDiGraph", sources: Any, targets: Any) -> "networkx.MultiDiGraph":
    """The part of a graph that lies on data paths from any of `sources` to any of `targets`.

    Args:
      graph: a graph from `build`.
      sources, targets: node names, ops or tensors, one or an iterable of them.

    Returns:
      A copy with just the ops on such paths, ends included, and every edge among them. Empty where there is no path.

    Raises:
      GraphMismatchError: a name is not in the graph.
    """
    down = _led_to(graph, node_names(graph, sources), forwards=True)
    up = _led_to(graph, node_names(graph, targets), forwards=False)
    return part(graph, down & up)


def part(graph: "networkx.MultiDiGraph", names: Collection[Hashable]) -> "networkx.MultiDiGraph":
    """A copy with just these ops and the edges among them, in the order of the graph.

    networkx's own `subgraph` takes them in the order of a set, which is another one in every process.
    """
    import networkx

    kept = [name for name in graph if name in names]
    found: networkx.MultiDiGraph = networkx.MultiDiGraph()
    found.graph.update(graph.graph)
    found.add_nodes_from((name, graph.nodes[name]) for name in kept)
    for name in kept:
        for target, edges in graph.succ[name].items():
            if target in names:
                for key, edge in edges.items():
                    found.add_edge(name, target, key, **edge)
    return found


def neighbourhood(graph: "networkx.MultiDiGraph", ys: Any, xs: Any) -> "networkx.MultiDiGraph":
    """The ops between xs and ys with their gradients and what they read; see `build`."""
    kept = set(graph)
    if xs is not None:
        kept &= _led_to(graph, node_names(graph, xs), forwards=True)
    if ys is not None:
        kept &= _led_to(graph, node_names(graph, ys), forwards=False)
    kept = _with_gradients(graph, kept)
    for name in list(kept):
        for source in graph.predecessors(name):
            if source not in kept and _is_leaf_read(graph, source):
                kept.add(source)
                kept.update(p for p in graph.predecessors(source) if graph.nodes[p].get("role") == "variable")
    return part(graph, kept)


def _is_leaf_read(graph: "networkx.MultiDiGraph", name: Hashable) -> bool:
    """A variable, a constant, or the Identity that reads a variable."""
    node = graph.nodes[name]
    if node.get("role") in ("variable", "constant") or node.get("type") in ("Placeholder", "ReadVariableOp"):
        return True
    inputs = list(graph.predecessors(name))
    return node.get("type") == "Identity" and len(inputs) == 1 and graph.nodes[inputs[0]].get("role") == "variable"


def _with_gradients(graph: "networkx.MultiDiGraph", kept: set) -> set:
    """`kept` with the backward ops of its ops, the backward ops of those, and so on."""
    gradients: dict[Any, list[str]] = {}
    for name, pair in graph.nodes(data="pair"):
        if pair is not None:
            gradients.setdefault(pair, []).append(name)
    return set(reach(kept, lambda name: gradients.get(name, ())))


def _led_to(graph: "networkx.MultiDiGraph", starts: Iterable[str], *, forwards: bool) -> set[str]:
    """Everything that data edges lead to from `starts`, the starts included."""
    neighbours = graph.succ if forwards else graph.pred

    def step(name: str) -> list[str]:
        edges = neighbours[name].items()
        return [other for other, all_to in edges if any(e.get("kind", "data") == "data" for e in all_to.values())]

    return set(reach(starts, step))


def takers(graph: "networkx.MultiDiGraph", name: Any) -> list[Any]:
    """What takes the data that an op gives, once for each input."""
    return [target for _, target, edge in graph.out_edges(name, data=True) if edge["kind"] == "data"]


def data_inputs(graph: "networkx.MultiDiGraph") -> dict[Any, list[tuple[int, Any, int]]]:
    """Name of each op to its data inputs in order: the slot, the op that gives it, and which of that op's outputs."""
    found: dict[Any, list[tuple[int, Any, int]]] = {name: [] for name in graph}
    for source, target, edge in graph.edges(data=True):
        if edge["kind"] == "data":
            found[target].append((edge["input"], source, edge["output"]))
    for rows in found.values():
        if len(rows) > 1:
            rows.sort(key=itemgetter(0))
    return found


def node_names(graph: "networkx.MultiDiGraph", things: Any) -> list[str]:
    """Names of the nodes that ops, tensors, variables or names stand for."""
    if isinstance(things, str) or not isinstance(things, Iterable) or hasattr(things, "op"):
        things = [things]
    names: list[str] = []
    for thing in things:
        name: Any = thing if isinstance(thing, str) else getattr(getattr(thing, "op", thing), "name", None)
        if name not in graph and isinstance(name, str):
            name = name.partition(":")[0]
        if name not in graph:
            raise GraphMismatchError(f"no op named {name!r} in this graph of {len(graph):,} ops; asked by {thing!r}")
        names.append(name)
    return names
