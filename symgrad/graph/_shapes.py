"""Shapes that the source leaves open: given by the caller for the inputs, inferred by TensorFlow for the rest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import GraphMismatchError, ShapeError
from ._core import TensorSpec

if TYPE_CHECKING:
    import networkx

CALLS = frozenset({"If", "StatelessIf", "While", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall"})
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})


def complete(graph: "networkx.MultiDiGraph", sizes: Mapping[str, Any]) -> dict[Any, tuple[TensorSpec, ...]]:
    """(dtype, shape) of every output, with what `sizes` and TensorFlow's shape functions know.

    Args:
      graph: a graph from `build`.
      sizes: `"batch"`: size of every first dimension that is not known of a placeholder and of the results of branches,
        V2 loops and function calls. The name of a placeholder: its
        shape. Other keys belong to loops and are not looked at.

    Raises:
      ShapeError: the sizes contradict the graph.
    """
    outputs = dict(graph.nodes(data="outputs"))
    given = {name: sizes[name] for name in sizes if name in graph and graph.nodes[name]["type"] in _PLACEHOLDERS}
    if "batch" not in sizes and not given and all(_is_known(specs) for specs in outputs.values()):
        return outputs
    graph_def = _graph_def(graph.graph.get("source"))
    if graph_def is None:
        if given or "batch" in sizes:
            raise GraphMismatchError("sizes need the source of the graph, which only graphs from build have")
        return outputs
    _set_sizes(graph_def, given, sizes.get("batch"))
    _set_results(graph_def, outputs, sizes.get("batch"))
    try:
        inferred = _infer(graph_def)
    except Exception as error:
        # import_graph_def raises errors of many kinds for a file with ops that this TensorFlow does not have.
        if given or "batch" in sizes:
            raise ShapeError(
                f"sizes={dict(sizes)!r} do not fit the graph, or it cannot be imported: {error}"
            ) from error
        return outputs
    return {name: _merge(specs, inferred.get(name, ())) for name, specs in outputs.items()}


def _is_known(specs: tuple[TensorSpec, ...]) -> bool:
    return all(shape is not None and None not in shape for _, shape in specs)


def _graph_def(source: Any) -> Any:
    """A GraphDef of its own, with the shapes that Python knew."""
    import os

    import tensorflow.compat.v1 as tf

    from .._files import read_graph_def

    if isinstance(source, tf.Graph):
        return source.as_graph_def(add_shapes=True)
    if isinstance(source, tf.MetaGraphDef):
        source = source.graph_def
    if isinstance(source, (str, bytes, os.PathLike)):
        return read_graph_def(source)
    if not isinstance(source, tf.GraphDef):
        return None
    copy = tf.GraphDef()
    copy.CopyFrom(source)
    return copy


def _set_sizes(graph_def: Any, given: Mapping[str, Any], batch: int | None) -> None:
    for node in graph_def.node:
        if node.op not in _PLACEHOLDERS:
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


def _set_results(graph_def: Any, outputs: dict, batch: int | None) -> None:
    """First dimensions of what branches, loops and functions give: TensorFlow does not look into them."""
    if batch is None:
        return
    for node in graph_def.node:
        if node.op not in CALLS or node.name not in outputs:
            continue
        shapes = [shape and (batch if shape[0] is None else shape[0], *shape[1:]) for _, shape in outputs[node.name]]
        for key in ("output_shapes", "_output_shapes"):
            if key == "output_shapes" and node.op in ("PartitionedCall", "StatefulPartitionedCall"):
                continue
            del node.attr[key].list.shape[:]
            for shape in shapes:
                proto = node.attr[key].list.shape.add()
                proto.unknown_rank = shape is None
                for size in shape or ():
                    proto.dim.add().size = -1 if size is None else size


def _check(name: str, shape: Any, dims: list[int]) -> None:
    known = [dim.size for dim in shape.dim]
    if known and (len(known) != len(dims) or any(0 <= old != new for old, new in zip(known, dims))):
        static = [None if size < 0 else size for size in known]
        raise ShapeError(f"sizes[{name!r}] is {dims}, which does not fit its static shape {static}")


def _infer(graph_def: Any) -> dict[str, list[tuple[int | None, ...] | None]]:
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default() as scratch:
        tf.import_graph_def(graph_def, name="")
    return {
        op.name: [None if t.shape.rank is None else tuple(t.shape.as_list()) for t in op.outputs]
        for op in scratch.get_operations()
    }


def _merge(specs: tuple[TensorSpec, ...], inferred: Any) -> tuple[TensorSpec, ...]:
    merged = []
    for i, (dtype, shape) in enumerate(specs):
        other = inferred[i] if i < len(inferred) else None
        if shape is None:
            shape = other
        elif other is not None and len(other) == len(shape):
            shape = tuple(b if a is None else a for a, b in zip(shape, other))
        merged.append((dtype, shape))
    return tuple(merged)
