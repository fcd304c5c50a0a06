"""Which op of one graph is which op of another: by name, then by scopes that have another name."""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

# A suffix that this many pairs of ops share tells little about which of them belong together.
_AMBIGUOUS = 64
_DEPTH = 32
# Two graphs that have nothing in common must not take for ever.
_ROUNDS = 8
_RENAMES = 256

Rename = tuple[str, str]


def match(
    a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", known: dict[str, str]
) -> tuple[dict[str, str], Counter[Rename]]:
    """Pair the ops of two graphs; ops of different types never match.

    Args:
      a, b: graphs from `build`.
      known: pairs that are known.

    Returns:
      Name in a to name in b, each used once; and for each pair of scopes (in a, in b), of which one was renamed to the
      other, how many ops that has matched. `""` is the outermost scope, as for a graph that was imported under a name.
    """
    taken = set(known.values())
    pairs = dict(known)
    for name in a:
        if name in b and name not in known and name not in taken and _same_type(a, b, name, name):
            pairs[name] = name
    renames: Counter[Rename] = Counter()
    left = {name for name in a if name not in pairs}
    right = set(b) - set(pairs.values())
    for _ in range(_ROUNDS):
        votes = _votes(a, b, left, right)
        matched = 0
        for rename in _best(votes, _places(a), _places(b)):
            found = _under(a, b, rename, left, right)
            for old, new in found:
                pairs[old] = new
                left.discard(old)
                right.discard(new)
            if found:
                renames[rename] += len(found)
                matched += len(found)
        if not matched:
            break
    return pairs, renames


def _places(graph: "networkx.MultiDiGraph") -> dict[str, int]:
    """Where each scope begins."""
    places: dict[str, int] = {}
    for i, name in enumerate(graph):
        for scope, _ in _splits(name):
            places.setdefault(scope, i)
    return places


def _best(votes: Counter[Rename], first: dict[str, int], second: dict[str, int]) -> list[Rename]:
    """Most votes first; between equals the one that keeps the depth and the order of the scopes."""

    def rank(rename: Rename) -> tuple:
        old, new = rename
        return -votes[rename], abs(old.count("/") - new.count("/")), first[old], second[new]

    return sorted(votes, key=rank)[:_RENAMES]


def _same_type(a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", old: str, new: str) -> bool:
    return a.nodes[old]["type"] == b.nodes[new]["type"]


def _splits(name: str) -> list[tuple[str, str]]:
    """(scope, rest) of a name at every slash, the longest rest first."""
    parts = name.split("/")
    return [("/".join(parts[:i]), "/".join(parts[i:])) for i in range(min(len(parts), _DEPTH))]


def _votes(a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", left: set[str], right: set[str]) -> Counter[Rename]:
    """How many ops speak for each renaming: each for the longest rest of its name that the other graph has too."""
    ends: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(right):
        for scope, rest in _splits(name):
            ends[b.nodes[name]["type"], rest].append(scope)
    count = Counter((a.nodes[name]["type"], rest) for name in left for _, rest in _splits(name))
    votes: Counter[Rename] = Counter()
    for name in left:
        for scope, rest in _splits(name):
            key = (a.nodes[name]["type"], rest)
            if key in ends:
                if len(ends[key]) * count[key] <= _AMBIGUOUS:
                    votes.update((scope, other) for other in ends[key])
                break
    return votes


def _under(
    a: "networkx.MultiDiGraph", b: "networkx.MultiDiGraph", rename: Rename, left: set[str], right: set[str]
) -> list[tuple[str, str]]:
    """The ops that this renaming matches and that are still free."""
    old, new = (scope + "/" if scope else "" for scope in rename)
    found = []
    for name in left:
        if name.startswith(old):
            other = new + name[len(old) :]
            if other in right and _same_type(a, b, name, other):
                found.append((name, other))
    return found
