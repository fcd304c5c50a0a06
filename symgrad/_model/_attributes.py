"""`attributes`: what an op carries, fetched from the source when it is asked for."""

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._files import brought_elements, claimed_elements

if TYPE_CHECKING:
    import networkx


def attributes(graph: "networkx.MultiDiGraph", name: str) -> dict[str, Any]:
    """The attributes of an op, which a built graph does not hold: strides, paddings, the value of a constant, ...

    Args:
      graph: a graph from `build`; its source must still be there.
      name: name of an op.

    Returns:
      Attribute name to value: numbers, strings, lists, dtype names, shape tuples (None for an unknown rank), NumPy
      arrays for tensors, and a function's name for a function. A tensor that claims far more elements than its source
      brings is described in words, as a damaged one is.

    Raises:
      LookupError: the source has no op of that name, or the graph was not made by `build`.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     _ = tf.constant([1, 2], name="c")
      >>> symgrad.graph.attributes(symgrad.graph.build(g), "c")["value"]
      array([1, 2], dtype=int32)
    """
    node_def = node_def_of(graph, name)
    return {key: value(node_def.attr[key]) for key in sorted(node_def.attr)}


def node_def_of(graph: "networkx.MultiDiGraph", name: str) -> Any:
    """The NodeDef of an op of a built graph, from its source."""
    import tensorflow.compat.v1 as tf

    source = graph.graph.get("source")
    if isinstance(source, tf.Graph):
        return source.get_operation_by_name(name).node_def
    if isinstance(source, (str, bytes, os.PathLike)):
        found = _file(graph)[1].get(name)
    else:
        found = next((node for node in all_nodes(graph) if node.name == name), None)
    if found is None:
        raise LookupError(f"the source of the graph has no op named {name!r}")
    return found


def all_nodes(graph: "networkx.MultiDiGraph") -> Iterable[Any]:
    """Every NodeDef of the source of a built graph.

    Raises:
      LookupError: there is none. OSError, ValueError: the file has gone or is damaged by now.
    """
    import tensorflow.compat.v1 as tf

    source = graph.graph.get("source")
    if isinstance(source, tf.Graph):
        return (op.node_def for op in source.get_operations())
    found = graph_def_of(graph)
    if found is None:
        raise LookupError("the graph has no source to look ops up in; only graphs from symgrad.graph.build have")
    return found.node


def graph_def_of(graph: "networkx.MultiDiGraph") -> Any:
    """The GraphDef that a graph was built from, not to be changed; None for a live graph and for no source."""
    import tensorflow.compat.v1 as tf

    source = graph.graph.get("source")
    if isinstance(source, (str, bytes, os.PathLike)):
        return _file(graph)[0]
    if isinstance(source, tf.MetaGraphDef):
        return source.graph_def
    return source if isinstance(source, tf.GraphDef) else None


def _file(graph: "networkx.MultiDiGraph") -> tuple[Any, dict[str, Any]]:
    source, tags = graph.graph["source"], graph.graph.get("tags")
    tags = tuple(tags) if isinstance(tags, list) else tags
    if isinstance(source, bytes):
        return _read(source, tags, 0, 0)
    inner = os.path.join(source, "saved_model.pb")  # a directory does not change with what is in its files
    stamp = os.stat(inner if os.path.exists(inner) else source)
    return _read(os.fspath(source), tags, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _read(
    source: str | bytes, tags: str | tuple[str, ...] | None, modified: int, size: int
) -> tuple[Any, dict[str, Any]]:
    """The GraphDef of a file and its nodes by name; a file is read again when it has changed."""
    from .._files import read_graph_def

    graph_def = read_graph_def(source, tags=list(tags) if isinstance(tags, tuple) else tags)
    return graph_def, {node.name: node for node in graph_def.node}


def value(attr: Any) -> Any:
    """The Python value of an AttrValue."""
    kind = attr.WhichOneof("value")
    if kind == "s":
        return attr.s.decode("utf-8", "replace")
    if kind == "type":
        return dtype_name(attr.type)
    if kind == "shape":
        return _shape(attr.shape)
    if kind == "tensor":
        return _tensor(attr.tensor)
    if kind == "func":
        return attr.func.name
    if kind == "list":
        return _list(attr.list)
    return getattr(attr, kind) if kind else None


# A file of 200 bytes may claim 10^12 elements: what is much larger than what the file brings is not made.
_FILLED = 1 << 24


def _tensor(proto: Any) -> Any:
    """The array, or in words what cannot be one or should not."""
    import tensorflow.compat.v1 as tf

    size, brought = claimed_elements(proto), brought_elements(proto)
    if size > max(_FILLED, brought):
        return (
            f"{dtype_name(proto.dtype)} {list(_shape(proto.tensor_shape) or ())} filled up with the last of {brought}"
        )
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError):
        return f"a damaged tensor of dtype {dtype_name(proto.dtype)}"


def _list(values: Any) -> list:
    lists = [
        *([item.decode("utf-8", "replace") for item in values.s],),
        [dtype_name(item) for item in values.type],
        [_shape(item) for item in values.shape],
        [item.name for item in values.func],
        list(values.i),
        list(values.f),
        list(values.b),
    ]
    return next((found for found in lists if found), [])


def dtype_name(number: int) -> str:
    """The name of a dtype by its number in files, "unknown" for a number that this TensorFlow does not know."""
    import tensorflow.compat.v1 as tf

    try:
        return tf.as_dtype(number).name
    except TypeError:
        return "unknown"


def _shape(proto: Any) -> tuple[int | None, ...] | None:
    from ._arrays import shape_of

    return shape_of(proto)
