"""The plan of a picture as compact JSON for the viewer, and JSON as text that no HTML parser can take for markup."""

import json
from typing import TYPE_CHECKING, Any

from . import _coordinates
from ._colours import PAINT, RAMP, WIDE_RANGE, measures
from ._details import attribute_lines, code_lines
from ._layout import Plan
from ._text import WIDE, WIDTHS, plain, shape_text

if TYPE_CHECKING:
    import networkx

_KINDS = ("root", "scope", "series", "cell")
_ASIDES = ("", "constant", "initializer", "dead")


class _Table:
    """Different values in order of first appearance; each is stored once."""

    def __init__(self, *first: Any):
        self.values = list(first)
        self._index = {value: i for i, value in enumerate(self.values)}

    def __call__(self, value: Any) -> int:
        if value not in self._index:
            self._index[value] = len(self.values)
            self.values.append(value)
        return self._index[value]


def pack(graph: "networkx.MultiDiGraph", plan: Plan, opened: set[int], *, details: bool = True) -> dict[str, Any]:
    """What `viewer/model.mjs` unpacks.

    Lists run over groups (`groups.*`), ops (`ops.*`) or edges (`edges.*`); small tables (`types`, `roles`, ...) hold
    what repeats. An op's name is its group's where `ops.last` is 0, else `scopes[ops.scope]/ops.last`. A group's name
    is left out where it is its label behind the name of the scope around it. A cell is the op in its first column
    plus one where that is all, else for each column -1, an op, or rows of ops; 0 for what is no cell. Of an edge the
    target is given, and how far the source lies before it.

    Args:
      graph: the graph that was planned; numbers among its node attributes become colourings.
      plan: from `plan`.
      opened: groups that are open in the first view.
      details: take the ops' attributes and the lines that made them along.
    """
    roles = _Table(*PAINT)
    return {
        "format": 1,
        "columns": plan.columns,
        "colour": "role",
        "opened": sorted(opened),
        "metrics": _metrics(),
        "paint": {role: paint[2] for role, paint in PAINT.items()},
        "ramp": RAMP,
        "wideRange": WIDE_RANGE,
        "asides": list(_ASIDES),
        "groups": _groups(plan, roles),
        **_ops(graph, plan, roles, details=details),
        "roles": roles.values,
        "edges": {
            "target": [b for _, b, _ in plan.edges],
            "back": [b - a for a, b, _ in plan.edges],
            "control": [i for i, edge in enumerate(plan.edges) if edge[2] != "data"],
        },
        "numbers": {plain(key): values for key, values in measures(graph, plan).items()},
    }


def _metrics() -> dict[str, Any]:
    """The sizes that `_place` uses: the viewer has no copy of them."""
    return {
        "font": _coordinates.FONT,
        "height": _coordinates.HEIGHT,
        "header": _coordinates.HEADER,
        "padding": _coordinates.PADDING,
        "gapX": _coordinates.GAP_X,
        "gapY": _coordinates.GAP_Y,
        "columnGap": _coordinates.COLUMN_GAP,
        "widestLabel": _coordinates.WIDEST_LABEL,
        "narrowest": _coordinates.NARROWEST,
        "wide": WIDE,
        "widths": _grouped_widths(),
    }


def _grouped_widths() -> list[tuple[str, int]]:
    by_width: dict[int, str] = {}
    for character, advance in WIDTHS.items():
        by_width[advance] = by_width.get(advance, "") + character
    return [(characters, advance) for advance, characters in by_width.items()]


def _groups(plan: Plan, roles: _Table) -> dict[str, list]:
    scope_names = [""] * len(plan.groups)  # of the nearest group around that is no series
    names: list[Any] = []
    for i, group in enumerate(plan.groups):
        around = scope_names[group.parent] if group.parent >= 0 else ""
        scope_names[i] = around if group.kind == "series" else group.name
        derived = f"{around}/{group.label}" if around else group.label
        names.append(0 if derived == group.name else plain(group.name))
    return {
        "label": [plain(group.label) for group in plan.groups],
        "name": names,
        "kind": [_KINDS.index(group.kind) for group in plan.groups],
        "role": [roles(group.role) for group in plan.groups],
        "parent": [group.parent for group in plan.groups],
        "rows": [group.rows or 0 for group in plan.groups],
        "cells": [_cell(group.cells) if group.kind == "cell" else 0 for group in plan.groups],
    }


def _cell(columns: list[list[list[int]]]) -> Any:
    packed: list[Any] = []
    for rows in columns:
        ops = [op for row in rows for op in row]
        packed.append(-1 if not ops else ops[0] if len(ops) == 1 else rows)
    while packed and packed[-1] == -1:
        packed.pop()
    return packed[0] + 1 if len(packed) == 1 and isinstance(packed[0], int) else packed


def _ops(graph: "networkx.MultiDiGraph", plan: Plan, roles: _Table, *, details: bool) -> dict[str, Any]:
    types, scopes, outputs, devices = _Table(), _Table(""), _Table(), _Table("")
    lines, places = _Table(()), _Table("")
    lines_of, place_of = (attribute_lines(graph), code_lines(graph)) if details else ({}, {})
    position = {op.name: i for i, op in enumerate(plan.ops)}
    listed: dict[str, list] = {key: [] for key in _OP_LISTS}
    for op in plan.ops:
        own = op.name == plan.groups[op.group].name
        scope, _, last = op.name.rpartition("/")
        if not last:
            scope, last = "", op.name
        row = (
            0 if own else scopes(plain(scope)),
            0 if own else plain(last),
            op.group,
            op.column,
            types(plain(op.type)),
            roles(op.role),
            _ASIDES.index(op.aside),
            -1 if op.pair is None else position.get(op.pair, -1),
            outputs(tuple(f"{plain(dtype)} {shape_text(shape)}" for dtype, shape in op.outputs)),
            devices(plain(graph.nodes[op.name].get("device") or "")),
            lines(tuple(map(plain, lines_of.get(op.name, ())))),
            places(plain(place_of.get(op.name, ""))),
        )
        for key, value in zip(_OP_LISTS, row, strict=True):
            listed[key].append(value)
    return {
        "ops": listed,
        "types": types.values,
        "scopes": scopes.values,
        "outputs": outputs.values,
        "devices": devices.values,
        "attributes": lines.values,
        "wheres": places.values,
    }


_OP_LISTS = (
    "scope", "last", "group", "column", "type", "role", "aside", "pair", "outputs", "device", "attributes", "where",
)  # fmt: skip


def as_script_data(data: Any) -> str:
    """JSON in which nothing can end a script element or begin a tag, a comment or an entity."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
