"""What a small file may ask for: functions that call themselves, calls that double at every level, huge constants."""

from collections.abc import Iterator
from math import prod
from typing import Any

from ._calls import callees_first, calls_of

# TensorFlow puts the ops of a function in the place of every call when it runs them; no graph that runs is larger.
_OPS = 2_000_000
# What constants may take beyond what the file brings for them; TensorFlow fills up with their last value.
_BYTES = 1 << 30


def excess(graph_def: Any) -> str | None:
    """Why a graph must not be given to TensorFlow, which would not return; None if it may."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    order = callees_first(functions.values())
    if len(order) < len(functions):
        return "a function in it calls itself, directly or by others, which TensorFlow's import follows without end"
    if _inlined(graph_def.node, functions, order) > _OPS:
        return f"its functions call each other so often that more than {_OPS:,} ops would run"
    name, size = _claimed(graph_def)
    if size > _BYTES:
        return f"its constants claim more than {_BYTES:,} bytes that it does not bring, {name!r} most of all"
    return None


def ops_in_functions(graph_def: Any) -> int:
    """How many ops the functions hold that a graph calls, each once for every call and once for its definition."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    held = sum(len(function.node_def) for function in functions.values())
    return held + _inlined(graph_def.node, functions, callees_first(functions.values())) - len(graph_def.node)


def claimed_elements(tensor: Any) -> int:
    """How many elements a TensorProto says it has."""
    return prod(max(0, dim.size) for dim in tensor.tensor_shape.dim)


def brought_elements(tensor: Any) -> int:
    """How many elements a TensorProto brings, at most."""
    listed = (field for field, _ in tensor.ListFields() if field.name.endswith("_val"))
    return max([len(tensor.tensor_content), *(len(getattr(tensor, field.name)) for field in listed)])


def _inlined(nodes: Any, functions: dict[str, Any], order: list[str]) -> int:
    """The number of ops with those of every function in the place of each call."""
    size: dict[str, int] = {}
    for name in order:
        held = functions[name].node_def
        size[name] = len(held) + sum(size.get(called, 0) for called in calls_of(held))
    return len(nodes) + sum(size.get(called, 0) for called in calls_of(nodes))


def _claimed(graph_def: Any) -> tuple[str, int]:
    """Bytes that constants claim and do not bring, and the name of the op that claims most."""
    rows = [(_width(t) * (claimed_elements(t) - brought_elements(t)), name) for name, t in _tensors(graph_def)]
    rows = [row for row in rows if row[0] > 1 << 16] or [(0, "")]
    return max(rows)[1], sum(size for size, _ in rows)


def _width(tensor: Any) -> int:
    import tensorflow.compat.v1 as tf

    try:
        return tf.as_dtype(tensor.dtype).size or 1
    except TypeError:  # no dtype of this TensorFlow, which will not make the constant
        return 1


def _tensors(graph_def: Any) -> Iterator[tuple[str, Any]]:
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            for attr in node.attr.values():
                if attr.HasField("tensor"):
                    yield node.name, attr.tensor
                yield from ((node.name, tensor) for tensor in attr.list.tensor)
