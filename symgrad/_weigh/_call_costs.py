"""What calls cost: loops, branches and functions, by the bodies that they run."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._model._functions import bodies, calling
from .._model._shapes import Patience
from .._op_types import BRANCHES, LOOPS
from ..errors import GraphMismatchError, LoadError

if TYPE_CHECKING:
    import networkx

_PUSHES = frozenset({"TensorListPushBack"})


@dataclass
class Calls:
    """By name of a calling op.

    Attributes:
      flops: operations of one run, all iterations of a loop together and the dearest branch.
      peak: bytes that are alive in a body at most.
      kept: bytes of its outputs that are lists, by index: what a loop keeps for its gradient.
      unknown: as in the result of `cost`, with the names of ops behind those of the ops that call.
    """

    flops: dict[Any, int] = field(default_factory=dict)
    peak: dict[Any, int] = field(default_factory=dict)
    kept: dict[Any, dict[int, int]] = field(default_factory=dict)
    unknown: dict[str, Any] = field(default_factory=lambda: {"types": {}, "ops": [], "loops": []})


@dataclass
class Known:
    """What is known of functions while the cost of one graph is computed.

    In a file of a few kB calls may double at each of many levels, and lead back to where they come from.

    Attributes:
      costs: each function once for the same shapes of its arguments: its cost and its graph.
      patience: how much TensorFlow may still look into functions.
      open: names of the functions that are at work; one that calls itself, by others too, has no cost.
    """

    costs: dict[Any, tuple[dict[str, Any], Any]] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    open: set[str] = field(default_factory=set)


# Yields the graph of a function, is sent its cost, and returns what it computes: no recursion, however deep the calls.
Steps = Generator["networkx.MultiDiGraph", Any, Any]


def of_calls(
    graph: "networkx.MultiDiGraph", outputs: dict[Any, Any], iterations: Mapping[str, int], known: Known
) -> Steps:
    """Cost of the ops that call functions: steps to a `Calls`.

    Args:
      graph: a graph from `build`.
      outputs: (dtype, shape) of every output of every op; takes what the functions give, where that was not known.
      iterations: numbers of iterations of loops by the name of the op.
      known: is added to; the names of what is unknown in a function are given where it is called first.
    """
    calls = Calls()
    for name in calling(graph):
        shapes = _input_shapes(graph, name, outputs)
        try:
            inner = bodies(graph, name, shapes=shapes)
        except (LoadError, LookupError, GraphMismatchError):
            continue  # the type stays among those without a formula
        if not inner or any(body.graph["function"] in known.open for body in inner.values()):
            continue
        found, fresh = {}, set()
        for key, body in list(inner.items()):
            what = _key(body)
            if what not in known.costs:
                fresh.add(key)
                known.open.add(body.graph["function"])
                measured = yield body
                known.open.remove(body.graph["function"])
                known.costs[what] = measured, body
            found[key], inner[key] = known.costs[what]
        count = _iterations(graph, name, iterations, calls)
        kind = graph.nodes[name]["type"]
        each = [cost["flops"] for cost in found.values()]
        calls.flops[name] = max(each) if kind in BRANCHES else count * sum(each)
        calls.peak[name] = max(cost["peak"]["bytes"] for cost in found.values())
        if "body" in inner:
            calls.kept[name] = _kept(inner["body"], count)
            held = graph.graph.setdefault("held", {})
            held.update({(name, index): shape for index, shape in _pushed_shapes(inner["body"]).items()})
        _merge_unknown(calls, name, found, fresh)
        _check_results(calls, (name, outputs[name]), inner)
        _learn(outputs, name, inner.get("f"))
    return calls


def _learn(outputs: dict[Any, Any], name: Any, body: "networkx.MultiDiGraph | None") -> None:
    """Take the shapes of what a call gives from the function that it calls, where they are not known."""
    if body is not None and len(body.graph["results"]) == len(outputs[name]):
        pairs = zip(outputs[name], body.graph["results"], strict=True)
        outputs[name] = tuple((dtype, got if shape is None else shape) for (dtype, shape), got in pairs)


def _key(body: "networkx.MultiDiGraph") -> tuple:
    """Which function it is, and what its cost depends on: its arguments."""
    shapes = tuple(body.nodes[name]["outputs"] for name in body.graph["inputs"])
    return body.graph["function"], shapes, tuple(body.graph.get("held", {}).items())


def _input_shapes(graph: "networkx.MultiDiGraph", name: Any, outputs: Mapping[Any, Any]) -> list[tuple | None]:
    edges = [(e["input"], a, e["output"]) for a, _, e in graph.in_edges(name, data=True) if e["kind"] == "data"]
    rows = [outputs[a][k][1] if k < len(outputs[a]) else None for _, a, k in sorted(edges, key=lambda row: row[0])]
    return [None if shape is None else tuple(shape) for shape in rows]


def _iterations(graph: "networkx.MultiDiGraph", name: Any, iterations: Mapping[str, int], calls: Calls) -> int:
    """A loop that is the gradient of another has as many iterations as that one."""
    node = graph.nodes[name]
    if node["type"] not in LOOPS:
        return 1
    told = iterations.get(name, iterations.get(node["pair"] or ""))
    if told is None:
        calls.unknown["loops"].append(str(name))
    return 1 if told is None else told


def _kept(body: "networkx.MultiDiGraph", count: int) -> dict[int, int]:
    """Bytes of the lists that a loop's body pushes to, by the output of the loop."""
    return {index: count * body.nodes[source]["bytes"] for index, source in _pushed(body).items()}


def _pushed_shapes(body: "networkx.MultiDiGraph") -> dict[int, tuple | None]:
    shapes = {}
    for index, source in _pushed(body).items():
        specs = body.graph["shapes"].get(source)
        shapes[index] = specs[0] if specs else None
    return shapes


def _pushed(body: "networkx.MultiDiGraph") -> dict[int, Any]:
    """Output of the loop to the op whose only output its body pushes to that list."""
    found = {}
    for index, result in enumerate(body.graph["outputs"]):
        op = result.partition(":")[0]
        if op in body and body.nodes[op]["type"] in _PUSHES:
            values = [(a, e["output"]) for a, _, e in body.in_edges(op, data=True) if e["input"] == 1]
            if values and len(body.nodes[values[0][0]]["outputs"]) == 1:
                found[index] = values[0][0]
    return found


def _merge_unknown(calls: Calls, name: Any, found: Mapping[str, dict[str, Any]], fresh: set[str]) -> None:
    """What is unknown of an op's functions; by name only where the function is called first."""
    for key, cost in found.items():
        for kind, count in cost["unknown"]["types"].items():
            calls.unknown["types"][kind] = calls.unknown["types"].get(kind, 0) + count
        for what in ("ops", "loops") if key in fresh else ():
            calls.unknown[what] += [f"{name}.{key}.{inner}" for inner in cost["unknown"][what]]


def _check_results(calls: Calls, op: tuple[Any, Any], inner: Mapping[str, Any]) -> None:
    """The shapes that were assumed of the results must be those that the bodies give, or the op is listed."""
    name, specs = op
    body = inner.get("body") or inner.get("f") or inner.get("then_branch")
    if body is None:
        return
    for (_, shape), got in zip(specs, body.graph["results"], strict=False):
        if got is None or shape is None:
            continue
        if len(got) != len(shape) or any(None not in (a, b) and a != b for a, b in zip(got, shape, strict=True)):
            calls.unknown["ops"].append(str(name))
            return
