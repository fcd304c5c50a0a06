"""The ops and edges of a GraphDef as flat arrays, and the checks that make it a graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._op_types import MERGES, NEXT_ITERATIONS, PLACEHOLDERS, REFERENCE_VARIABLES, VARIABLES, writes_variable
from ..errors import LoadError

# The only edge that may close a cycle in a TensorFlow graph: the back edge of a loop of V1 control flow.


# What saves and restores, and on what way the names of its files come there.
_FILES = frozenset({
    "MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2", "ShardedFilename",
    "ShardedFilespec",
})  # fmt: skip
_NAMES = PLACEHOLDERS | {"Identity", "Pack", "StringJoin"}

_NOT_A_RESULT = VARIABLES | {
    "Assert", "Const", "IsVariableInitialized", "MergeV2Checkpoints", "NoOp", "ReadVariableOp", "RestoreV2", "SaveV2",
    "ShardedFilename", "VarIsInitializedOp",
}  # fmt: skip


@dataclass(frozen=True)
class Wiring:
    """Ops by position and their edges as four parallel int arrays.

    `output` is the index of the source's output, `slot` that among the target's inputs; both are -1 for a control edge.
    Edges are sorted by target, as they were written.
    """

    names: list[str]
    types: list[str]
    source: np.ndarray
    target: np.ndarray
    output: np.ndarray
    slot: np.ndarray


def split_input(text: str) -> tuple[str, int]:
    """The op and output index of a NodeDef input: `"a:1"` is ("a", 1), `"^a"` is ("a", -1)."""
    if text.startswith("^"):
        return text[1:], -1
    name, colon, index = text.rpartition(":")
    if colon and index.isascii() and index.isdigit() and len(index) < 8:
        return name, int(index)
    return text, 0


def wiring(nodes: Iterable[Any], label: str) -> Wiring:
    """The wiring of NodeDefs; raises where they are not a graph.

    Args:
      nodes: NodeDefs.
      label: what the nodes came from, for messages.

    Returns:
      A `Wiring` with one entry per node, in the order given.

    Raises:
      LoadError: a node without name or op type, two nodes of one name, an input that no node makes, a cycle.
    """
    nodes = list(nodes)
    names = [node.name for node in nodes]
    types = [node.op for node in nodes]
    index = _index(names, types, label)
    source: list[int] = []
    target: list[int] = []
    output: list[int] = []
    slot: list[int] = []
    missing = []
    for i, node in enumerate(nodes):
        taken = 0
        for text in node.input:
            at = index.get(text)  # by far the most inputs are a bare name
            port = 0
            if at is None:
                name, port = split_input(text)
                at = index.get(name)
                if at is None:
                    missing.append((names[i], text))
                    continue
            source.append(at)
            target.append(i)
            output.append(port)
            slot.append(-1 if port < 0 else taken)
            taken += port >= 0
    if missing:
        raise LoadError(_missing_inputs(missing, label))
    edges = (np.asarray(column, dtype=np.int32) for column in (source, target, output, slot))
    result = Wiring(names, types, *edges)
    _check_acyclic(result, label)
    return result


def ends(types: Sequence[str], source: np.ndarray, target: np.ndarray) -> tuple[list[int], list[int]]:
    """Inputs and outputs of a graph that declares neither: placeholders, and data that nobody consumes.

    Args:
      types: op types by position.
      source: sources of the data edges, control edges left out.
      target: targets of the same edges.

    Returns:
      Positions of the placeholders, but for those that name the files of a Saver; positions of the ops that consume
      data, are consumed by none, and are not part of saving, restoring or initialising.
    """
    consumed = np.zeros(len(types), bool)
    consumed[source] = True
    consumes = np.zeros(len(types), bool)
    consumes[target] = True
    names = _names_of_files(types, source, target)
    inputs = [i for i, kind in enumerate(types) if kind in PLACEHOLDERS and i not in names]
    edges = zip(source.tolist(), target.tolist(), strict=True)
    reads = {b for a, b in edges if types[a] in REFERENCE_VARIABLES and types[b] == "Identity"} | names
    ends_here = np.flatnonzero(consumes & ~consumed).tolist()
    return inputs, [i for i in ends_here if i not in reads and not _is_plumbing(types[i])]


def _names_of_files(types: Sequence[str], source: np.ndarray, target: np.ndarray) -> set[int]:
    """The placeholders whose values go to ops that save and restore and nowhere else, and what hands them on."""
    if not any(kind in _FILES for kind in types):
        return set()
    readers: dict[int, set[int]] = {}
    for a, b in zip(source.tolist(), target.tolist(), strict=True):
        if types[a] in _NAMES:
            readers.setdefault(a, set()).add(b)
    found: set[int] = set()
    for start in (i for i, kind in enumerate(types) if kind in PLACEHOLDERS):
        names, todo, ends = {start}, [start], set()
        while todo:
            read_by = readers.get(todo.pop(), set())
            ends |= {types[i] for i in read_by} - _NAMES
            fresh = {i for i in read_by if types[i] in _NAMES} - names
            names |= fresh
            todo.extend(fresh)
        if ends and ends <= _FILES:
            found |= names
    return found


def _is_plumbing(kind: str) -> bool:
    return kind in _NOT_A_RESULT or writes_variable(kind)


def _index(names: list[str], types: list[str], label: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for i, (name, kind) in enumerate(zip(names, types, strict=True)):
        if not name or not kind:
            raise LoadError(
                f"{label}: node {i} has no {'op type' if name else 'name'}; the file is damaged or not a graph"
            )
        if index.setdefault(name, i) != i:
            raise LoadError(
                f"{label}: two nodes are named {name!r} ({types[index[name]]} at {index[name]}, {kind} at {i}); "
                "names must be unique in a graph"
            )
    return index


def _missing_inputs(missing: list[tuple[str, str]], label: str) -> str:
    target, text = missing[0]
    more = f" (and {len(missing) - 1} more such inputs)" if len(missing) > 1 else ""
    return (
        f"{label}: node {target!r} reads {text!r}, which no node makes{more}; "
        "the file is cut short, or the graph was pruned by hand"
    )


def _check_acyclic(graph: Wiring, label: str) -> None:
    """Raise where a cycle does not pass the back edge of a V1 loop; names the ops of one cycle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    back = np.fromiter((kind in NEXT_ITERATIONS for kind in graph.types), bool, len(graph.types))
    merge = np.fromiter((kind in MERGES for kind in graph.types), bool, len(graph.types))
    keep = ~(back[graph.source] & merge[graph.target])
    source, target = graph.source[keep], graph.target[keep]
    loops = source[source == target]
    if len(loops):
        raise LoadError(f"{label}: node {graph.names[loops[0]]!r} reads its own output; a graph cannot")
    n = len(graph.names)
    matrix = coo_array((np.ones(len(source), np.int8), (source, target)), shape=(n, n)).tocsr()
    count, component = connected_components(matrix, directed=True, connection="strong")
    if count < n:
        knot = int(np.argmax(np.bincount(component) > 1))
        members = [graph.names[i] for i in np.flatnonzero(component == knot)]
        shown = ", ".join(repr(name) for name in members[:4]) + (", ..." if len(members) > 4 else "")
        raise LoadError(f"{label}: {len(members)} nodes form a cycle that is no V1 loop: {shown}")
