"""The functions that ops call put into the graph, for pictures: a call becomes a box that opens to what it runs."""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._model._functions import DEPTH, bodies, calling
from .._model._shapes import complete
from .._op_types import BRANCHES
from ..errors import GraphMismatchError, LoadError

if TYPE_CHECKING:
    import networkx

# More arguments than this are kept together in a box of their own.
_FEW_ARGUMENTS = 3

# Functions may call each other or themselves without end; a picture does not go deeper than this, nor get larger.
_CALLS, _OPS = 1000, 60_000

# Shapes within functions are inferred for so many of them: it takes longer than all the rest.
_INFERRED = 32


@dataclass(frozen=True)
class _Call:
    """An op that calls functions: its name in the picture, the graph that it is in, and its name there."""

    shown: str
    graph: Any
    name: str
    depth: int


@dataclass
class _Whole:
    """What the picture is made of, while it grows.

    Attributes:
      graph: the ops that are in it.
      prefix: the scope that the body of a call is in, by the call and the attribute that holds the function.
      inner: (call, scope, body) in the order in which they were added.
      closed: calls that are not opened, and why.
    """

    graph: "networkx.MultiDiGraph"
    prefix: dict[tuple[str, str], str] = field(default_factory=dict)
    inner: list[tuple[str, str, Any]] = field(default_factory=list)
    closed: dict[str, str] = field(default_factory=dict)


def with_functions(graph: "networkx.MultiDiGraph") -> "networkx.MultiDiGraph":
    """A copy with the ops of every function that is called, once for each call; the graph itself where none is.

    An op `f` that calls by its attribute `body` gets the ops `f/body/...`, which take what went into it, and takes what
    these give. Those of a gradient live with their forward ops. Where an op is to be drawn with others than its name
    says, `home` is the name of its place. `graph.graph["inlined"]` has (call, scope, body) for each function, and
    `graph.graph["closed"]` says of calls which are not opened why.
    """
    if graph.graph.get("source") is None or not calling(graph):
        return graph
    whole = _Whole(graph.copy())
    waiting = deque(_Call(name, graph, name, 0) for name in _forward_first(graph))
    calls = 0
    while waiting:
        call = waiting.popleft()
        calls += 1
        if call.depth >= DEPTH or calls > _CALLS or len(whole.graph) > _OPS + len(graph):
            whole.closed[call.shown] = "too many functions to draw"
            continue
        try:
            found = bodies(call.graph, call.name)
        except (LoadError, GraphMismatchError, LookupError, OSError) as error:  # or the file has gone since
            whole.closed[call.shown] = str(error)
            continue
        for key, body in found.items():
            scope = _add(whole, call, key, body)
            waiting.extend(_Call(f"{scope}/{name}", body, name, call.depth + 1) for name in _forward_first(body))
        _rewire(whole.graph, call, [(whole.prefix[call.shown, key], body) for key, body in found.items()])
    whole.graph.graph.update(inlined=whole.inner, closed=whole.closed)
    return whole.graph


def _forward_first(graph: "networkx.MultiDiGraph") -> list[str]:
    """The calls of a graph, each before its gradient."""
    return sorted(calling(graph), key=lambda name: graph.nodes[name]["order"])


def _add(whole: _Whole, call: _Call, key: str, body: "networkx.MultiDiGraph") -> str:
    """Put the ops of a body into the graph; the scope that they are in."""
    scope = f"{call.shown}/{key}"
    while scope in whole.graph or scope in whole.prefix.values():
        scope += "_function"
    whole.prefix[call.shown, key] = scope
    whole.inner.append((call.shown, scope, body))
    caller = whole.graph.nodes[call.shown]
    outputs = complete(body, {}) if len(whole.inner) <= _INFERRED else body.nodes(data="outputs")
    forward = whole.prefix.get((caller["pair"], key)) if caller["role"] == "backward" else scope
    arguments = set(body.graph["inputs"]) if len(body.graph["inputs"]) > _FEW_ARGUMENTS else ()
    for name, node in body.nodes(data=True):
        pair = f"{forward}/{node['pair']}" if forward and node["pair"] is not None else None
        added = {**node, "outputs": outputs[name], "scope": f"{scope}/{node['scope']}".rstrip("/"), "pair": pair}
        if caller["role"] == "backward":
            added.update(role="backward", order=max(node["order"], caller["order"]))
            if forward and pair is None:
                added["home"] = f"{forward}/{call.name.rpartition('/')[2]}/{name}"
        elif name in arguments:
            added["home"] = f"{scope}/arguments/{name}"
        whole.graph.add_node(f"{scope}/{name}", **added)
    for source, target, edge in body.edges(data=True):
        whole.graph.add_edge(f"{scope}/{source}", f"{scope}/{target}", **edge)
    return scope


def _rewire(graph: "networkx.MultiDiGraph", call: _Call, inside: list[tuple[str, Any]]) -> None:
    """Lead what a call takes into the bodies, and what they return to the call."""
    skip = int(graph.nodes[call.shown]["type"] in BRANCHES)
    taken = [
        (source, key, edge)
        for source, _, key, edge in graph.in_edges(call.shown, keys=True, data=True)
        if edge["kind"] == "data" and edge["input"] >= skip
    ]
    for scope, body in inside:
        arguments = body.graph["inputs"]
        for source, _, edge in taken:
            if edge["input"] - skip < len(arguments):
                graph.add_edge(source, f"{scope}/{arguments[edge['input'] - skip]}", **{**edge, "input": 0})
        for slot, result in enumerate(body.graph["outputs"]):
            name, _, port = result.partition(":")
            output = int(port or 0)
            specs = body.nodes[name]["outputs"]
            dtype, shape = specs[output] if output < len(specs) else ("", None)
            graph.add_edge(
                f"{scope}/{name}", call.shown, kind="data", output=output, input=slot, dtype=dtype, shape=shape
            )
    if inside:
        graph.remove_edges_from([(source, call.shown, key) for source, key, _ in taken])
