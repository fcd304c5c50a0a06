"""What a picture's side panel says beyond the graph itself: attributes, and the line of code that made an op."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._model._attributes import all_nodes, value
from .._where import made_at
from ._text import shape_text

if TYPE_CHECKING:
    import networkx

_LONGEST = 160
_FEW = 8
_HIDDEN = frozenset({"_output_shapes", "_class"})


def attribute_lines(graph: "networkx.MultiDiGraph") -> dict[str, tuple[str, ...]]:
    """For each op that has any, its attributes as lines "key = value", values shortened.

    They are read from the graph's source. A graph whose source is none, or not to be had any more, has none.
    """
    known: dict[bytes, str] = {}
    found = {}
    for name, node in _nodes(graph):
        if name in graph:
            keys = sorted(key for key in node.attr if key not in _HIDDEN)
            found[name] = tuple(f"{key} = {_once(known, node.attr[key])}" for key in keys)
    for name, reason in graph.graph.get("closed", {}).items():
        found[name] = (*found.get(name, ()), f"not opened: {reason}")
    return {name: lines for name, lines in found.items() if lines}


def _nodes(graph: "networkx.MultiDiGraph") -> Iterator[tuple[str, Any]]:
    """The name of each op in the picture and its NodeDef, those in functions too."""
    try:
        yield from ((node.name, node) for node in all_nodes(graph))
    except (LookupError, OSError, ValueError):  # made by hand; or the file has gone or changed since
        return
    for _, scope, body in graph.graph.get("inlined", ()):
        yield from ((f"{scope}/{node.name}", node) for node in body.graph["source"].node)


def _once(known: dict[bytes, str], attr: Any) -> str:
    """The text of an attribute; a deep net has few different ones."""
    key = attr.SerializeToString()
    if key not in known:
        known[key] = _text(value(attr))
    return known[key]


def _text(found: Any) -> str:
    if hasattr(found, "tolist"):
        head = f"{found.dtype} {shape_text(found.shape)}"
        return _short(f"{head} {found.tolist()}") if found.size <= _FEW else head
    if isinstance(found, tuple):
        return shape_text(found)
    if isinstance(found, list):
        more = ", …" if len(found) > 40 else ""
        return _short(f"[{', '.join(map(_text, found[:40]))}{more}]")
    return _short(str(found))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def code_lines(graph: "networkx.MultiDiGraph") -> dict[str, str]:
    """For each op of a live graph the `file:line` that made it; a graph from a file remembers none."""
    operations = getattr(graph.graph.get("source"), "get_operations", list)
    places = {op.name: made_at(op) for op in operations() if op.name in graph}
    return {name: place for name, place in places.items() if place}
