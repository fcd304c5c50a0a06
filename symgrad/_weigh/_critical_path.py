"""`critical_path`: the chain of ops that takes longest."""

from typing import TYPE_CHECKING, Any

from .._model._schedule import schedule
from ..errors import GraphMismatchError
from ._cost import cost

if TYPE_CHECKING:
    import networkx


def critical_path(graph: "networkx.MultiDiGraph", weight: str = "flops") -> dict[str, Any]:
    """The chain of ops that takes longest: no number of processors makes the graph faster than it.

    Args:
      graph: a graph from `build`. `cost` sets the node attributes `flops` and `bytes`, `from_run_metadata` sets
        `time`; if no node has `flops`, `cost(graph)` is called for it.
      weight: the node attribute to add up; nodes without it count as 0.

    Returns:
      A dict: `path` (names, in order), `weight` (its sum), `total` (the sum over all ops) and `parallelism`, the ratio
      of total to weight. Back edges of V1 loops are left out.

    Raises:
      GraphMismatchError: no node has the attribute.
    """
    if weight == "flops" and not any("flops" in node for _, node in graph.nodes(data=True)):
        cost(graph)
    if len(graph) and not any(weight in node for _, node in graph.nodes(data=True)):
        raise GraphMismatchError(f"no op has {weight!r}; cost sets flops and bytes, from_run_metadata time and memory")
    best: dict[Any, float] = {}
    before: dict[Any, Any] = {}
    for name in schedule(graph):
        own = graph.nodes[name].get(weight) or 0
        previous = max((a for a in graph.pred[name] if a in best), key=best.__getitem__, default=None)
        best[name] = own + (best[previous] if previous is not None else 0)
        before[name] = previous
    at = max(best, key=best.__getitem__, default=None)
    total = sum(node.get(weight) or 0 for _, node in graph.nodes(data=True))
    heaviest = best[at] if at is not None else 0
    path = []
    while at is not None:
        path.append(at)
        at = before[at]
    return {
        "path": path[::-1],
        "weight": heaviest,
        "total": total,
        "parallelism": total / heaviest if heaviest else 1.0,
    }
