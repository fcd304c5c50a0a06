"""Shapes that the source leaves open: given by the caller for the inputs, inferred by TensorFlow for the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _files
from .._op_types import CALLS, PLACEHOLDERS
from ..errors import GraphMismatchError, ShapeError
from ._arrays import DECLARED, TensorSpec, live_shape
from ._attributes import graph_def_of
from ._library import add_functions

if TYPE_CHECKING:
    import networkx


def complete(
    graph: "networkx.MultiDiGraph", sizes: Mapping[str, Any], patience: "Patience | None" = None
) -> dict[Any, tuple[TensorSpec, ...]]:
    """(dtype, shape) of every output, with what `sizes` and TensorFlow's shape functions know.

    Args:
      graph: a graph from `build`.
      sizes: `"batch"`: size of every first dimension that is not known of a placeholder, and of the results of branches
        and V2 loops, of which TensorFlow takes what they declare and does not look into their bodies. The name of a
        placeholder: its shape. Other keys belong to loops and are not looked at.
      patience: what is left of it where many functions are gone through.

    Raises:
      ShapeError: the sizes contradict the graph.
    """
    outputs = dict(graph.nodes(data="outputs"))
    given = {name: sizes[name] for name in sizes if name in graph and graph.nodes[name]["type"] in PLACEHOLDERS}
    is_live = _is_live(graph.graph.get("source"))
    if "batch" not in sizes and not given and (is_live or all(map(_is_known, outputs.values()))):
        return outputs  # TensorFlow has inferred the shapes of a live graph already
    graph_def = _graph_def(graph)
    if graph_def is not None and "library" in graph.graph:
        (patience or Patience()).add_functions(graph_def, graph.graph["library"])
    elif graph_def is not None:
        (patience or Patience()).keep_functions(graph_def)
    if graph_def is None:
        if given or "batch" in sizes:
            raise GraphMismatchError("sizes need the source of the graph, which only graphs from build have")
        return outputs
    _set_sizes(graph_def, given, sizes.get("batch"))
    _set_results(graph_def, outputs, sizes.get("batch"), DECLARED)
    try:
        inferred = _infer(graph_def)
    except Exception as error:
        # import_graph_def raises errors of many kinds for a file with ops that this TensorFlow does not have.
        if given or "batch" in sizes:
            raise ShapeError(
                f"sizes={dict(sizes)!r} do not fit the graph, or it cannot be imported: {error}"
            ) from error
        return outputs
    found = {name: _merge(specs, inferred.get(name, ())) for name, specs in outputs.items()}
    return _with_functions(graph_def, found, sizes.get("batch"))


# To import a function without ops takes TensorFlow as long as it takes to look at so many ops.
_A_FUNCTION = 50


@dataclass
class Patience:
    """How much TensorFlow may still be asked to look into functions, for the shapes of what calls give.

    It looks into them anew at every call, and into those that they call: in a file of a few kB that may be millions of
    times. When it is used up, calls give what is not known.

    Attributes:
      ops: how many ops in functions may be looked at.
    """

    ops: int = 100_000

    def add_functions(self, graph_def: Any, find: Callable[[str], Any]) -> None:
        """Give `graph_def` the functions that its ops call, or, when there is no patience left, their signatures."""
        if self.ops > 0:
            whole = type(graph_def)()
            whole.node.extend(graph_def.node)
            add_functions(whole, whole.node, find=find)
            self.ops -= _weight(whole)
            if self.ops >= 0:
                graph_def.library.CopyFrom(whole.library)
                return
        for name in _files.called_by(graph_def.node):
            function = find(name)
            if function is not None:
                graph_def.library.function.add().signature.CopyFrom(function.signature)

    def keep_functions(self, graph_def: Any) -> None:
        """Leave only the signatures of the functions of a whole file, read once, if they are much too much."""
        if graph_def.library.function and _weight(graph_def) > 10 * self.ops:
            for function in graph_def.library.function:
                signature = function.signature.SerializeToString()
                function.Clear()
                function.signature.ParseFromString(signature)


def _weight(graph_def: Any) -> int:
    return _files.ops_in_functions(graph_def) + _A_FUNCTION * len(graph_def.library.function)


def _with_functions(graph_def: Any, outputs: dict, batch: int | None) -> dict[Any, tuple[TensorSpec, ...]]:
    """What is behind functions with branches in them, through which TensorFlow does not see either."""
    functions = [node.name for node in graph_def.node if node.op in CALLS and node.name in outputs]
    if batch is None or all(_is_known(outputs[name]) for name in functions):
        return outputs
    _set_results(graph_def, outputs, batch, CALLS)
    try:
        inferred = _infer(graph_def)
    except ValueError:  # one of them gives something else, of which nothing is known then
        return outputs
    return {name: _merge(specs, inferred.get(name, ())) for name, specs in outputs.items()}


def _is_live(source: Any) -> bool:
    import tensorflow.compat.v1 as tf

    return isinstance(source, tf.Graph)


def _is_known(specs: tuple[TensorSpec, ...]) -> bool:
    return all(shape is not None and None not in shape for _, shape in specs)


def _graph_def(graph: "networkx.MultiDiGraph") -> Any:
    """A GraphDef of its own, with the shapes that Python knew; None where the graph has no source."""
    import tensorflow.compat.v1 as tf

    if _is_live(graph.graph.get("source")):
        return graph.graph["source"].as_graph_def(add_shapes=True)
    found = graph_def_of(graph)
    if found is None:
        return None
    copy = tf.GraphDef()
    copy.CopyFrom(found)
    return copy


def _set_sizes(graph_def: Any, given: Mapping[str, Any], batch: int | None) -> None:
    for node in graph_def.node:
        if node.op not in PLACEHOLDERS:
            continue
        shape = node.attr["shape"].shape
        if node.name in given:
            wanted = given[node.name]
            dims = [wanted] if isinstance(wanted, int) else list(wanted)
            _check(node.name, shape, dims)
            shape.unknown_rank = False
            del shape.dim[:]
            for size in dims:
                shape.dim.add().size = size
            node.attr.pop("_output_shapes", None)
        elif batch is not None and shape.dim and shape.dim[0].size < 0:
            shape.dim[0].size = batch
            node.attr.pop("_output_shapes", None)


def _set_results(graph_def: Any, outputs: dict, batch: int | None, types: frozenset[str]) -> None:
    """Let what calls of these types give begin with the batch, where nothing else is known."""
    if batch is None:
        return
    for node in graph_def.node:
        if node.op in CALLS:
            node.attr.pop("_output_shapes", None)
        if node.op not in types or node.name not in outputs:
            continue
        shapes = [shape and (batch if shape[0] is None else shape[0], *shape[1:]) for _, shape in outputs[node.name]]
        for key in ("_output_shapes",) if node.op in CALLS else ("output_shapes", "_output_shapes"):
            del node.attr[key].list.shape[:]
            for shape in shapes:
                proto = node.attr[key].list.shape.add()
                proto.unknown_rank = shape is None
                for size in shape or ():
                    proto.dim.add().size = -1 if size is None else size


def _check(name: str, shape: Any, dims: list[int]) -> None:
    known = [dim.size for dim in shape.dim]
    if known and (len(known) != len(dims) or any(0 <= old != new for old, new in zip(known, dims, strict=True))):
        static = [None if size < 0 else size for size in known]
        raise ShapeError(f"sizes[{name!r}] is {dims}, which does not fit its static shape {static}")


def _infer(graph_def: Any) -> dict[str, list[tuple[int | None, ...] | None]]:
    import tensorflow.compat.v1 as tf

    reason = _files.excess(graph_def)
    if reason is not None:
        raise ValueError(reason)
    for node in graph_def.node:  # places say nothing of shapes, and TensorFlow is slow at ops that have none
        node.ClearField("device")
        node.attr["_class"].list.Clear()
    with tf.Graph().as_default() as scratch:
        tf.import_graph_def(graph_def, name="")
    return {op.name: [live_shape(tensor.shape) for tensor in op.outputs] for op in scratch.get_operations()}


def _merge(specs: tuple[TensorSpec, ...], inferred: Any) -> tuple[TensorSpec, ...]:
    merged = []
    for i, (dtype, shape) in enumerate(specs):
        other = inferred[i] if i < len(inferred) else None
        if shape is None:
            shape = other
        elif other is not None and len(other) == len(shape):
            shape = tuple(b if a is None else a for a, b in zip(shape, other, strict=True))
        merged.append((dtype, shape))
    return tuple(merged)
