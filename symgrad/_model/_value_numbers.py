"""Value numbers: ops that compute the same from the same have the same number."""

import re
from typing import TYPE_CHECKING, Any

from .._op_types import MERGES, PLACEHOLDERS, RANDOM, VARIABLE_READS, writes_variable
from ._attributes import all_nodes
from ._library import attribute_key, digests
from ._schedule import schedule

if TYPE_CHECKING:
    import networkx

_COUNTER = re.compile(r"_\d+(?=/|$)")
# Declared stateful, and yet the same from the same inputs, as are the ops that write what they are given.
_READS = VARIABLE_READS | {"VariableShape"}
# Where data from elsewhere comes in, an op is equal to itself alone.
_OWN = MERGES | PLACEHOLDERS


def without_counters(name: str) -> str:
    """A name without the numbers that TensorFlow adds to make names unique."""
    return _COUNTER.sub("", name)


def value_numbers(graph: "networkx.MultiDiGraph", *, exact: bool) -> dict[Any, int]:
    """A number for each op, equal where type, attributes and inputs are.

    Args:
      graph: a graph from `build`.
      exact: compare the values of constants, and take ops that write state for different ones. Without, constants of
        one dtype and shape are the same, and two writes of the same are.

    Returns:
      Name to number. Variables, inputs, random ops and what else has state are equal to themselves alone.
    """
    attributes = _attributes(graph, exact)
    numbers: dict[Any, int] = {}
    known: dict[Any, int] = {}
    for name in schedule(graph):
        node = graph.nodes[name]
        key: Any
        if _is_own(node, exact):
            key = name
        else:
            edges = graph.in_edges(name, data=True)
            inputs = sorted((edge["input"], numbers.get(a, -1), edge["output"]) for a, _, edge in edges)
            key = (node["type"], attributes.get(name, node["outputs"]), tuple(inputs))
        numbers[name] = known.setdefault(key, len(known))
    return numbers


def _is_own(node: dict[str, Any], exact: bool) -> bool:
    kind = node["type"]
    if node["role"] == "variable" or kind in _OWN:
        return True
    if kind in _READS or (not exact and writes_variable(kind)):
        return False
    from .._tf import is_stateful

    return is_stateful(kind) or kind in RANDOM


def _attributes(graph: "networkx.MultiDiGraph", exact: bool) -> dict[Any, Any]:
    try:
        nodes = all_nodes(graph)
    except LookupError:
        return {}
    digest = digests(graph)
    return {
        node.name: attribute_key(node, digest) for node in nodes if node.name in graph and (exact or node.op != "Const")
    }
