"""`cost`: operations, bytes and peak memory of a graph, forward against backward."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from copy import copy
from math import prod
from typing import TYPE_CHECKING, Any

from .._collector import collector_paused
from .._model._attributes import all_nodes, value
from .._model._functions import calling, functions
from .._model._schedule import frame_runs, schedule
from .._model._shapes import complete
from .._reach import reach
from ..errors import GraphMismatchError
from ._call_costs import Known, Steps, of_calls
from ._flops import of_graph
from ._liveness import ALIASES, peak_of

if TYPE_CHECKING:
    import networkx

# What `_cost` notes of a function's body for the op that calls it: shapes in lists, of all outputs, of the results.
_NOTES = ("held", "shapes", "results")


def cost(
    graph: "networkx.MultiDiGraph", *, sizes: Mapping[str, Any] | None = None, fetches: Any = None
) -> dict[str, Any]:
    """What a graph computes and how much memory it takes, without running it.

    A multiply-add is two operations; each op type has a closed formula of its shapes. The peak is that of the ops in
    the order of the graph, each V1 loop as one stretch, on a runtime that lets go of a tensor after its last use and
    lets elementwise ops write into an input that nobody else reads, as TensorFlow does. A call of a function costs what
    its body does, a loop all its iterations, a branch the dearest one.

    Args:
      graph: a graph from `build`. Its nodes get the attributes `flops` (None where unknown) and `bytes`, both for all
        runs of the op, with which pictures can be coloured.
      sizes: what the graph leaves open. `"batch"`: the size of every first dimension that is not known, of a
        placeholder or of a result of a branch or V2 loop; the name of a placeholder: its shape; the
        name of a V1 loop's frame, or of the op of a V2 loop: its number of iterations.
      fetches: ops or tensors, one or a list: only what these need is counted. None counts every op, also initialisers.

    Returns:
      A dict of plain values, ready for JSON:

      * `flops`, `bytes`: operations; bytes of all outputs that are made: not of variables, constants and inputs, nor of
        what shares their memory, such as a Reshape.
      * `roles`, `types`, `scopes`: the same by role, by op type and by outermost scope, most operations first, each
        with `ops`, `flops` and `bytes`; a scope's gradient counts to it as `backward_flops` and `backward_bytes`.
      * `peak`: `bytes`, `op` (that runs then) and `live`, the ten largest tensors then, as (name, bytes).
      * `kept`: bytes of the variables, constants and inputs, which live longer than a step.
      * `dense`: gradients that become dense from IndexedSlices: the op, the gather whose gradient it is, bytes of the
        slices and bytes of the dense tensor.
      * `unknown`: `types` without a formula (counted as 0) and how many there are; `ops` whose shapes are not known;
        `loops` counted for one iteration since nobody told how many.

    Raises:
      ShapeError: the sizes contradict the graph.
      GraphMismatchError: a fetch is not in the graph.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [None, 3], name="x")
      ...     y = tf.matmul(x, tf.ones([3, 4]), name="y")
      >>> symgrad.graph.cost(symgrad.graph.build(g), sizes={"batch": 10})["types"]["MatMul"]["flops"]
      240
    """
    sizes = {} if sizes is None else dict(sizes)
    _check_keys(graph, sizes)
    # What these sizes tell of lists and results is true for them alone.
    before = {key: copy(graph.graph[key]) for key in _NOTES if key in graph.graph}
    try:
        with collector_paused():
            return _of_functions_too(graph, sizes, fetches)
    finally:
        for key in _NOTES:
            graph.graph.pop(key, None)
        graph.graph.update(before)


def _of_functions_too(graph: "networkx.MultiDiGraph", sizes: dict[str, Any], fetches: Any) -> dict[str, Any]:
    """The cost of a graph and, on the way, of each function that is called from it, by a stack of our own."""
    known = Known()
    stack = [_cost(graph, sizes, fetches, known)]
    found: Any = None
    while stack:
        try:
            body = stack[-1].send(found)
        except StopIteration as end:
            stack.pop()
            found = end.value
        else:
            stack.append(_cost_of_body(body, sizes, known))
            found = None
    return found


def _cost(graph: "networkx.MultiDiGraph", sizes: dict[str, Any], fetches: Any, known: Known) -> Steps:
    part = _needed(graph, fetches)
    outputs = complete(part, sizes, known.patience)
    iterations = {name: number for name, number in sizes.items() if isinstance(number, int) and name != "batch"}
    calls = yield from of_calls(part, outputs, iterations, known)
    runs, untold = frame_runs(part, iterations)
    if "outputs" in graph.graph:
        graph.graph["shapes"] = {name: [shape for _, shape in specs] for name, specs in outputs.items()}
    graph.graph["results"] = [_shape_of(outputs, tensor) for tensor in graph.graph.get("outputs", ())]
    made = {name: [_bytes(spec) for spec in specs] for name, specs in outputs.items()}
    for name, kept in calls.kept.items():
        for index, size in kept.items():
            made[name][index] = size
    flops, without, unknown = of_graph(part, outputs, attribute=_lookup(part), known=calls.flops)
    for name, node in part.nodes(data=True):
        times = runs.get(node["frame"], 1)
        node["flops"] = flops[name] * times if name in flops else None
        node["bytes"] = sum(size or 0 for size in made[name]) * times
        graph.nodes[name].update(flops=node["flops"], bytes=node["bytes"])
    filled = {name: [size or 0 for size in row] for name, row in made.items()}
    peak = peak_of(part, schedule(part), filled, runs=runs, inner=calls.peak)
    open_shapes = [name for name, row in made.items() if None in row and part.nodes[name]["type"] not in _TINY]
    return {
        **_total([node for _, node in part.nodes(data=True)]),
        **_totals(part),
        "peak": {"bytes": peak.bytes, "op": peak.op, "live": peak.live},
        "kept": _kept(part),
        "dense": _dense(part, filled),
        "unknown": {
            "types": dict(Counter(without) + Counter(calls.unknown["types"])),
            "ops": sorted({*unknown, *open_shapes, *calls.unknown["ops"]}),
            "loops": untold + calls.unknown["loops"],
        },
    }


def _shape_of(outputs: Mapping[Any, Any], tensor: str) -> tuple | None:
    name, _, index = tensor.rpartition(":")
    specs = outputs.get(name, ())
    return specs[int(index)][1] if int(index) < len(specs) else None


def _cost_of_body(body: "networkx.MultiDiGraph", sizes: Mapping[str, Any], known: Known) -> Steps:
    """The cost of a function, which knows the shapes of its arguments from the op that calls it."""
    inside = {name: size for name, size in sizes.items() if name not in body.graph["inputs"]}
    return _cost(body, inside, None, known)


def _check_keys(graph: "networkx.MultiDiGraph", sizes: Mapping[str, Any]) -> None:
    """Refuse a key that stands for nothing; loops may be in functions, which are read only where that is in doubt."""
    left = {key for key in sizes if key != "batch" and not _is_in(graph, key)}
    if left and calling(graph):
        inner = [body for _, body in functions(graph) if not isinstance(body, Exception)]
        left = {key for key in left if not any(_is_in(body, key) for body in inner)}
    for key in sorted(left):
        raise GraphMismatchError(
            f"sizes has {key!r}, which is neither 'batch' nor a placeholder nor a loop in this graph"
        )


def _is_in(graph: "networkx.MultiDiGraph", key: str) -> bool:
    frames = {node["frame"] for _, node in graph.nodes(data=True)} - {None}
    return key in graph or any(frame == key or frame.endswith("/" + key) for frame in frames)


def _needed(graph: "networkx.MultiDiGraph", fetches: Any) -> "networkx.MultiDiGraph":
    """A copy with only what the fetches need, control dependencies included; the graph itself if that is all."""
    if fetches is None:
        return graph
    from .._model._query import node_names, part

    return part(graph, set(reach(node_names(graph, fetches), graph.pred.__getitem__)))


def _bytes(spec: tuple[str, tuple | None]) -> int | None:
    dtype, shape = spec
    size = _WIDTH.get(dtype)
    if size is None:
        return 0  # handles, strings and lists, whose content the graph does not tell
    return None if shape is None or None in shape else size * prod(shape)


# Some of their results depend on values or on the kernel, and are a few numbers.
_TINY = frozenset({"BroadcastGradientArgs", "FusedBatchNormV3"})

_WIDTH = {
    **dict.fromkeys(("bool", "int8", "uint8", "qint8", "quint8", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}


def _lookup(graph: "networkx.MultiDiGraph") -> Callable[[Hashable, str], Any]:
    """A function that fetches an attribute, from a table of the source that is made when the first one is wanted."""
    import tensorflow.compat.v1 as tf

    source = graph.graph.get("source")
    table: dict[Any, Any] = {}

    def attribute(name: Hashable, key: str) -> Any:
        if isinstance(source, tf.Graph):
            return value(source.get_operation_by_name(str(name)).node_def.attr[key])
        if not table:
            table.update({node.name: node for node in all_nodes(graph)})
        return value(table[name].attr[key])

    return attribute


def _total(nodes: Collection[Mapping[str, Any]]) -> dict[str, int]:
    flops = sum(node["flops"] or 0 for node in nodes)
    return {"ops": len(nodes), "flops": flops, "bytes": sum(node["bytes"] for node in nodes if _is_made(node))}


def _is_made(node: Mapping[str, Any]) -> bool:
    kept = node["role"] in ("variable", "constant") or node["type"].startswith("Placeholder")
    return not kept and node["type"] not in ALIASES


def _totals(graph: "networkx.MultiDiGraph") -> dict[str, dict[str, dict[str, int]]]:
    from .._model._fold import forward_of

    root = forward_of(graph)
    groups: dict[str, dict[str, list[Any]]] = {key: defaultdict(list) for key in ("roles", "types", "forward", "back")}
    for name, node in graph.nodes(data=True):
        groups["roles"][node["role"]].append(node)
        groups["types"][node["type"]].append(node)
        backward = node["role"] == "backward"
        groups["back" if backward else "forward"][str(root[name]).partition("/")[0]].append(node)
    roles, types = ({k: _total(nodes) for k, nodes in groups[g].items()} for g in ("roles", "types"))
    scopes = {}
    for scope in dict.fromkeys((*groups["forward"], *groups["back"])):
        forward, back = (_total(groups[key].get(scope, ())) for key in ("forward", "back"))
        scopes[scope] = {
            "ops": forward["ops"] + back["ops"],
            "flops": forward["flops"],
            "bytes": forward["bytes"],
            "backward_flops": back["flops"],
            "backward_bytes": back["bytes"],
        }
    return {
        key: dict(sorted(table.items(), key=lambda row: -row[1]["flops"] - row[1].get("backward_flops", 0)))
        for key, table in (("roles", roles), ("types", types), ("scopes", scopes))
    }


def _kept(graph: "networkx.MultiDiGraph") -> dict[str, int]:
    kept = {"variables": 0, "constants": 0, "inputs": 0}
    for _, node in graph.nodes(data=True):
        if node["role"] == "variable":
            kept["variables"] += node["bytes"]
        elif node["role"] == "constant":
            kept["constants"] += node["bytes"]
        elif node["type"].startswith("Placeholder"):
            kept["inputs"] += node["bytes"]
    return kept


def _dense(graph: "networkx.MultiDiGraph", sizes: Mapping[Any, list[int]]) -> list[dict[str, Any]]:
    """tf.gradients makes IndexedSlices dense by UnsortedSegmentSum, outside the gradient of the gather they are of."""
    found = []
    for name, node in graph.nodes(data=True):
        if node["type"] != "UnsortedSegmentSum" or node["role"] != "backward":
            continue
        edges = [(e["input"], a, e["output"]) for a, _, e in graph.in_edges(name, data=True) if e["kind"] == "data"]
        source = next(((a, k) for slot, a, k in edges if slot == 0), None)
        if source is None:
            continue
        found.append(
            {
                "op": name,
                "gather": graph.nodes[source[0]]["pair"],
                "slices_bytes": sizes[source[0]][source[1]],
                "bytes": sizes[name][0],
            }
        )
    return found
