"""The way from x to y alone, with the way that the gradient takes back."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._reach import reach
from ._query import between, node_names, part

if TYPE_CHECKING:
    import networkx


def along(graph: "networkx.MultiDiGraph", *, ys: Any, xs: Any) -> "networkx.MultiDiGraph":
    """The ops on data paths from xs to ys, and those through which the gradient of ys flows back to xs.

    Args:
      graph: a graph from `build`.
      ys, xs: names of ops, ops or tensors, one or a list.

    Returns:
      A copy with just these ops and the edges among them; empty where there is no path.

    Raises:
      GraphMismatchError: a name is not in the graph.
    """
    forward = set(between(graph, xs, ys))
    backward = {name for name in graph if graph.nodes[name].get("role") == "backward"}
    inside = {name for name in backward if _root(graph, name) in forward}
    entry = forward & set(node_names(graph, xs))
    first = entry | {after for name in entry for after in graph.successors(name) if after in forward}
    ends = {name for name in inside if _root(graph, name) in first and not graph.nodes[name].get("dead")}
    return part(graph, forward | _leading_to(graph, ends, inside))


def narrowed(graph: "networkx.MultiDiGraph", ys: Any, xs: Any) -> "networkx.MultiDiGraph":
    """The graph along the way from xs to ys; all of it where neither is given."""
    if ys is None and xs is None:
        return graph
    if ys is None or xs is None:
        raise ValueError(f"ys={ys!r}, xs={xs!r}; wanted both, for the way from xs to ys, or none, for the whole graph")
    return along(graph, ys=ys, xs=xs)


def _root(graph: "networkx.MultiDiGraph", name: str) -> str | None:
    """The forward op that a backward op belongs to, over the backward ops between them in higher orders."""
    seen: set[str] = set()
    at: str | None = name
    while at is not None and at not in seen and at in graph and graph.nodes[at].get("role") == "backward":
        seen.add(at)
        at = graph.nodes[at].get("pair")
    return at


def _leading_to(graph: "networkx.MultiDiGraph", ends: Iterable[str], inside: set[str]) -> set[str]:
    return set(reach(ends, lambda name: (source for source in graph.predecessors(name) if source in inside)))
