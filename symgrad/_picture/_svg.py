"""`to_svg`: the picture as one SVG text that needs nothing else."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._model._along import narrowed
from ._colours import PAINT, Tint, Tints, by_number, by_role, ramp
from ._coordinates import FONT, HEADER, WIDEST_LABEL, Box, Placed, place
from ._layout import Plan, plan
from ._lines import Wire, wires
from ._opened_calls import with_functions
from ._text import human_number, safe, shape_text, shorten, width

if TYPE_CHECKING:
    import networkx

_CROSS = "#b9b3c4"
_MARGIN = 28.0
_TOP = 84.0

# A picture opens scopes by itself until it has about this many boxes.
_COMFORTABLE = 64


def to_svg(
    graph: "networkx.MultiDiGraph",
    path: "str | os.PathLike | None" = None,
    *,
    fold: int | None = None,
    constants: bool = False,
    series: bool = True,
    functions: bool = True,
    ys: Any = None,
    xs: Any = None,
    color: str = "role",
    title: str | None = None,
) -> str:
    """Draw a graph: forward on the left, each gradient on the right in the row of what it is the gradient of.

    Args:
      graph: a graph from `build`.
      path: where to write the SVG too, None for nowhere.
      fold: depth of name scopes to open: 0 opens none, 1 the outermost. None opens scopes until the picture is full.
      constants: draw constants, initialisers and zeros that nothing reads too.
      series: fold five or more siblings of like names, such as `conv2d_1 ... conv2d_47`.
      functions: let an op that calls functions (a While, an If, a PartitionedCall) be a box with their bodies in it.
      ys, xs: names, ops or tensors, or lists of them, both or none: draw only the ops on the way from xs to ys, and
        those through which the gradient of ys comes back to xs, as `symgrad.graph.along` finds them.
      color: what colours mean: `"role"`, or a node attribute that is a number, such as the `"flops"` and `"bytes"` that
        `cost` leaves on the nodes.
      title: heading, "" for none; None for a count of the ops.

    Returns:
      The SVG, the same text for the same graph. Hovering over a box tells op type, shapes and full name.

    Raises:
      ValueError: only one of ys and xs is given; no node has the number that `color` names.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     _ = tf.gradients(tf.square(x), x)
      >>> symgrad.graph.to_svg(symgrad.graph.build(g))[:4]
      '<svg'
    """
    graph = narrowed(graph, ys, xs)
    own = graph
    if functions:
        graph = with_functions(graph)
    title = heading(own, graph) if title is None else title
    picture = plan(graph, constants=constants, series=series)
    opened = to_open(picture, fold, aside=constants)
    placed = place(picture, opened)
    tints = by_role(picture) if color == "role" else by_number(graph, picture, placed, color)
    text = _draw(picture, placed, tints, title=title)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def to_open(picture: Plan, fold: int | None, *, aside: bool = False, calls: bool = True) -> set[int]:
    """The groups to open: all down to a depth; or, outermost and smallest first, while the picture stays readable.

    By itself no variable opens, nor a scope of one or two ops, nor the gradient of a single op: they read better as one
    box.

    Args:
      picture: from `plan`.
      fold: depth, None to choose.
      aside: whether the ops that a picture may leave out are shown.
      calls: open ops that call functions too where there is room.
    """
    counts = [group.counts if aside else group.main for group in picture.groups]
    opened: set[int] = set()
    level, depth, boxes = [0], 0, _own_count(picture, 0, counts)
    while level:
        inside = [child for at in level for row in picture.groups[at].rows for child in row]
        level = []
        for at in sorted(inside, key=lambda at: (sum(counts[at]), at)):
            group, more = picture.groups[at], _own_count(picture, at, counts)
            if fold is None:
                worth = group.kind != "cell" and group.role != "variable" and counts[at][0] > 2
                worth = worth and (calls or not group.is_call)
                wanted = worth and boxes + more <= _COMFORTABLE
            else:
                wanted = depth < fold and (max(group.counts) > 1 or group.kind != "cell")
            if wanted:
                boxes += more
                opened.add(at)
                level.append(at)
        depth += 1
    return opened


def _own_count(picture: Plan, at: int, counts: list[list[int]]) -> int:
    """Boxes that opening a group adds."""
    if picture.groups[at].kind == "cell":
        return sum(count for count in counts[at] if count > 1)
    children = [child for row in picture.groups[at].rows for child in row]
    return sum(1 for child in children for count in counts[child] if count)


def _draw(picture: Plan, placed: Placed, tints: Tints, *, title: str) -> str:
    lines = wires(picture, placed)
    left = min([0.0, *(x for wire in lines for x in wire.reach)])
    right = max([placed.width, *(x for wire in lines for x in wire.reach)])
    head, head_width = _head(picture, placed, (lines, tints), title)
    span = max(right - left, width(title, 16), head_width) + 2 * _MARGIN
    full = placed.height + _TOP + _MARGIN
    shift = _MARGIN - left + (span - 2 * _MARGIN - (right - left)) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(span)}" height="{_n(full)}" '
        f'viewBox="0 0 {_n(span)} {_n(full)}" font-family="Helvetica, Arial, sans-serif" font-size="{_n(FONT)}">',
        _defs(),
        f'<rect width="{_n(span)}" height="{_n(full)}" fill="#ffffff"/>',
        head,
        f'<g transform="translate({_n(shift)} {_n(_TOP)})">',
        *_column_heads(picture, placed),
        *(_frame(tints.of(box), box) for box in placed.boxes if box.open),
        *(_wire(wire) for wire in lines),
        *(_box(picture, tints.of(box), box) for box in placed.boxes if not box.open),
        *(_frame_label(picture, tints.of(box), box) for box in placed.boxes if box.open),
        "</g>",
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def heading(graph: "networkx.MultiDiGraph", whole: "networkx.MultiDiGraph") -> str:
    """How many ops of which role, and how many more in functions: the title of a picture that has no other."""
    roles: list[Any] = [role for _, role in graph.nodes(data="role")]
    counted = [f"{roles.count(role):,} {role}" for role in ("forward", "backward", "update") if role in roles]
    more = f"; {len(whole) - len(graph):,} more in functions" if len(whole) > len(graph) else ""
    return f"{len(graph):,} ops" + (f": {', '.join(counted)}" if counted else "") + more


def _head(picture: Plan, placed: Placed, marks: tuple[list[Wire], Tints], title: str) -> tuple[str, float]:
    """Title and legend, with just the colours and marks that occur; and how wide the legend is."""
    lines, tints = marks
    parts = [f'<text x="{_n(_MARGIN)}" y="26" font-size="16" font-weight="600" fill="#222">{safe(title)}</text>']
    x = _scale(parts, tints) if tints.measure else _roles(parts, picture)
    stroke = 'stroke="#777" fill="none"'
    if any(not box.open and box.op < 0 for box in placed.boxes):
        mark = (
            f'<path d="M{_n(x + 3)} 41h14v10h-14z" {stroke} stroke-opacity="0.5"/>'
            f'<path d="M{_n(x)} 38h14v10h-14z" stroke="#777" fill="#eee"/>'
        )
        x = _legend_entry(parts, x, mark, "folded ops")
    if any(wire.cross for wire in lines):
        mark = f'<path d="M{_n(x)} 44h14" stroke="{_CROSS}" stroke-width="2" fill="none"/>'
        x = _legend_entry(parts, x, mark, "value used in another column")
    if any(wire.kind == "control" for wire in lines):
        mark = f'<path d="M{_n(x)} 44h14" {stroke} stroke-dasharray="3 3"/>'
        x = _legend_entry(parts, x, mark, "order only")
    return "\n".join(parts), x - 18 - _MARGIN


def _roles(parts: list[str], picture: Plan) -> float:
    x = _MARGIN
    for role in [role for role in PAINT if any(op.role == role for op in picture.ops)]:
        fill, _, line = PAINT[role]
        mark = f'<rect x="{_n(x)}" y="38" width="14" height="12" rx="3" fill="{fill}" stroke="{line}"/>'
        x = _legend_entry(parts, x, mark, "gradient" if role == "backward" else role)
    return x


def _scale(parts: list[str], tints: Tints) -> float:
    """The ramp from the lowest to the highest number."""
    low, high = human_number(tints.low), human_number(tints.high)
    parts.append(f'<text x="{_n(_MARGIN)}" y="48" font-size="11" fill="#444">{safe(tints.measure)} {low}</text>')
    x = _MARGIN + width(f"{tints.measure} {low}", 11) + 6
    steps = range(24)
    parts += [f'<rect x="{_n(x + 5 * k)}" y="38" width="5.5" height="12" fill="{ramp(k / 23)}"/>' for k in steps]
    return _legend_entry(parts, x + 104, "", high)


def _legend_entry(parts: list[str], x: float, mark: str, label: str) -> float:
    """Add a mark and what it means; where the next one begins."""
    parts.append(f'{mark}<text x="{_n(x + 22)}" y="48" font-size="11" fill="#444">{label}</text>')
    return x + 22 + width(label, 11) + 18


def _column_heads(picture: Plan, placed: Placed) -> list[str]:
    heads = []
    for name, (start, end) in zip(picture.columns, placed.spans, strict=True):
        if end > start:
            heads.append(
                f'<text x="{_n((start + end) / 2)}" y="-12" text-anchor="middle" font-size="11" fill="#777" '
                f'letter-spacing="0.6">{safe(name.upper())}</text>'
            )
    return heads


def _box(picture: Plan, tint: Tint, box: Box) -> str:
    """An op (round) or a closed group (a stack of cards), with its label and its tooltip."""
    line = tint.line
    is_op = box.op >= 0
    rect = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.w)}" height="{_n(box.h)}" rx="{13 if is_op else 4}"'
    badge_width = width(box.badge, FONT - 2.5) + 8 if box.badge else 0.0
    label = safe(shorten(box.label, FONT, WIDEST_LABEL))
    middle = box.x + (box.w - badge_width) / 2
    y = box.y + box.h / 2 + FONT * 0.35
    parts = ["<g>", f"<title>{_tooltip(picture, box)}</title>"]
    if not is_op:
        parts.append(
            f'<rect x="{_n(box.x + 3)}" y="{_n(box.y + 3)}" width="{_n(box.w)}" height="{_n(box.h)}" rx="4" '
            f'fill="{tint.fill}" fill-opacity="0.5" stroke="{line}" stroke-opacity="0.5"/>'
        )
    parts.append(f'<rect {rect} fill="{tint.fill}" stroke="{line}"/>')
    parts.append(f'<text x="{_n(middle)}" y="{_n(y)}" text-anchor="middle" fill="{tint.text}">{label}</text>')
    if box.badge:
        parts.append(
            f'<text x="{_n(box.x + box.w - 8)}" y="{_n(y - 0.5)}" text-anchor="end" font-size="{_n(FONT - 2.5)}" '
            f'fill="{line if tint.text == "#222222" else tint.text}">{safe(box.badge)}</text>'
        )
    return "".join([*parts, "</g>"])


def _frame(tint: Tint, box: Box) -> str:
    return (
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.w)}" height="{_n(box.h)}" rx="6" fill="{tint.fill}" '
        f'fill-opacity="0.55" stroke="{tint.line}" stroke-opacity="0.55"/>'
    )


def _frame_label(picture: Plan, tint: Tint, box: Box) -> str:
    label = shorten(box.label, FONT, max(box.w - 20, 30))
    # the plate keeps lines that pass below the label from striking it through
    return (
        f'<rect x="{_n(box.x + 6)}" y="{_n(box.y + 4)}" width="{_n(width(label, FONT) + 6)}" height="{_n(HEADER - 7)}" '
        f'rx="3" fill="#ffffff" fill-opacity="0.8"/>'
        f'<text x="{_n(box.x + 10)}" y="{_n(box.y + HEADER * 0.66)}" font-size="{_n(FONT - 1)}" font-weight="600" '
        f'fill="{tint.line}">{safe(label)}<title>{_tooltip(picture, box)}</title></text>'
    )


def _tooltip(picture: Plan, box: Box) -> str:
    group = picture.groups[box.group]
    if box.op < 0:
        return f"{safe(group.name)}\n{group.counts[box.column]:,} ops ({picture.columns[box.column]})"
    op = picture.ops[box.op]
    lines = [op.name, op.type]
    lines += [f"{dtype} {shape_text(shape)}" for dtype, shape in op.outputs[:4]]
    if op.pair is not None:
        lines.append(f"gradient of {op.pair}")
    return "\n".join(map(safe, lines))


def _wire(wire: Wire) -> str:
    colour = _CROSS if wire.cross else PAINT[wire.role][2]
    marker = "cross" if wire.cross else wire.role
    dash = ' stroke-dasharray="3 3"' if wire.kind == "control" else ""
    return (
        f'<path d="{wire.path}" fill="none" stroke="{colour}" stroke-width="{_n(wire.thickness)}" '
        f'stroke-opacity="{_n(wire.opacity)}"{dash} marker-end="url(#{marker})"/>'
    )


def _defs() -> str:
    colours = {role: paint[2] for role, paint in PAINT.items()} | {"cross": _CROSS}
    marks = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8 L8 4 L0 7.2 z" fill="{colour}"/></marker>'
        for name, colour in colours.items()
    )
    return f"<defs>{marks}</defs>"


def _n(value: float) -> str:
    """A number without needless digits."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
