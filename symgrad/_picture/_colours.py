"""What the colours of a picture mean: the role of an op, or a number that its node has."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._coordinates import Box, Placed
from ._layout import Plan

if TYPE_CHECKING:
    import networkx

# Okabe and Ito (2008), a palette that colour-blind readers can tell apart: blue, vermilion, bluish green; tints of them
# for fills. (fill of an op, fill of a group, line)
PAINT = {
    "forward": ("#eaf3fa", "#d3e6f4", "#0072b2"),
    "backward": ("#fdf0e6", "#fadfca", "#d55e00"),
    "update": ("#e6f5f0", "#cdebe1", "#009e73"),
    "variable": ("#f3f1ea", "#e9e5d8", "#857d63"),
    "constant": ("#f5f5f5", "#eeeeee", "#999999"),
    "control": ("#f0f0f2", "#e4e4e8", "#73737f"),
}
# For numbers, six steps of cividis (Nunez, Anderton, Renslow 2018), which reads alike with every colour vision.
RAMP = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
# Beyond this ratio of the largest to the smallest number the scale is logarithmic.
WIDE_RANGE = 30.0
# Node attributes that are numbers but no measure of an op.
_NO_MEASURES = frozenset({"order", "dead"})


@dataclass(frozen=True)
class Tint:
    """Colours of a box: the fill of an op or a group, its line, its letters."""

    fill: str
    line: str
    text: str = "#222222"


@dataclass(frozen=True)
class Tints:
    """Tints by box; for numbers also what is measured and the ends of the scale."""

    of: Callable[[Box], Tint]
    measure: str = ""
    low: float = 0.0
    high: float = 0.0


def by_role(plan: Plan) -> Tints:
    """An op's own role; a group has that of its column, in the forward column that of most of its ops."""

    def of(box: Box) -> Tint:
        op_fill, group_fill, line = paint(plan, box)
        return Tint(op_fill if box.op >= 0 or box.open else group_fill, line)

    return Tints(of)


def paint(plan: Plan, box: Box) -> tuple[str, str, str]:
    """The row of `PAINT` for a box."""
    if box.op >= 0:
        return PAINT.get(plan.ops[box.op].role, PAINT["forward"])
    if box.column == 0:
        return PAINT.get(plan.groups[box.group].role, PAINT["forward"])
    return PAINT["update" if box.column == len(plan.columns) - 1 else "backward"]


def by_number(graph: "networkx.MultiDiGraph", plan: Plan, placed: Placed, measure: str) -> Tints:
    """A number of each op, for a group the sum over its ops, on the scale of what the picture shows.

    Raises:
      ValueError: no node has such a number.
    """
    values = measures(graph, plan).get(measure)
    if values is None:
        known = ", ".join(["role", *measures(graph, plan)])
        raise ValueError(f"color is {measure!r}; this picture can be coloured by {known}")
    sums = _sums(plan, values)

    def value(box: Box) -> float:
        return float(values[box.op] or 0) if box.op >= 0 else sums[box.group][box.column]

    shown = [v for v in (value(box) for box in placed.boxes if not box.open) if v > 0]
    low, high = (min(shown), max(shown)) if shown else (0.0, 0.0)
    is_log = bool(shown) and high / low > WIDE_RANGE

    def of(box: Box) -> Tint:
        v = value(box)
        if box.open or v <= 0:
            return Tint("#f5f5f5", "#777777")
        fill = ramp(math.log(v / low) / math.log(high / low) if is_log else v / high)
        return Tint(fill, mix(fill, "#777777", 0.6), readable_on(fill))

    return Tints(of, measure, low if is_log else 0.0, high)


def measures(graph: "networkx.MultiDiGraph", plan: Plan) -> dict[str, list]:
    """Every numeric node attribute, such as costs and measured times: key to a value or None for each op."""
    keys: dict[str, None] = {}
    for op in plan.ops:
        for key, value in graph.nodes[op.name].items():
            if isinstance(value, numbers.Real) and not isinstance(value, bool) and key not in _NO_MEASURES:
                keys[key] = None
    return {key: [_number(graph.nodes[op.name].get(key)) for op in plan.ops] for key in keys}


def _number(value: Any) -> float | int | None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _sums(plan: Plan, values: list) -> list[list[float]]:
    sums = [[0.0] * len(plan.columns) for _ in plan.groups]
    for op, value in zip(plan.ops, values, strict=True):
        sums[op.group][op.column] += value or 0
    for at in range(len(plan.groups) - 1, 0, -1):  # children come after their parents
        around = sums[plan.groups[at].parent]
        for k, value in enumerate(sums[at]):
            around[k] += value
    return sums


def ramp(share: float) -> str:
    """The colour at a share (0 to 1) of the ramp."""
    at = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    low = min(int(at), len(RAMP) - 2)
    return mix(RAMP[low + 1], RAMP[low], at - low)


def mix(one: str, two: str, share: float) -> str:
    """`share` of the first colour in the second."""
    pairs = zip(_channels(one), _channels(two), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def readable_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = _channels(colour)
    return "#111111" if red * 0.299 + green * 0.587 + blue * 0.114 > 140 else "#ffffff"


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
