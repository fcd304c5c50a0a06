"""Graphs in the formats of others: node-link JSON, GraphML, and pictures in pixels or as PDF."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._svg import to_svg
from ._text import plain, shape_text

if TYPE_CHECKING:
    import networkx


def to_json(graph: "networkx.MultiDiGraph", path: "str | os.PathLike | None" = None) -> str:
    """Write a graph as node-link JSON, which networkx and D3 read.

    `networkx.node_link_graph(json.loads(text), edges="edges")` gives the graph back, with lists in the place of tuples
    and without its source.

    Args:
      graph: a graph from `build`.
      path: where to write the text too, None for nowhere.

    Returns:
      The text: `nodes` with `id` and their attributes, `edges` with `source`, `target` and theirs.

    Example:
      >>> import json, symgrad
      >>> import networkx as nx
      >>> graph = nx.MultiDiGraph([("a", "b")])
      >>> list(nx.node_link_graph(json.loads(symgrad.graph.to_json(graph)), edges="edges").edges())
      [('a', 'b')]
    """
    data = {
        "directed": True,
        "multigraph": True,
        "graph": {},
        "nodes": [{**node, "id": name} for name, node in graph.nodes(data=True)],
        "edges": [
            {**edge, "source": source, "target": target, "key": key}
            for source, target, key, edge in graph.edges(keys=True, data=True)
        ],
    }
    return _written(json.dumps(data, separators=(",", ":"), default=_plain_value) + "\n", path)


def _plain_value(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's; what JSON has no form for, as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def to_graphml(graph: "networkx.MultiDiGraph", path: "str | os.PathLike | None" = None) -> str:
    """Write a graph as GraphML, which yEd, Gephi, Cytoscape and networkx read.

    GraphML has numbers, texts and booleans only: `outputs` and `shape` become texts, and what is None is left out.
    Characters that XML cannot hold are replaced, in names too.

    Args:
      graph: a graph from `build`.
      path: where to write the text too, None for nowhere.

    Returns:
      The text.
    """
    import networkx

    copy: networkx.MultiDiGraph = networkx.MultiDiGraph()
    for name, node in graph.nodes(data=True):
        copy.add_node(plain(name), **_flat(node))
    for source, target, key, edge in graph.edges(keys=True, data=True):
        copy.add_edge(plain(source), plain(target), key, **_flat(edge))
    text = "\n".join(networkx.generate_graphml(copy))
    return _written('<?xml version="1.0" encoding="utf-8"?>\n' + text + "\n", path)


def _flat(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: _flat_value(key, value) for key, value in attributes.items() if value is not None}


def _flat_value(key: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if key == "outputs":
        return "; ".join(f"{dtype} {shape_text(shape)}" for dtype, shape in value)
    if key == "shape":
        return shape_text(value)
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, (int, float)) else plain(value)


def to_png(graph: "networkx.MultiDiGraph", path: str | os.PathLike, *, scale: float = 2.0, **options: Any) -> None:
    """Draw the picture of `to_svg` in pixels. Needs CairoSVG: `pip install 'symgrad[pictures]'`.

    Args:
      graph: a graph from `build`.
      path: where to write it.
      scale: pixels for each unit of the SVG, in which letters are 12 units high.
      options: those of `to_svg`.

    Raises:
      ImportError: CairoSVG, or the cairo library that it uses, is not installed.
    """
    _cairosvg().svg2png(bytestring=to_svg(graph, **options).encode(), write_to=os.fspath(path), scale=scale)


def to_pdf(graph: "networkx.MultiDiGraph", path: str | os.PathLike, **options: Any) -> None:
    """Draw the picture of `to_svg` as a PDF with vector fonts. Needs CairoSVG: `pip install 'symgrad[pictures]'`.

    Args:
      graph: a graph from `build`.
      path: where to write it.
      options: those of `to_svg`.

    Raises:
      ImportError: CairoSVG, or the cairo library that it uses, is not installed.
    """
    _cairosvg().svg2pdf(bytestring=to_svg(graph, **options).encode(), write_to=os.fspath(path))


def _cairosvg() -> Any:
    try:
        import cairosvg
    except ImportError as error:
        raise ImportError(
            "PNG and PDF need CairoSVG; install it by: pip install 'symgrad[pictures]'. to_svg needs nothing."
        ) from error
    except OSError as error:  # cairocffi raises it where the shared library is missing
        raise ImportError(
            f"PNG and PDF need the cairo library ({error}); on Debian: apt-get install libcairo2. to_svg needs nothing."
        ) from error
    return cairosvg


def _written(text: str, path: "str | os.PathLike | None") -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text
