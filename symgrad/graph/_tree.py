"""The tree of groups: name scopes, series of like-named siblings, and a cell for each op that others live with."""

import re
from collections import defaultdict
from dataclasses import dataclass

# Fewer like-named siblings than this are easier to read one by one.
SHORTEST_SERIES = 5


@dataclass
class Node:
    """A group before it has rows."""

    label: str
    name: str
    kind: str
    parent: int


class Tree:
    """Groups in an order in which parents come first, and the group that each op lives in."""

    def __init__(self, names: list[str], homes: list[str], *, series: bool):
        """Make a cell for every home.

        Args:
          names: names of the ops.
          homes: for each op, the name whose cell it lives in.
          series: fold like-named siblings.
        """
        self.nodes = [Node("", "", "root", -1)]
        scopes, leaves = _scopes(list(dict.fromkeys(homes)))
        self._cells: dict[str, int] = {}
        stack = [("", 0)]
        while stack:
            scope, at = stack.pop()
            listed = [(child, child in scopes, child in leaves) for child in scopes[scope]]
            stack += self._add(scope, at, listed, series=series)
        self.home = [self._cells[home] for home in homes]

    def _add(self, scope: str, at: int, listed: list[tuple[str, bool, bool]], *, series: bool) -> list[tuple[str, int]]:
        """Add the children of one scope; the scopes among them with the groups they became."""
        parents = _series([child for child, _, _ in listed], scope) if series else {}
        made: dict[str, int] = {}
        opened = []
        for child, is_scope, is_leaf in listed:
            parent = at
            template = parents.get(child)
            if template is not None:
                if template not in made:
                    count = sum(1 for other in parents.values() if other == template)
                    made[template] = self._node(f"{template} ×{count}", child, "series", at)
                parent = made[template]
            if is_scope:
                group = self._node(_last(child), child, "scope", parent)
                opened.append((child, group))
                parent = group
            if is_leaf:
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


def _series(children: list[str], scope: str) -> dict[str, str]:
    """Child to the template of its series, for the children that are part of one."""
    templates: dict[str, list[str]] = defaultdict(list)
    for child in children:
        last = child[len(scope) + 1 if scope else 0 :]
        templates[re.sub(r"\d+(?=_|$)", "*", re.sub(r"_\d+$", "", last))].append(child)
    return {
        child: template
        for template, members in templates.items()
        if SHORTEST_SERIES <= len(members) < len(children)
        for child in members
    }
