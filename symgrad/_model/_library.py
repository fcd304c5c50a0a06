"""The functions that come with a graph: by name, and by what they compute."""

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._files import called_by, functions_of
from ._attributes import graph_def_of

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
    graph_def = graph_def_of(graph)
    if graph_def is None:
        return lambda name: None
    found = {function.signature.name: function for function in graph_def.library.function}
    graph.graph["library"] = found.get  # reading a file takes longer than the rest
    return found.get


def add_functions(graph_def: Any, nodes: Iterable[Any], *, find: Callable[[str], Any]) -> None:
    """Add what the nodes call, and what that calls, to the library of a GraphDef."""
    present = {function.signature.name for function in graph_def.library.function}
    stack = list(nodes)
    while stack:
        for name in called_by([stack.pop()]):
            function = None if name in present else find(name)
            if function is not None:
                present.add(name)
                graph_def.library.function.add().CopyFrom(function)
                stack += function.node_def


def digests(graph: "networkx.MultiDiGraph") -> Callable[[str], str]:
    """A lookup of what a function computes as a short text, by its name.

    Functions that differ in names alone have the same text. That of a function which is not there is its name.
    """
    find = library(graph)
    known: dict[str, str] = {}

    def digest(name: str) -> str:
        stack, begun = [name], set()
        while stack:  # what a function calls comes first; one that calls itself is known by its name there
            function = None if stack[-1] in known else find(stack[-1])
            waiting = [] if function is None or stack[-1] in begun else called_by(function.node_def)
            begun.add(stack[-1])
            waiting = [other for other in waiting if other not in begun]
            if waiting:
                stack += waiting
                continue
            at = stack.pop()
            if at not in known:
                known[at] = at if function is None else _digest(function, known)
        return known[name]

    return digest


def _digest(function: Any, known: dict[str, str]) -> str:
    inputs, outputs = function.signature.input_arg, function.signature.output_arg
    position = {arg.name: i for i, arg in enumerate(inputs)}
    position.update({node.name: len(position) + i for i, node in enumerate(function.node_def)})

    def place(text: str) -> tuple[Any, str]:
        name, _, port = text.removeprefix("^").partition(":")
        return position.get(name, name), "^" if text.startswith("^") else port

    rows = [
        (
            known.get(node.op, node.op),
            attribute_key(node, lambda name: known.get(name, name)),
            [place(text) for text in node.input],
        )
        for node in function.node_def
    ]
    kinds = [(arg.type, arg.type_attr, arg.number_attr, arg.type_list_attr) for arg in (*inputs, *outputs)]
    results = [place(function.ret[arg.name]) for arg in outputs], sorted(map(place, function.control_ret.values()))
    return hashlib.sha256(repr((rows, kinds, results)).encode()).hexdigest()[:16]


_NUMBER = re.compile(rb"-\d+$")


def attribute_key(node: Any, digest: Callable[[str], str]) -> tuple:
    """What distinguishes the attributes of a NodeDef: no notes of TensorFlow to itself, functions by what they do."""
    row: list[tuple[str, Any]] = []
    for key in sorted(node.attr):
        attr = node.attr[key]
        if key == "_gradient_op_type":  # the numbers of gradient functions count up within a process
            row.append((key, _NUMBER.sub(b"", attr.s)))
        elif not key.startswith("_"):
            called = tuple(digest(function.name) for function in functions_of(attr))
            row.append((key, called or attr.SerializeToString(deterministic=True)))
    return tuple(row)
