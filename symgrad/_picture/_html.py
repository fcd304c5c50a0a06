"""`to_html`: the picture as one file with a viewer in it; `show`: the same in a notebook."""

import base64
import hashlib
import os
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._collector import collector_paused
from .._model._along import narrowed
from ._layout import plan
from ._opened_calls import with_functions
from ._page_data import as_script_data, pack
from ._svg import heading, to_open
from ._text import safe

if TYPE_CHECKING:
    import networkx

# The viewer's modules, each after those that it imports.
_MODULES = ("text", "model", "place", "wires", "colour", "draw", "address", "panel", "view", "app", "input", "main")


def to_html(
    graph: "networkx.MultiDiGraph",
    path: "str | os.PathLike | None" = None,
    *,
    fold: int | None = None,
    series: bool = True,
    color: str = "role",
    details: bool = True,
    functions: bool = True,
    ys: Any = None,
    xs: Any = None,
    title: str | None = None,
) -> str:
    """Draw a graph as one HTML file that opens and closes scopes, searches, and shows paths and pairs.

    The file needs no network and no server: the viewer and the data are in it, and its Content-Security-Policy
    forbids every request. Names and attributes are data to it, never markup.

    Args:
      graph: a graph from `build`.
      path: where to write the HTML too, None for nowhere.
      fold: depth of name scopes to open at first: 0 opens none, 1 the outermost. None opens scopes until the picture
        is full.
      series: fold five or more siblings of like names, such as `conv2d_1 ... conv2d_47`.
      color: what colours mean at first: `"role"`, `"type"`, `"dtype"`, `"device"`, or a node attribute that is a
        number, such as one from `networkx.set_node_attributes(graph, seconds, "seconds")`.
      details: tell of each op its attributes and, for a live graph, the file and line that made it. False for a file
        that is smaller and says nothing of where it was made.
      functions: let an op that calls functions (a While, an If, a PartitionedCall) be a box with their bodies in it,
        closed at first.
      ys, xs: names, ops or tensors, or lists of them, both or none: draw only the ops on the way from xs to ys, and
        those through which the gradient of ys comes back to xs, as `symgrad.graph.along` finds them.
      title: heading; None for a count of the ops.

    Returns:
      The HTML, the same text for the same graph.

    Raises:
      ValueError: only one of ys and xs is given; no node has the attribute that `color` names.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     _ = tf.gradients(tf.square(x), x)
      >>> symgrad.graph.to_html(symgrad.graph.build(g))[:15]
      '<!doctype html>'
    """
    graph = narrowed(graph, ys, xs)
    own = graph
    with collector_paused():
        if functions:
            graph = with_functions(graph)
        picture = plan(graph, constants=True, series=series)
        data = pack(graph, picture, to_open(picture, fold, calls=False), details=details)
    known = ("role", "type", "dtype", "device", *data["numbers"])
    if color not in known:
        raise ValueError(f"color is {color!r}; this graph can be coloured by {', '.join(known)}")
    data["colour"] = color
    text = _page(as_script_data(data), title or heading(own, graph))
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


class _Shown:
    """What a notebook displays: the page in a frame that has no access to the notebook around it."""

    def __init__(self, page: str, height: int):
        self._page = page
        self._height = height

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{safe_attribute(self._page)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self._height}px; border: 1px solid #ccc; border-radius: 6px" '
            'title="symgrad graph"></iframe>'
        )


def show(graph: "networkx.MultiDiGraph", *, height: int = 640, **options: Any) -> _Shown:
    """Display a graph in a notebook: the last expression of a cell, or the argument of `display`.

    Args:
      graph: a graph from `build`.
      height: height of the frame in CSS pixels.
      options: those of `to_html`.

    Returns:
      An object that a notebook shows as the interactive picture.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> symgrad.graph.show(symgrad.graph.build(tf.Graph()))._repr_html_()[:7]
      '<iframe'
    """
    return _Shown(to_html(graph, **options), int(height))


def safe_attribute(text: str) -> str:
    """`text` for an attribute in double quotes, every character kept."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _page(data: str, title: str) -> str:
    style, script = _asset("page.css"), bundle()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {"title": safe(title), "policy": policy, "style": style, "script": script, "data": data}
    return re.sub(r"@(title|policy|style|script|data)@", lambda match: filled[match[1]], _asset("page.html"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (files("symgrad._picture") / "viewer" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def bundle() -> str:
    """The viewer's modules as one: without their imports and exports, which name each other alone."""
    parts = []
    for name in _MODULES:
        text = re.sub(r"^import [^;]+;\n", "", _asset(f"{name}.mjs"), flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n".join(parts)
