"""Coordinates from a plan, the set of open groups and the widths of labels: the small half of the layout.

It is deterministic and short on purpose: a viewer that opens and closes groups repeats just this step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ._layout import Group, Op, Plan
from ._text import shorten, width

FONT = 12.0
HEIGHT = 26.0
HEADER = 24.0
PADDING = 14.0
GAP_X = 16.0
GAP_Y = 30.0
COLUMN_GAP = 96.0
WIDEST_LABEL = 190.0
NARROWEST = 44.0


@dataclass
class Box:
    """A rectangle of the picture: an op, or the part of a group that lies in one column."""

    group: int
    column: int
    op: int
    label: str
    x: float
    y: float
    w: float
    h: float
    open: bool = False
    badge: str = ""


@dataclass
class Placed:
    """Boxes (an open group before what is in it), the horizontal span of each column, and the size of it all."""

    boxes: list[Box]
    spans: list[tuple[float, float]]
    width: float
    height: float


@dataclass
class _Size:
    widths: list[float]
    height: float
    labels: list[str]


def place(plan: Plan, opened: set[int]) -> Placed:
    """Place every visible box.

    Args:
      plan: from `plan`.
      opened: positions of the open groups; the root is always open, and a group shows only if all around it are open.

    Returns:
      `Placed`, in pixels, with y growing from the inputs to the outputs.
    """
    sizes: dict[int, _Size] = {}
    for at in _inside_out(plan, opened):
        sizes[at] = _size(plan, at, opened, sizes)
    spans, x = [], 0.0
    for w in sizes[0].widths:
        spans.append((x, x + w))
        x += w + (COLUMN_GAP if w else 0.0)
    boxes = list(_boxes(plan, opened, sizes, [start for start, _ in spans]))
    return Placed(boxes, spans, max((end for start, end in spans if end > start), default=0.0), sizes[0].height)


def is_open(plan: Plan, at: int, opened: set[int]) -> bool:
    """True where a group shows what is in it."""
    return at == 0 or at in opened


def column_order(column: int, columns: int) -> int:
    """-1 where a column mirrors the order within its rows, so that a gradient is its forward half reflected."""
    return -1 if column % 2 and column < columns - 1 else 1


def _inside_out(plan: Plan, opened: set[int]) -> list[int]:
    """Visible groups, children before their parent."""
    order, stack = [], [0]
    while stack:
        at = stack.pop()
        order.append(at)
        if is_open(plan, at, opened):
            stack.extend(child for row in plan.groups[at].rows for child in row)
    return order[::-1]


def _size(plan: Plan, at: int, opened: set[int], sizes: dict[int, _Size]) -> _Size:
    group = plan.groups[at]
    labels = [_label(plan, group, column) for column in range(len(plan.columns))]
    closed = [_label_width(label, _badge(plan, group, k)) if label else 0.0 for k, label in enumerate(labels)]
    if not is_open(plan, at, opened):
        return _Size(closed, HEIGHT, labels)
    if group.kind == "cell":
        return _cell_size(plan, group, labels)
    widths = list(closed) if at else [0.0] * len(labels)
    height = HEADER if at else 0.0
    for row in group.rows:
        for k in range(len(widths)):
            shown = [sizes[child].widths[k] for child in row if sizes[child].widths[k]]
            if shown:
                widths[k] = max(widths[k], sum(shown) + GAP_X * (len(shown) - 1) + (2 * PADDING if at else 0.0))
        height += max(sizes[child].height for child in row) + GAP_Y
    return _Size(widths, height - (GAP_Y - PADDING if at else GAP_Y), labels)


def _cell_size(plan: Plan, group: Group, labels: list[str]) -> _Size:
    """An open cell: the ops of its columns row by row, in a frame where there is more than one."""
    widths, height = [0.0] * len(labels), HEIGHT
    for k, rows in enumerate(group.cells):
        if group.counts[k] == 1:
            widths[k] = _label_width(labels[k], "")
        elif rows:
            inner = [sum(_op_width(plan.ops[i]) for i in row) + GAP_X * (len(row) - 1) for row in rows]
            widths[k] = max(_label_width(labels[k], ""), max(inner) + 2 * PADDING)
            height = max(height, HEADER + len(rows) * (HEIGHT + GAP_Y) - GAP_Y + PADDING)
    return _Size(widths, height, labels)


def _boxes(plan: Plan, opened: set[int], sizes: dict[int, _Size], starts: list[float]) -> Iterator[Box]:
    stack = [(0, starts, 0.0)]
    while stack:
        at, xs, y = stack.pop()
        group, size = plan.groups[at], sizes[at]
        shown = is_open(plan, at, opened)
        for k, x in enumerate(xs):
            if at and size.widths[k]:
                yield from _own_boxes(plan, at, k, (x, y, size), shown)
        if shown and group.kind != "cell":
            stack += reversed(list(_children(plan, at, xs, (y, sizes))))


def _own_boxes(plan: Plan, at: int, k: int, spot: tuple[float, float, _Size], shown: bool) -> Iterator[Box]:
    """The box of a group in one column; of an open cell the ops in it too."""
    x, y, size = spot
    group = plan.groups[at]
    single = group.kind == "cell" and group.counts[k] == 1
    if single:
        op = group.cells[k][0][0]
        yield Box(at, k, op, size.labels[k], x, y + (size.height - HEIGHT) / 2, size.widths[k], HEIGHT)
        return
    yield Box(at, k, -1, size.labels[k], x, y, size.widths[k], size.height, shown, _badge(plan, group, k))
    if not shown or group.kind != "cell":
        return
    rows = group.cells[k]
    used = HEADER + len(rows) * (HEIGHT + GAP_Y) - GAP_Y + PADDING
    top = y + HEADER + (size.height - used) / 2
    for row in rows:
        total = sum(_op_width(plan.ops[i]) for i in row) + GAP_X * (len(row) - 1)
        left = x + (size.widths[k] - total) / 2
        for i in row[:: column_order(k, len(plan.columns))]:
            w = _op_width(plan.ops[i])
            yield Box(at, k, i, _op_label(plan.ops[i]), left, top, w, HEIGHT)
            left += w + GAP_X
        top += HEIGHT + GAP_Y


def _children(
    plan: Plan, at: int, xs: list[float], frame: tuple[float, dict[int, _Size]]
) -> Iterator[tuple[int, list[float], float]]:
    """Where each child of an open group goes: rows from the top, every column centred and in its own order."""
    y, sizes = frame
    y += HEADER if at else 0.0
    for row in plan.groups[at].rows:
        tall = max(sizes[child].height for child in row)
        lefts: dict[int, list[float]] = {child: list(xs) for child in row}
        for k, x in enumerate(xs):
            shown = [child for child in row if sizes[child].widths[k]]
            total = sum(sizes[child].widths[k] for child in shown) + GAP_X * (len(shown) - 1)
            left = x + (sizes[at].widths[k] - total) / 2
            for child in shown[:: column_order(k, len(xs))]:
                lefts[child][k] = left
                left += sizes[child].widths[k] + GAP_X
        for child in row:
            yield child, lefts[child], y + (tall - sizes[child].height) / 2
        y += tall + GAP_Y


def _label(plan: Plan, group: Group, column: int) -> str:
    if not group.counts[column]:
        return ""
    if group.kind == "cell" and group.counts[column] == 1:
        return _op_label(plan.ops[group.cells[column][0][0]])
    return group.label


def _badge(plan: Plan, group: Group, column: int) -> str:
    """How many ops a closed group stands for."""
    count = group.counts[column]
    return f"{count:,}" if count > 1 and group.kind != "root" else ""


def _op_label(op: Op) -> str:
    return op.name.rpartition("/")[2] or op.name


def _op_width(op: Op) -> float:
    return _label_width(_op_label(op), "")


def _label_width(label: str, badge: str) -> float:
    text = shorten(label, FONT, WIDEST_LABEL)
    return max(NARROWEST, width(text, FONT) + 20.0 + (width(badge, FONT - 2.5) + 8.0 if badge else 0.0))
