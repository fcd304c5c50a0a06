"""`bodies` and `walk`: the functions that ops call, as graphs of their own."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _files
from .._op_types import BRANCHES, CALLING
from ..errors import GraphMismatchError, LoadError
from ._arrays import from_graph_def
from ._attributes import node_def_of, value
from ._build import from_core
from ._library import library

if TYPE_CHECKING:
    import networkx

# Functions may call themselves; what opens calls one in the other goes no deeper than this.
DEPTH = 16


def bodies(
    graph: "networkx.MultiDiGraph", name: str, *, shapes: Sequence[tuple | None] | None = None
) -> "dict[str, networkx.MultiDiGraph]":
    """The functions that an op calls, each as a graph like those of `build`.

    Args:
      graph: a graph from `build` or from `bodies`; its source must still be there.
      name: name of an op: a While, an If, a Case, a PartitionedCall or any other with a function for an attribute.
      shapes: shapes of the inputs, as far as they are known; None takes those of the edges.

    Returns:
      The name of the attribute (`"cond"`, `"body"`, `"then_branch"`, `"else_branch"`, `"f"`, ...; `"branches[0]"` of a
      list) to the graph of the function, empty where the op calls none. In such a graph the nodes have the name of the
      function as `function`. Its arguments are Placeholders, named in `graph.graph["inputs"]`;
      `graph.graph["outputs"]` are the tensors that it returns. In the body of an op that is a gradient, backward ops
      have `pair`, which is the name of an op in the body of the op whose gradient it is.

    Raises:
      GraphMismatchError: the op, or the function that it calls, is not there.
      LoadError: the function cannot be read, such as one with ops of which this TensorFlow knows nothing.

    Example:
      >>> import symgrad
      >>> import tensorflow as tf2
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     y = tf2.function(lambda x: tf.sin(x))(x)
      >>> body = symgrad.graph.bodies(symgrad.graph.build(g), y.op.name)["f"]
      >>> [node["type"] for _, node in body.nodes(data=True)]
      ['Placeholder', 'Sin', 'Identity']
    """
    if name not in graph:
        raise GraphMismatchError(f"no op named {name!r} in this graph of {len(graph):,} ops")
    called = _called(graph, name)
    if not called:
        return {}
    node = graph.nodes[name]
    skip = node["type"] in BRANCHES
    arguments = _arguments(graph, name, shapes)[skip:]
    held = _held(graph, name)[skip:]
    found = {}
    for key, function in called.items():
        found[key] = _body(graph, function, arguments)
        _tell_shapes(found[key], held)
    if node["role"] == "backward" and node["pair"] in graph:
        forward = bodies(graph, node["pair"])
        for key, body in found.items():
            if key in forward:
                _pair(body, forward[key])
    return found


def walk(graph: "networkx.MultiDiGraph") -> "Iterator[tuple[tuple[str, ...], networkx.MultiDiGraph]]":
    """A graph and the functions that its ops call, and so on, to the 16th call behind each other.

    A function is given once for each way that leads to it, one after the other: where functions call the next ones more
    than once there may be very many ways. Who wants each function once keeps those that were seen, by
    `graph.graph["function"]`, or stops.

    Yields:
      (way, graph): `()` and the graph itself, then for each body the ops and attributes that lead to it, such as
      `("loop", "body", "branch", "then_branch")`.
    """
    stack: list[tuple[tuple[str, ...], Any]] = [((), graph)]
    while stack:
        way, at = stack.pop()
        yield way, at
        if len(way) < 2 * DEPTH:
            inner = [((*way, str(op), key), body) for op in calling(at) for key, body in bodies(at, op).items()]
            stack.extend(reversed(inner))


def functions(graph: "networkx.MultiDiGraph") -> "Iterator[tuple[tuple[str, ...], networkx.MultiDiGraph | Exception]]":
    """Each function that the ops of a graph call, themselves or by others, once.

    Yields:
      (way, graph) as in `walk`; the error in the place of a function that cannot be read.
    """
    stack: list[tuple[tuple[str, ...], Any]] = [((), graph)]
    seen: set[str] = set()
    while stack and graph.graph.get("source") is not None:
        way, at = stack.pop()
        for op in calling(at):
            names = _called(at, op)
            if seen.issuperset(names.values()):
                continue
            try:
                inner = bodies(at, op)
            except (LoadError, GraphMismatchError) as error:
                seen.update(names.values())
                yield (*way, str(op)), error
                continue
            for key, body in inner.items():
                if names[key] not in seen:
                    seen.add(names[key])
                    stack.append(((*way, str(op), key), body))
                    yield stack[-1]


def calling(graph: "networkx.MultiDiGraph") -> list[Any]:
    """The ops of a graph whose type is one that calls a function, or is the name of one, as Defun calls are written."""
    find = library(graph)
    types = {node["type"] for _, node in graph.nodes(data=True)}
    types = {kind for kind in types if kind in CALLING or find(kind) is not None}
    return [name for name, node in graph.nodes(data=True) if node["type"] in types] if types else []


def _called(graph: "networkx.MultiDiGraph", name: str) -> dict[str, str]:
    """Attribute to function name; `"f"`, as of other calls, where the op type is the name."""
    node_def = node_def_of(graph, name)
    named = {} if node_def is None or library(graph)(node_def.op) is None else {"f": node_def.op}
    return {**named, **called_functions(node_def)}


def called_functions(node_def: Any) -> dict[str, str]:
    """Attribute to function name, empty for None."""
    called: dict[str, str] = {}
    attributes = node_def.attr if node_def is not None else {}
    for key in sorted(attributes):
        attr = attributes[key]
        if attr.HasField("func"):
            called[key] = attr.func.name
        for i, function in enumerate(attr.list.func):
            called[f"{key}[{i}]"] = function.name
    return called


def _arguments(graph: "networkx.MultiDiGraph", name: str, shapes: Sequence | None) -> list[tuple | None]:
    return list(shapes) if shapes is not None else [edge["shape"] for _, edge in _data_inputs(graph, name)]


def _data_inputs(graph: "networkx.MultiDiGraph", name: str) -> list[tuple[str, dict[str, Any]]]:
    edges = [(source, edge) for source, _, edge in graph.in_edges(name, data=True) if edge["kind"] == "data"]
    return sorted(edges, key=lambda row: row[1]["input"])


def _held(graph: "networkx.MultiDiGraph", name: str) -> list[tuple | None]:
    """Shapes of what is in the variables and lists whose handles an op takes, None for its other inputs."""
    return [_held_shape(graph, source, edge["output"]) for source, edge in _data_inputs(graph, name)]


def _held_shape(graph: "networkx.MultiDiGraph", name: str, output: int) -> tuple | None:
    """The graph says it of its variables, the calling op of the arguments, and `cost` of what loops give."""
    if graph.nodes[name]["type"] == "VarHandleOp":
        return value(node_def_of(graph, name).attr["shape"])
    return graph.graph.get("held", {}).get((name, output))


def _tell_shapes(body: "networkx.MultiDiGraph", held: list[tuple | None]) -> None:
    """Note what the variables and lists among the arguments hold, and give what takes it from there its shape."""
    if len(held) != len(body.graph["inputs"]):
        return
    known = {name: shape for name, shape in zip(body.graph["inputs"], held, strict=True) if shape is not None}
    body.graph["held"] = {(name, 0): shape for name, shape in known.items()}
    nodes = {node.name: node for node in body.graph["source"].node}
    for name, shape in known.items():
        for reader in body.succ[name]:
            index = _TAKES.get(body.nodes[reader]["type"])
            if index is not None:
                _set_shape(body, nodes[reader], index, shape)


# Ops that give what is in a variable or list, and the output that it is.
_TAKES = {"ReadVariableOp": 0, "TensorListPopBack": 1, "TensorListGetItem": 0}


def _set_shape(body: "networkx.MultiDiGraph", node_def: Any, index: int, shape: tuple) -> None:
    import tensorflow.compat.v1 as tf

    node = body.nodes[node_def.name]
    node["outputs"] = tuple((dtype, shape if i == index else old) for i, (dtype, old) in enumerate(node["outputs"]))
    stored = node_def.attr["_output_shapes"].list
    del stored.shape[:]
    stored.shape.extend(tf.TensorShape(known).as_proto() for _, known in node["outputs"])


def _body(graph: Any, name: str, shapes: list[tuple | None]) -> "networkx.MultiDiGraph":
    import tensorflow.compat.v1 as tf

    from .._tf import function_def_to_graph_def

    find = library(graph)
    function = find(name)
    if function is None:
        raise GraphMismatchError(f"the graph has no function named {name!r}, which an op of it calls")
    arguments = len(function.signature.input_arg)
    called = _signatures(function.node_def, find)
    try:
        with tf.Graph().as_default():
            if called.library.function:
                tf.import_graph_def(called, name="")  # the converter looks for them in the default graph
            graph_def, flat = function_def_to_graph_def(function)
    except Exception as error:
        # The converter of TensorFlow asks for the definition of every op and raises what it happens to raise.
        raise LoadError(f"the function {name!r} cannot be read: {type(error).__name__}: {error}") from error
    if len(shapes) == arguments:
        # The arguments come first. TensorFlow would prefer what was noted when it was traced.
        for node, shape in zip(graph_def.node, shapes, strict=False):
            if shape is not None:
                node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    built = from_core(from_graph_def(graph_def, _files.wiring(graph_def.node, f"the function {name!r}")))
    for _, node in built.nodes(data=True):
        node["function"] = name
    results = [function.ret[argument.name] for argument in function.signature.output_arg]
    results = [flat.get(result, result) for result in results]
    for result in results:
        if result.partition(":")[0] not in built:
            raise LoadError(f"the function {name!r} cannot be read: it returns {result!r}, which no op of it makes")
    built.graph.update(
        source=graph_def,
        library=find,
        function=name,
        inputs=[node.name for node in graph_def.node[:arguments]],
        outputs=results,
    )
    return built


def _signatures(nodes: Any, find: Any) -> Any:
    """A GraphDef with the functions that nodes call, without what is in them.

    The converter asks for no more, and with all that these call in turn a chain of n functions would take n^2.
    """
    import tensorflow.compat.v1 as tf

    called = tf.GraphDef()
    for name in _files.called_by(nodes):
        function = find(name)
        if function is not None:
            called.library.function.add().signature.CopyFrom(function.signature)
    return called


def _pair(body: "networkx.MultiDiGraph", forward: "networkx.MultiDiGraph") -> None:
    """Mark the backward ops in the body of a gradient op; their forward ops are in another body."""
    names: dict[str, str] = {}
    for name in forward:  # an op whose name is that of a result of the function as well is stored with a number
        names.setdefault(name, name)
        names.setdefault(name.removesuffix("_0"), name)
    backward = []
    for name in body:
        pair = _forward_name(name, names)
        if pair is not None:
            body.nodes[name].update(role="backward", pair=pair, order=forward.nodes[pair]["order"] + 1)
            backward.append(name)
        elif "/grad_ys_" in name:
            body.nodes[name].update(role="backward", order=1)
            backward.append(name)
    while backward:  # sums of gradients, and what the function returns
        for target in body.succ[backward.pop()]:
            if body.nodes[target]["role"] == "forward":
                body.nodes[target].update(role="backward", order=1)
                backward.append(target)


def _forward_name(name: str, names: dict[str, str]) -> str | None:
    """`names[x]` for `<call>/x_grad/...`, the outermost such x."""
    parts = name.split("/")
    for stop, part in enumerate(parts[:-1]):
        op, grad, number = part.rpartition("_grad")
        if not grad or (number and not (number[:1] == "_" and number[1:].isdecimal())):
            continue
        for start in range(1, stop + 1):
            found = names.get("/".join([*parts[start:stop], op]))
            if found is not None:
                return found
    return None
