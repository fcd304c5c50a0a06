"""The lines of a picture: edges between ops gathered into edges between visible boxes, and a path for each."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from math import log10

from ._coordinates import Box, Placed
from ._layout import Plan

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
    bundles = joined(plan, placed)
    lanes = _Lanes(placed.boxes)
    order = sorted(bundles, key=lambda key: (abs(placed.boxes[key[0]].y - placed.boxes[key[1]].y), key))
    ports = _ports(placed.boxes, order)
    made = [_wire(plan, placed.boxes, key, (*bundles[key], ports[key], lanes)) for key in order]
    return sorted(made, key=lambda wire: wire.opacity)


def joined(plan: Plan, placed: Placed) -> dict[tuple[int, int], tuple[int, str]]:
    """Pairs of visible boxes (by position) that an edge joins, with how many edges do and whether one carries data."""
    seen = _visible(plan, placed)
    bundles: dict[tuple[int, int], tuple[int, str]] = {}
    for edge in plan.edges:
        source, target, kind = edge
        a, b = seen[source], seen[target]
        if a != b and a >= 0 and b >= 0 and not _is_plain(plan, edge):
            count, kept = bundles.get((a, b), (0, "control"))
            bundles[a, b] = count + 1, "data" if kind == "data" else kept
    return bundles


def _is_plain(plan: Plan, edge: tuple[int, int, str]) -> bool:
    """True for an edge that a line would not make clearer.

    That is one from a variable to its own update, which stands in the same row, and a control dependency of an op that
    computes: only what groups and orders others is drawn with what it waits for.
    """
    a, b = plan.ops[edge[0]], plan.ops[edge[1]]
    if edge[2] == "control":
        return b.role not in ("update", "control") or a.role == "variable"
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
    beside = min(a.y + a.h, b.y + b.h) > max(a.y, b.y)
    if beside and not cross and lanes.apart(a, b):
        path, reach = _over(a, b, (x1, x2))
        opacity = 0.6
    elif cross or beside:
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


def _over(a: Box, b: Box, ports: tuple[float, float]) -> tuple[str, tuple[float, float]]:
    """Within a row, over the boxes in between."""
    x1, x2 = ports
    rise = min(a.y, b.y) - 12.0 - min(10.0, abs(x2 - x1) / 60)
    return _curve((x1, a.y), (x1, rise), (x2, rise), (x2, b.y)), (min(x1, x2), max(x1, x2))


def _upright(a: Box, b: Box, ports: tuple[float, float], lanes: "_Lanes") -> tuple[str, tuple[float, float]]:
    """Within a column: straight to the next row, around the outside where boxes are in the way."""
    x1, x2 = ports
    down = b.y > a.y
    y1, y2 = (a.y + a.h, b.y) if down else (a.y, b.y + b.h)
    way = lanes.around(a, b, (min(y1, y2), max(y1, y2)), (min(x1, x2), max(x1, x2)))
    if way is None:
        bend = max(12.0, abs(y2 - y1) * 0.45) * (1 if down else -1)
        return _curve((x1, y1), (x1, y1 + bend), (x2, y2 - bend), (x2, y2)), (min(x1, x2), max(x1, x2))
    step = 11.0 if down else -11.0
    corners = [(x1, y1), (x1, y1 + step), (way, y1 + step), (way, y2 - step), (x2, y2 - step), (x2, y2)]
    return _rounded(corners), (min(way, x1, x2), max(way, x1, x2))


def _rounded(corners: list[tuple[float, float]]) -> str:
    """A line with right angles whose corners are rounded."""
    parts = [f"M{_p(*corners[0])}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        parts.append(f"L{_p(*_towards(corner, before))} Q{_p(*corner)} {_p(*_towards(corner, after))}")
    return " ".join([*parts, f"L{_p(*corners[-1])}"])


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The point where the rounding of a corner begins: 7 pixels away, or half the way."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    share = min(7.0, length / 2) / length if length else 0.0
    return corner[0] + dx * share, corner[1] + dy * share


class _Lanes:
    """What lies where, and the lanes already given to lines that go around."""

    def __init__(self, boxes: list[Box]):
        self._careful = len(boxes) <= _CAREFUL
        self._columns: dict[int, list[Box]] = defaultdict(list)
        self._frames: dict[int, list[Box]] = defaultdict(list)
        for box in boxes:
            (self._frames if box.open else self._columns)[box.column].append(box)
        for listed in self._columns.values():
            listed.sort(key=lambda box: box.y)
        self._tops = {column: [box.y for box in listed] for column, listed in self._columns.items()}
        self._taken: list[_Lane] = []

    def apart(self, a: Box, b: Box) -> bool:
        """True where a box of their row lies between two boxes of one column."""
        left, right = sorted((a, b), key=lambda box: box.x)
        listed, tops = self._columns[a.column], self._tops[a.column]
        beside = listed[bisect_left(tops, max(a.y, b.y) - 120.0) : bisect_right(tops, min(a.y + a.h, b.y + b.h))]
        return self._careful and any(
            left.x + left.w <= box.x < right.x and box.y + box.h > max(a.y, b.y) for box in beside
        )

    def around(self, a: Box, b: Box, ys: tuple[float, float], xs: tuple[float, float]) -> float | None:
        """The x of a free lane around the boxes between a and b, None where the straight way is free."""
        if not self._careful:
            return None
        listed = self._columns[a.column]
        tops = self._tops[a.column]
        tallest = 120.0
        between = listed[bisect_left(tops, ys[0] - tallest) : bisect_right(tops, ys[1])]
        between = [box for box in between if box.y + box.h > ys[0] and box.y < ys[1] and box is not a and box is not b]
        blocking = [box.x if a.column == 0 else -box.x - box.w for box in between if _blocks(box, xs)]
        if not blocking:
            return None
        walls = between + [
            frame
            for frame in self._frames[a.column]
            if frame.y + frame.h > ys[0] and frame.y < ys[1] and not (_holds(frame, a) or _holds(frame, b))
        ]
        return self._outwards(min(blocking) - 12.0, walls, ys, (a, b))

    def _outwards(self, edge: float, walls: list[Box], ys: tuple[float, float], ends: tuple[Box, Box]) -> float:
        """The first free lane beyond an edge, to the left in the forward column and mirrored in all others.

        One that leads from the same box or to it already comes first, if it is free all the way.
        """
        a, b = ends
        sign = 1.0 if a.column == 0 else -1.0
        spans = [(box.x, box.x + box.w) if a.column == 0 else (-box.x - box.w, -box.x) for box in walls]
        down = b.y > a.y
        line = _Lane(0.0, ys, (id(a), down), (id(b), down))
        known = {sign * lane.x for lane in self._taken if lane.source == line.source or lane.target == line.target}
        for lane in sorted((lane for lane in known if lane <= edge), reverse=True):
            if not any(left - 6.0 < lane < right + 6.0 for left, right in spans) and self._is_free(sign * lane, line):
                break
        else:
            lane = self._first_free(edge, spans, sign, line)
        self._taken.append(replace(line, x=sign * lane))
        return sign * lane

    def _first_free(self, edge: float, spans: list[tuple[float, float]], sign: float, line: "_Lane") -> float:
        lane = edge
        while True:
            beyond = min((left for left, right in spans if left - 6.0 < lane < right + 6.0), default=None)
            if beyond is not None:
                lane = beyond - 12.0
            elif not self._is_free(sign * lane, line):
                lane -= 6.0
            else:
                return lane

    def _is_free(self, lane: float, line: "_Lane") -> bool:
        """Lines from one box, or to one, share a lane; others keep their distance."""
        near = [
            other
            for other in self._taken
            if abs(other.x - lane) < 5 and other.ys[0] < line.ys[1] and other.ys[1] > line.ys[0]
        ]
        together = all(o.source == line.source for o in near) or all(o.target == line.target for o in near)
        return together and all(other.x == lane for other in near)


@dataclass(frozen=True)
class _Lane:
    """Where a line goes upright: its x and ys, and the boxes that it comes from and goes to, with its direction."""

    x: float
    ys: tuple[float, float]
    source: tuple[int, bool]
    target: tuple[int, bool]


def _blocks(box: Box, xs: tuple[float, float]) -> bool:
    return box.x < xs[1] + 4 and box.x + box.w > xs[0] - 4


def _holds(frame: Box, box: Box) -> bool:
    inside = frame.x <= box.x and box.x + box.w <= frame.x + frame.w
    return inside and frame.y <= box.y and box.y + box.h <= frame.y + frame.h


def _centre(box: Box) -> float:
    return box.x + box.w / 2


def _curve(*points: tuple[float, float]) -> str:
    start, one, two, end = (_p(*point) for point in points)
    return f"M{start} C{one} {two} {end}"


def _p(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"
