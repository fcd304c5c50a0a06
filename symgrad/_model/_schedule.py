"""The order in which the ops of a graph run, V1 loops as one stretch each; and how often they run."""

import heapq
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._op_types import ENTERS, EXITS, NEXT_ITERATIONS

if TYPE_CHECKING:
    import networkx


def schedule(graph: "networkx.MultiDiGraph") -> list[Any]:
    """A topological order that keeps to the order of the nodes where it can, updates as early as they can.

    Linear but for the logarithm of a heap. The back edges of V1 loops are left out, and what leaves a loop waits until
    one iteration of all its body is done.
    """
    nodes = dict(graph.nodes(data=True))
    names = _by_priority(graph)
    position = {name: i for i, name in enumerate(names)}
    waiting = dict.fromkeys(graph, 0)
    followers: dict[Any, list[Any]] = defaultdict(list)
    ends: dict[str, list[Any]] = defaultdict(list)
    for name, node in nodes.items():
        if node["type"] in EXITS and node["frame"] is not None:
            waiting[name] += 1
            ends[node["frame"]].append(name)
    open_iterations = _iterations(graph)
    for a, b in graph.edges():
        if nodes[a]["type"] not in NEXT_ITERATIONS:
            followers[a].append(b)
            waiting[b] += 1
    for frame in set(ends) - set(open_iterations):  # a loop that was cut out of its graph has no back edge to wait for
        for name in ends[frame]:
            waiting[name] -= 1
    ready = [position[name] for name in names if not waiting[name]]
    heapq.heapify(ready)
    order = []

    def done(name: Any) -> None:
        waiting[name] -= 1
        if not waiting[name]:
            heapq.heappush(ready, position[name])

    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for other in followers[name]:
            done(other)
        node = nodes[name]
        if node["type"] in NEXT_ITERATIONS and node["frame"] in open_iterations:
            open_iterations[node["frame"]] -= 1
            if not open_iterations[node["frame"]]:
                for leaving in ends[node["frame"]]:
                    done(leaving)
    return order


def _by_priority(graph: "networkx.MultiDiGraph") -> list[Any]:
    """The ops in the order in which they run as soon as they can.

    TensorFlow runs what is ready: variables and constants at once, updates soon after the gradients they let go. The
    ops of a loop go together, also those that its gradient has added to it later.
    """
    begin: dict[str, int] = {}
    key: dict[Any, tuple[int, int, int]] = {}
    for i, (name, node) in enumerate(graph.nodes(data=True)):
        early = node["role"] in ("update", "variable", "constant")
        start = i if node["frame"] is None else begin.setdefault(node["frame"], i)
        key[name] = (not early, start, i)
    return sorted(graph, key=key.__getitem__)


def _iterations(graph: "networkx.MultiDiGraph") -> dict[str, int]:
    """Number of back edges of each frame."""
    count: dict[str, int] = defaultdict(int)
    for _, node in graph.nodes(data=True):
        if node["type"] in NEXT_ITERATIONS and node["frame"] is not None:
            count[node["frame"]] += 1
    return dict(count)


def frame_runs(graph: "networkx.MultiDiGraph", sizes: Mapping[str, Any]) -> tuple[dict[str, int], list[str]]:
    """How often the body of each V1 loop runs, and the loops for which nobody told.

    A loop's gradient has the name of the loop at the end of its own and as many iterations.
    """
    parent = parents(graph)
    own: dict[str, int] = {}
    untold = []
    for frame in parent:
        told = next((sizes[key] for key in sizes if frame == key or frame.endswith("/" + key)), None)
        if told is None:
            untold.append(frame)
        own[frame] = 1 if told is None else int(told)
    runs = {}
    for frame in parent:
        count, at, seen = 1, frame, set()
        while at in own and at not in seen:  # a forged file may nest a loop in itself
            seen.add(at)
            count *= own[at]
            at = parent[at] or ""
        runs[frame] = count
    return runs, untold


def parents(graph: "networkx.MultiDiGraph") -> dict[str, str | None]:
    """The frame around each frame: that of the values which enter it."""
    around: dict[str, list[tuple[bool, str | None]]] = defaultdict(list)
    for name, node in graph.nodes(data=True):
        if node["type"] not in ENTERS or node["frame"] is None:
            continue
        for source in graph.predecessors(name):
            frame = graph.nodes[source]["frame"]
            around[node["frame"]].append((graph.nodes[source]["type"] in EXITS, frame))
    parent: dict[str, str | None] = {}
    for frame, sources in around.items():
        left, found = min(sources, key=lambda source: source[0], default=(False, None))
        # What an Exit gives is outside of the frame that the Exit counts to.
        parent[frame] = parent.get(found or "") if left else found
    return parent
