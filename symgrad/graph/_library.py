"""The functions that come with a graph, by name."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .. import _files

if TYPE_CHECKING:
    import networkx


def library(graph: "networkx.MultiDiGraph") -> Callable[[str], Any]:
    """A lookup of FunctionDefs by name, None for a name that is not there."""
    if "library" in graph.graph:
        return graph.graph["library"]
    import tensorflow.compat.v1 as tf

    from .._tf import function_in

    source = graph.graph.get("source")
    if isinstance(source, tf.Graph):
        return lambda name: function_in(source, name)
    if isinstance(source, tf.MetaGraphDef):
        source = source.graph_def
    if source is None:
        return lambda name: None
    if not isinstance(source, tf.GraphDef):
        source = _files.read_graph_def(source)
    found = {function.signature.name: function for function in source.library.function}
    graph.graph["library"] = found.get  # reading a file takes longer than the rest
    return found.get


def add_functions(graph_def: Any, nodes: Iterable[Any], *, find: Callable[[str], Any]) -> None:
    """Add what the nodes call, and what that calls, to the library of a GraphDef."""
    present = {function.signature.name for function in graph_def.library.function}
    stack = list(nodes)
    while stack:
        for attr in stack.pop().attr.values():
            for called in (attr.func,) if attr.HasField("func") else attr.list.func:
                function = None if called.name in present else find(called.name)
                if function is not None:
                    present.add(called.name)
                    graph_def.library.function.add().CopyFrom(function)
                    stack += function.node_def
