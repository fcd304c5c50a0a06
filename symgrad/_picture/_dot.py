"""`to_dot`: the same picture as text for Graphviz, which then places it its own way."""

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from ._colours import paint
from ._coordinates import Box, place
from ._layout import Plan, plan
from ._lines import joined
from ._svg import to_open
from ._text import plain

if TYPE_CHECKING:
    import networkx


def to_dot(
    graph: "networkx.MultiDiGraph",
    path: "str | os.PathLike | None" = None,
    *,
    fold: int | None = None,
    constants: bool = False,
    series: bool = True,
) -> str:
    """Write a graph in the DOT language: the boxes and frames of `to_svg` as nodes and clusters.

    Args:
      graph: a graph from `build`.
      path: where to write the text too, None for nowhere.
      fold, constants, series: as for `to_svg`.

    Returns:
      The text. Graphviz places a few hundred nodes in reasonable time; forward ops and their gradients that share a
      row in `to_svg` do not here.
    """
    picture = plan(graph, constants=constants, series=series)
    placed = place(picture, to_open(picture, fold, aside=constants))
    names = {id(box): f"n{i}" for i, box in enumerate(placed.boxes)}
    lines = ["digraph gradient_graph {", '  graph [rankdir="TB", fontname="Helvetica"];']
    lines.append('  node [shape="box", style="rounded,filled", fontname="Helvetica", fontsize="11"];')
    lines += _clusters(picture, placed.boxes, names)
    for (a, b), (count, kind) in joined(picture, placed).items():
        style = ', style="dashed"' if kind == "control" else ""
        lines.append(f'  n{a} -> n{b} [penwidth="{1 + (count > 1) * 0.5}"{style}];')
    text = "\n".join([*lines, "}"]) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def quoted(text: object) -> str:
    """A DOT string: quotes and backslashes escaped, nothing that could end it or be read as an escape sequence."""
    shown = plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


def _clusters(picture: Plan, boxes: list[Box], names: dict[int, str]) -> list[str]:
    """Nodes inside the clusters of the open groups of their column; frames come before what is in them."""
    inside: dict[int, list[Box]] = defaultdict(list)
    frames: dict[tuple[int, int], int] = {}
    for i, box in enumerate(boxes):
        inside[_around(picture, box, frames)].append(box)
        if box.open:
            frames[box.group, box.column] = i
    lines: list[str] = []
    stack: list[Box | str] = [*reversed(inside[-1])]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            lines.append(item)
        elif item.open:
            i = frames[item.group, item.column]
            lines.append(f'  subgraph cluster_{i} {{ label={quoted(item.label)}; color="{paint(picture, item)[2]}";')
            stack += ["  }", *reversed(inside[i])]
        else:
            fill, _, line = paint(picture, item)
            lines.append(
                f"  {names[id(item)]} [label={quoted(item.label)}, tooltip={quoted(_full_name(picture, item))}, "
                f'fillcolor="{fill}", color="{line}"];'
            )
    return lines


def _around(picture: Plan, box: Box, frames: dict[tuple[int, int], int]) -> int:
    """The innermost frame of the box's column that it lies in, -1 for none."""
    at = box.group
    if box.open or (at, box.column) not in frames:
        at = picture.groups[at].parent
    while at > 0:
        if (at, box.column) in frames:
            return frames[at, box.column]
        at = picture.groups[at].parent
    return -1


def _full_name(picture: Plan, box: Box) -> str:
    return picture.ops[box.op].name if box.op >= 0 else picture.groups[box.group].name
