"""`summary`: what a graph holds, as plain data that prints as a table or as JSON."""

from collections import Counter, defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from .._files import ends
from .._reach import reach
from ._query import takers

if TYPE_CHECKING:
    import networkx

_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex64", "complex128", "unknown"})


def summary(graph: "networkx.MultiDiGraph") -> dict[str, Any]:
    """What is in a graph.

    Args:
      graph: a graph from `build`.

    Returns:
      A dict of plain values, ready for JSON:

      * `ops`, `edges`: counts. `types`: count by op type, most frequent first.
      * `roles`: count by role. `orders`: count of backward ops by order. `dead`: count of dead ones.
      * `inputs`, `outputs`: name, dtype and shape of the placeholders and of the forward results that nobody consumes.
      * `variables`: name, dtype, shape, number of elements (None where the shape is not known), and whether an update
        takes a gradient to it (`trained`). `parameters`: elements of the trained ones, or of all if none is trained.
      * `scopes`: for each outermost scope with forward ops, its forward and backward ops and the forward ops with at
        least one backward op (`paired`).
      * `signatures`: those of a MetaGraph or SavedModel, as in `graph.graph["signatures"]` of `build`.
      * `no_gradient`: op types on the way from variables or inputs to outputs through which no gradient passes: the
        reason and the ops.
    """
    nodes = graph.nodes(data=True)
    inputs, outputs = _ends(graph)
    variables = variable_rows(graph)
    trained = [v for v in variables if v["trained"]] or variables
    return {
        "ops": len(graph),
        "edges": graph.number_of_edges(),
        "types": dict(Counter(node["type"] for _, node in nodes).most_common()),
        "roles": dict(Counter(node["role"] for _, node in nodes).most_common()),
        "orders": dict(sorted(Counter(node["order"] for _, node in nodes if node["role"] == "backward").items())),
        "dead": sum(node["dead"] for _, node in nodes),
        "inputs": [_tensor(graph, name) for name in inputs],
        "outputs": [_tensor(graph, name) for name in outputs],
        "variables": variables,
        "parameters": sum(v["elements"] or 0 for v in trained),
        "scopes": _scopes(graph),
        "signatures": graph.graph.get("signatures", {}),
        "no_gradient": _no_gradient(graph, inputs, outputs),
    }


def _ends(graph: "networkx.MultiDiGraph") -> tuple[list[str], list[str]]:
    """Placeholders, and results of the forward part: what only a gradient consumes is a result too."""
    import numpy as np

    names = [name for name, node in graph.nodes(data=True) if node["role"] not in ("backward", "update")]
    index = {name: i for i, name in enumerate(names)}
    data = {(a, b) for a, b, edge in graph.edges(data=True) if edge["kind"] == "data"}
    inside = sorted((index[a], index[b]) for a, b in data if a in index and b in index)
    source, target = np.array(inside, np.int64).reshape(-1, 2).T
    inputs, outputs = ends([graph.nodes[name]["type"] for name in names], source, target)
    used_by_update = {a for a, b in data if graph.nodes[b]["role"] == "update"}
    shown = [names[i] for i in outputs if graph.nodes[names[i]]["outputs"] and names[i] not in used_by_update]
    shape_ops = {name for name in shown if graph.nodes[name]["type"] in ("Shape", "ShapeN", "Size", "Rank")}
    return [names[i] for i in inputs], [name for name in shown if name not in shape_ops]


def _tensor(graph: "networkx.MultiDiGraph", name: str) -> dict[str, Any]:
    dtype, shape = (graph.nodes[name]["outputs"] or (("unknown", None),))[0]
    return {"name": name, "type": graph.nodes[name]["type"], "dtype": dtype, "shape": _plain(shape)}


def _plain(shape: tuple | None) -> list | None:
    return None if shape is None else list(shape)


def variable_rows(graph: "networkx.MultiDiGraph") -> list[dict[str, Any]]:
    """Name, dtype, shape and size of each variable, and whether it is trained."""
    trained = trained_variables(graph)
    found = []
    for name, node in graph.nodes(data=True):
        if node["role"] != "variable":
            continue
        dtype, shape = _value_of(graph, name)
        elements = prod(shape) if shape is not None and None not in shape else None
        found.append(
            {"name": name, "dtype": dtype, "shape": _plain(shape), "elements": elements, "trained": name in trained}
        )
    return found


def _value_of(graph: "networkx.MultiDiGraph", name: str) -> tuple[str, tuple | None]:
    """Dtype and shape of what a variable holds; a resource handle tells neither, its reads and writes may."""
    dtype, shape = (graph.nodes[name]["outputs"] or (("unknown", None),))[0]
    if dtype != "resource":
        return dtype, shape
    from ._attributes import attributes

    try:
        held = attributes(graph, name)
    except LookupError:
        held = {}
    return held.get("dtype", "unknown"), held.get("shape")


def trained_variables(graph: "networkx.MultiDiGraph") -> set[str]:
    """Variables that an update writes with something a gradient went into."""

    def updates(at: str) -> list[str]:
        return [target for target in takers(graph, at) if graph.nodes[target]["role"] == "update"]

    gradients = [name for name, role in graph.nodes(data="role") if role == "backward"]
    return {
        source
        for update in reach((update for name in gradients for update in updates(name)), updates)
        for source, _, into in graph.in_edges(update, data=True)
        if into["input"] == 0 and into["kind"] == "data" and graph.nodes[source]["role"] == "variable"
    }


def _scopes(graph: "networkx.MultiDiGraph") -> list[dict[str, Any]]:
    from ._fold import forward_of

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    root = forward_of(graph)
    has_gradient = {node["pair"] for _, node in graph.nodes(data=True) if node["pair"] is not None}
    for name, node in graph.nodes(data=True):
        if node["role"] in ("forward", "control"):
            counts[_outermost(name)]["forward"] += 1
            counts[_outermost(name)]["paired"] += name in has_gradient
        elif node["role"] == "backward" and node["pair"] is not None:
            counts[_outermost(root[name])]["backward"] += 1
    return [
        {"scope": scope, **{key: count[key] for key in ("forward", "backward", "paired")}}
        for scope, count in counts.items()
        if count["forward"]
    ]


def _outermost(name: str) -> str:
    return name.partition("/")[0]


def _no_gradient(graph: "networkx.MultiDiGraph", inputs: list[str], outputs: list[str]) -> list[dict[str, Any]]:
    from .._tf import gradient_registry
    from ._query import between

    starts = [*inputs, *(name for name, role in graph.nodes(data="role") if role == "variable")]
    way = between(graph, starts, outputs)
    blocked: dict[str, list[str]] = defaultdict(list)
    for name, node in way.nodes(data=True):
        carries = node["role"] in ("forward", "control") and name not in starts and _carries_floats(graph, name)
        if carries:
            blocked[node["type"]].append(name)
    found = []
    for kind, names in sorted(blocked.items()):
        try:
            if gradient_registry.lookup(kind) is not None:
                continue
            reason = "not differentiable"
        except LookupError:
            reason = "no gradient registered"
        found.append({"type": kind, "reason": reason, "ops": sorted(names)})
    return found


def _carries_floats(graph: "networkx.MultiDiGraph", name: str) -> bool:
    """Floating data come in and go out, or it is not known what does."""
    outputs = graph.nodes[name]["outputs"]
    comes_in = any(e["kind"] == "data" and e["dtype"] in _FLOATS for _, _, e in graph.in_edges(name, data=True))
    return comes_in and (not outputs or any(dtype in _FLOATS for dtype, _ in outputs))
