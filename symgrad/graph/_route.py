"""The lines of a picture: edges between ops gathered into edges between visible boxes, and a path for each."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from math import log10

from ._place import Box, Placed
from ._plan import Plan

# Beyond this many boxes lines go straight: looking for what they would cross costs more than it helps.
_CAREFUL = 1500


@dataclass
class Wire:
    """A line: its SVG path, what it stands for, and how far it reaches to the left and right."""

    path: str
    role: str
    kind: str
    cross: bool
    thickness: float
    opacity: float
    reach: tuple[float, float]


def wires(plan: Plan, placed: Placed) -> list[Wire]:
    """A line for each pair of visible boxes that an edge joins, the faintest first."""
    seen = _visible(plan, placed)
    bundles: dict[tuple[int, int], list] = {}
    for source, target, kind in plan.edges:
        a, b = seen[source], seen[target]
        if a != b and a >= 0 and b >= 0 and not _is_plain(plan, source, target):
            bundle = bundles.setdefault((a, b), [0, "control"])
            bundle[0] += 1
            bundle[1] = "data" if kind == "data" else bundle[1]
    lanes = _Lanes(placed.boxes)
    order = sorted(bundles, key=lambda key: (abs(placed.boxes[key[0]].y - placed.boxes[key[1]].y), key))
    ports = _ports(placed.boxes, order)
    made = [_wire(plan, placed.boxes, key, (*bundles[key], ports[key], lanes)) for key in order]
    return sorted(made, key=lambda wire: wire.opacity)


def _is_plain(plan: Plan, source: int, target: int) -> bool:
    """True for a variable and its own update, which stand in one row: a line would say it twice."""
    a, b = plan.ops[source], plan.ops[target]
    return a.role == "variable" and b.role == "update" and a.group == b.group


def _visible(plan: Plan, placed: Placed) -> list[int]:
    """For each op the box that shows it: its own, or the closed group in its column; -1 if there is none."""
    own = {box.op: i for i, box in enumerate(placed.boxes) if box.op >= 0}
    closed = {(box.group, box.column): i for i, box in enumerate(placed.boxes) if box.op < 0 and not box.open}
    found = []
    for k, op in enumerate(plan.ops):
        at, shown = op.group, own.get(k, -1)
        while shown < 0 <= at:
            shown = closed.get((at, op.column), -1)
            at = plan.groups[at].parent
        found.append(shown)
    return found


def _ports(boxes: list[Box], keys: list[tuple[int, int]]) -> dict[tuple[int, int], tuple[float, float]]:
    """Where on the edge of its boxes each line starts and ends: spread by where the other end lies."""
    leaving: dict[int, list] = defaultdict(list)
    entering: dict[int, list] = defaultdict(list)
    for a, b in keys:
        if boxes[a].column == boxes[b].column:
            leaving[a].append((_centre(boxes[b]), (a, b)))
            entering[b].append((_centre(boxes[a]), (a, b)))
    start: dict[tuple[int, int], float] = {}
    end: dict[tuple[int, int], float] = {}
    for found, ends in ((leaving, start), (entering, end)):
        for at, listed in found.items():
            room = min(boxes[at].w - 24, 14.0 * (len(listed) - 1))
            for i, (_, key) in enumerate(sorted(listed)):
                offset = 0.0 if len(listed) == 1 else room * (i / (len(listed) - 1) - 0.5)
                ends[key] = _centre(boxes[at]) + offset
    return {key: (start.get(key, _centre(boxes[key[0]])), end.get(key, _centre(boxes[key[1]]))) for key in keys}


def _wire(plan: Plan, boxes: list[Box], key: tuple[int, int], given: tuple) -> Wire:
    count, kind, (x1, x2), lanes = given
    a, b = boxes[key[0]], boxes[key[1]]
    cross = a.column != b.column
    role = "forward" if a.column == 0 else "update" if a.column == len(plan.columns) - 1 else "backward"
    thickness = min(3.0, 1.0 + 0.7 * log10(count))
    span = abs(a.y + a.h / 2 - b.y - b.h / 2)
    if cross or min(a.y + a.h, b.y + b.h) > max(a.y, b.y):
        path, reach = _sideways(a, b)
        opacity = 0.75 if span < 160 else 0.4
    else:
        path, reach = _upright(a, b, (x1, x2), lanes)
        opacity = 0.85 if span < 260 else 0.6
    return Wire(path, role, kind, cross, thickness, 0.35 if kind == "control" else opacity, reach)


def _sideways(a: Box, b: Box) -> tuple[str, tuple[float, float]]:
    """Between columns, or within a row: out of the side that faces the other box."""
    right = _centre(b) >= _centre(a)
    x1, x2 = (a.x + a.w, b.x) if right else (a.x, b.x + b.w)
    y1, y2 = a.y + a.h / 2, b.y + b.h / 2
    bend = max(24.0, abs(x2 - x1) * 0.4) * (1 if right else -1)
    return _curve((x1, y1), (x1 + bend, y1), (x2 - bend, y2), (x2, y2)), (min(x1, x2), max(x1, x2))


def _upright(a: Box, b: Box, ports: tuple[float, float], lanes: "_Lanes") -> tuple[str, tuple[float, float]]:
    """Within a column: straight to the next row, around the outside where boxes are in the way."""
    x1, x2 = ports
    down = b.y > a.y
    y1, y2 = (a.y + a.h, b.y) if down else (a.y, b.y + b.h)
    way = lanes.around(a, b, (min(y1, y2), max(y1, y2)), (min(x1, x2), max(x1, x2)))
    if way is None:
        bend = max(12.0, abs(y2 - y1) * 0.45) * (1 if down else -1)
        return _curve((x1, y1), (x1, y1 + bend), (x2, y2 - bend), (x2, y2)), (min(x1, x2), max(x1, x2))
    side = way < _centre(a)
    xa, xb = (a.x, b.x) if side else (a.x + a.w, b.x + b.w)
    ya, yb = a.y + a.h / 2, b.y + b.h / 2
    turn = 14.0 if down else -14.0
    path = (
        f"M{_p(xa, ya)} C{_p(way, ya)} {_p(way, ya)} {_p(way, ya + turn)} "
        f"L{_p(way, yb - turn)} C{_p(way, yb)} {_p(way, yb)} {_p(xb, yb)}"
    )
    return path, (min(way, xa, xb), max(way, xa, xb))


class _Lanes:
    """What lies where, and the lanes already given to lines that go around."""

    def __init__(self, boxes: list[Box]):
        self._careful = len(boxes) <= _CAREFUL
        self._columns: dict[int, list[Box]] = defaultdict(list)
        for box in boxes:
            if not box.open:
                self._columns[box.column].append(box)
        for listed in self._columns.values():
            listed.sort(key=lambda box: box.y)
        self._tops = {column: [box.y for box in listed] for column, listed in self._columns.items()}
        self._taken: list[tuple[float, float, float]] = []

    def around(self, a: Box, b: Box, ys: tuple[float, float], xs: tuple[float, float]) -> float | None:
        """The x of a free lane around the boxes between a and b, None where the straight way is free."""
        if not self._careful:
            return None
        listed = self._columns[a.column]
        tops = self._tops[a.column]
        tallest = 120.0
        between = listed[bisect_left(tops, ys[0] - tallest) : bisect_right(tops, ys[1])]
        between = [box for box in between if box.y + box.h > ys[0] and box.y < ys[1] and box is not a and box is not b]
        if not any(box.x < xs[1] + 4 and box.x + box.w > xs[0] - 4 for box in between):
            return None
        left = a.column == 0
        edge = min(box.x for box in (*between, a, b)) if left else max(box.x + box.w for box in (*between, a, b))
        lane = edge - 12.0 if left else edge + 12.0
        while any(abs(x - lane) < 5 and top < ys[1] and bottom > ys[0] for x, top, bottom in self._taken):
            lane += -6.0 if left else 6.0
        self._taken.append((lane, ys[0], ys[1]))
        return lane


def _centre(box: Box) -> float:
    return box.x + box.w / 2


def _curve(*points: tuple[float, float]) -> str:
    start, one, two, end = (_p(*point) for point in points)
    return f"M{start} C{one} {two} {end}"


def _p(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"
