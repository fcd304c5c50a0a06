"""The tree of groups: name scopes, series of like-named siblings, and a cell for each op that others live with."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

# Fewer like-named siblings than this are easier to read one by one.
SHORTEST_SERIES = 5

# Siblings are split into blocks where there are this many, in blocks of at least so many, by at most so many words.
SMALLEST_SPLIT, SMALLEST_BLOCK, DEEPEST_BLOCK = 12, 3, 6


@dataclass
class Node:
    """A group before it has rows."""

    label: str
    name: str
    kind: str
    parent: int


class Tree:
    """Groups in an order in which parents come first, and the group that each op lives in."""

    def __init__(self, homes: list[str], *, series: bool):
        """Make a cell for every home.

        Args:
          homes: for each op, the name whose cell it lives in.
          series: fold like-named siblings.
        """
        self.nodes = [Node("", "", "root", -1)]
        self._scopes, self._leaves = _scopes(list(dict.fromkeys(homes)))
        self._cells: dict[str, int] = {}
        stack = [("", 0)]
        while stack:
            scope, at = stack.pop()
            children = self._scopes[scope]
            stack += self._add_blocks(children, at, 1) if series else self._add(children, at)
        self.home = [self._cells[home] for home in homes]

    def _add_blocks(self, children: list[str], at: int, level: int) -> list[tuple[str, int]]:
        """Add siblings under a group, those of one block under a group of their own."""
        opened = []
        rest: list[str] = []
        for prefix, members in _blocks(children, level):
            if prefix is None:
                rest += members
            else:
                group = self._node(_last(prefix), prefix, "scope", at)
                opened += self._add_blocks(members, group, _last(prefix).count("_") + 2)
        return opened + self._add_series(rest, at)

    def _add_series(self, children: list[str], at: int) -> list[tuple[str, int]]:
        """Add siblings under a group, like-named ones under a group of their own."""
        opened = []
        for template, members in _series(children).items():
            group = at
            if template is not None:
                group = self._node(f"{template} ×{len(members)}", members[0], "series", at)
            opened += self._add(members, group)
        return opened

    def _add(self, children: list[str], at: int) -> list[tuple[str, int]]:
        """Add siblings as they are; the scopes among them with the groups they became."""
        opened = []
        for child in children:
            parent = at
            if child in self._scopes:
                parent = self._node(_last(child), child, "scope", at)
                opened.append((child, parent))
            if child in self._leaves:
                self._cells[child] = self._node(_last(child), child, "cell", parent)
        return opened

    def _node(self, label: str, name: str, kind: str, parent: int) -> int:
        self.nodes.append(Node(label, name, kind, parent))
        return len(self.nodes) - 1


def _scopes(homes: list[str]) -> tuple[dict[str, list[str]], set[str]]:
    """Children of each scope in order of first appearance, and which of them are ops."""
    children: dict[str, dict[str, None]] = defaultdict(dict, {"": {}})
    for home in homes:
        child = home
        while child:
            scope = child.rpartition("/")[0]
            known = child in children[scope]
            children[scope][child] = None
            if known:
                break
            child = scope
    return {scope: list(inside) for scope, inside in children.items()}, set(homes)


def _last(name: str) -> str:
    return name.rpartition("/")[2] or name


def _template(name: str) -> str:
    """What like-named siblings have in common: the last component without its number, other numbers as stars."""
    return re.sub(r"\d+(?=_|$)", "*", re.sub(r"_\d+$", "", _last(name)))


def _series(children: list[str]) -> dict[str | None, list[str]]:
    """Template to the members of its series; None to those that are in none."""
    found: dict[str, list[str]] = defaultdict(list)
    for child in children:
        found[_template(child)].append(child)
    long = {key for key, members in found.items() if SHORTEST_SERIES <= len(members) < len(children)}
    result: dict[str | None, list[str]] = defaultdict(list)
    for child in children:
        template = _template(child)
        result[template if template in long else None].append(child)
    return result


def _blocks(children: list[str], level: int) -> Iterator[tuple[str | None, list[str]]]:
    """Runs of siblings that belong together: consecutive, different, with the same first words between underscores.

    Flat names often spell out a hierarchy (`conv2_block1_1_relu`). In the order of creation a block's ops stand
    together, whereas a mere series (`conv2d`, `relu`, `conv2d_1`, ...) does not.

    Args:
      children: siblings in the order of their creation.
      level: how many words must be the same.

    Yields:
      The common prefix and its members, or None and siblings that stand alone.
    """
    if len(children) < SMALLEST_SPLIT or level > DEEPEST_BLOCK:
        yield None, children
        return
    runs = [(prefix, list(run)) for prefix, run in groupby(children, lambda child: _words(child, level))]
    if len(runs) == 1:
        yield from _blocks(children, level + 1)
        return
    for prefix, run in runs:
        different = len({re.sub(r"(_\d+)+$", "", _last(child)) for child in run}) > 1
        whole = prefix is not None and len(run) >= SMALLEST_BLOCK and different
        yield (prefix if whole else None), run


def _words(name: str, count: int) -> str | None:
    """A name up to its underscore number `count`, None where it has fewer."""
    words = _last(name).split("_", count)
    return name[: len(name) - len(_last(name))] + "_".join(words[:count]) if len(words) > count else None
