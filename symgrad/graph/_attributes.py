"""`attributes`: what an op carries, fetched from the source when it is asked for."""

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx


def attributes(graph: "networkx.MultiDiGraph", name: str) -> dict[str, Any]:
    """The attributes of an op, which a built graph does not hold: strides, paddings, the value of a constant, ...

    Args:
      graph: a graph from `build`; its source must still be there.
      name: name of an op.

    Returns:
      Attribute name to value: numbers, strings, lists, dtype names, shape tuples (None for an unknown rank), NumPy
      arrays for tensors, and a function's name for a function.

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
    node_def = node_def_of(graph.graph.get("source"), name)
    return {key: value(node_def.attr[key]) for key in sorted(node_def.attr)}


def node_def_of(source: Any, name: str) -> Any:
    """The NodeDef of an op of the source of a built graph."""
    import tensorflow.compat.v1 as tf

    if isinstance(source, tf.Graph):
        return source.get_operation_by_name(name).node_def
    if isinstance(source, tf.MetaGraphDef):
        source = source.graph_def
    if isinstance(source, tf.GraphDef):
        found = next((node for node in source.node if node.name == name), None)
    elif isinstance(source, bytes):
        found = _nodes_of(source, 0, 0).get(name)
    elif isinstance(source, (str, os.PathLike)):
        found = _nodes_of(os.fspath(source), *_stamp(source)).get(name)
    else:
        raise LookupError(f"the graph has no source to look {name!r} up in; only graphs from symgrad.graph.build have")
    if found is None:
        raise LookupError(f"the source of the graph has no op named {name!r}")
    return found


def _stamp(path: str | os.PathLike) -> tuple[int, int]:
    """What changes when a file does, so that a file is read once and not once an op."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def all_nodes(source: Any) -> Iterable[Any]:
    """Every NodeDef of the source of a built graph.

    Raises:
      LookupError: there is none. OSError, ValueError: the file has gone or is damaged by now.
    """
    if source is None:
        raise LookupError("a graph that symgrad.graph.build did not make has no source to look ops up in")
    import tensorflow.compat.v1 as tf

    if isinstance(source, tf.Graph):
        return (op.node_def for op in source.get_operations())
    if isinstance(source, tf.MetaGraphDef):
        return source.graph_def.node
    if isinstance(source, tf.GraphDef):
        return source.node
    if isinstance(source, bytes):
        return _nodes_of(source, 0, 0).values()
    if isinstance(source, (str, os.PathLike)):
        return _nodes_of(os.fspath(source), *_stamp(source)).values()
    raise LookupError("the graph has no source to look ops up in; only graphs from symgrad.graph.build have")


@lru_cache(maxsize=2)
def _nodes_of(source: str | bytes, modified: int, size: int) -> dict[str, Any]:
    from .._files import read_graph_def

    return {node.name: node for node in read_graph_def(source).node}


def value(attr: Any) -> Any:
    """The Python value of an AttrValue."""
    import tensorflow.compat.v1 as tf

    kind = attr.WhichOneof("value")
    if kind == "s":
        return attr.s.decode("utf-8", "replace")
    if kind == "type":
        return dtype_name(attr.type)
    if kind == "shape":
        return _shape(attr.shape)
    if kind == "tensor":
        try:
            return tf.make_ndarray(attr.tensor)
        except (TypeError, ValueError):
            return f"a damaged tensor of dtype {dtype_name(attr.tensor.dtype)}"
    if kind == "func":
        return attr.func.name
    if kind == "list":
        return _list(attr.list)
    return getattr(attr, kind) if kind else None


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
    from ._core import shape_of

    return shape_of(proto)
