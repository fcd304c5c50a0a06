"""Pairing by name scope where nothing else is left: candidates by name, and a vote by data edges.

`tf.gradients` puts the gradient ops of op `f` into the scope `<call>/<f>_grad`, where `<call>` is the name scope of
that call. After an import under a prefix that is `<prefix>/<call>/<f>_grad` for `<prefix>/<f>`. So the op is found by
deleting one run of components from the scope, and only the edges tell which run: several deletions may name an op.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

# A scope deeper than this is left unpaired: the candidates grow with the square of the depth.
MAX_DEPTH = 64

# What lies in the scope of a call itself and feeds its gradient scopes: seeds and sums. A user's Identity there is no
# sign of a call, one that TensorFlow named as a seed is; that name cannot be chosen by the caller.
_FEEDS = frozenset({"AccumulateNV2", "AddN", "ConcatV2", "Fill", "OnesLike", "ZerosLike"})
_SEED = "grad_ys_"

_GRADIENT_SCOPE = re.compile(r"(.*)_grad(?:_\d+)?$", re.DOTALL)


@dataclass
class Candidate:
    """One reading of a gradient scope: these ops are the gradient of `forward`, made by the call at `call`."""

    start: int
    call: str
    forward: int
    local: int = 0
    flow: int = 0

    @property
    def key(self) -> tuple[int, str]:
        """What all gradient scopes of one call have in common."""
        return self.start, self.call


class Ops(Protocol):
    """What a vote looks at: per op its name, type and the positions of its data inputs."""

    names: list[str]
    types: Sequence[str]
    inputs: list[list[int]]


@dataclass
class Scopes:
    """Every scope that may be a gradient scope: its member ops and its candidates."""

    members: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    of_op: dict[int, list[str]] = field(default_factory=dict)
    candidates: dict[str, list[Candidate]] = field(default_factory=dict)


def stripped(component: str) -> str | None:
    """`x` for the scope component `x_grad` or `x_grad_3`, None for any other."""
    match = _GRADIENT_SCOPE.fullmatch(component) if "_grad" in component else None
    return match[1] if match else None


def collect(names: list[str]) -> Scopes:
    """The scopes of ops named `.../x_grad/...`, deepest last in `of_op`, with their candidates."""
    index = {name: i for i, name in enumerate(names)}
    scopes = Scopes()
    for i, name in enumerate(names):
        if "_grad" not in name:
            continue
        parts = name.split("/")
        if len(parts) > MAX_DEPTH:
            continue
        found = ["/".join(parts[:k]) for k in range(1, len(parts)) if stripped(parts[k - 1]) is not None]
        for scope in found:
            scopes.members[scope].append(i)
        if found:
            scopes.of_op[i] = found
    for scope in scopes.members:
        listed = _candidates(scope, index)
        if listed:
            scopes.candidates[scope] = listed
    return scopes


def _candidates(scope: str, index: dict[str, int]) -> list[Candidate]:
    parts = scope.split("/")
    last = stripped(parts[-1])
    if last is None:
        return []
    named = [*parts[:-1], last]
    listed = []
    beside = index.get("/".join(named))
    if beside is not None:  # tf.gradients(name="") makes no scope for the call
        listed.append(Candidate(-1, "", beside))
    for start in range(len(named)):
        for stop in range(start + 1, len(named)):
            forward = index.get("/".join(named[:start] + named[stop:]))
            if forward is not None:
                listed.append(Candidate(start, "/".join(parts[:stop]), forward))
    return listed


def vote(graph: Ops, scopes: Scopes) -> dict[str, Candidate]:
    """The reading of each gradient scope that the data edges support.

    Args:
      graph: names, types and data inputs.
      scopes: what `collect` found.

    Returns:
      Scope to candidate. A scope without support (a user's own scope that happens to end in `_grad`) is left out:
      a call of tf.gradients shows either by a gradient that flows from the scope of g into that of f where f feeds g,
      or by a seed or sum that lies in the call's own scope and feeds one of its gradient scopes.
    """
    own: dict[str, list[int]] = defaultdict(list)
    for op, found in scopes.of_op.items():  # an op speaks for the innermost of its scopes that can be read at all
        readable = next((scope for scope in reversed(found) if scope in scopes.candidates), None)
        if readable is not None:
            own[readable].append(op)
    for scope, listed in scopes.candidates.items():
        members = own[scope] or scopes.members[scope]
        touched = Counter(source for member in members for source in graph.inputs[member])
        for candidate in listed:
            _count(candidate, scope, touched, (graph, scopes))
    total: Counter[tuple[int, str]] = Counter()
    flows: Counter[tuple[int, str]] = Counter()
    for listed in scopes.candidates.values():
        for candidate in listed:
            total[candidate.key] += candidate.local + candidate.flow
            flows[candidate.key] += candidate.flow

    def rank(candidate: Candidate) -> tuple:
        evidence = candidate.local + candidate.flow
        return flows[candidate.key] > 0, evidence > 0, total[candidate.key], -candidate.start

    best = {scope: max(listed, key=rank) for scope, listed in scopes.candidates.items()}
    return {
        scope: candidate
        for scope, candidate in best.items()
        if flows[candidate.key] > 0 and (candidate.call or candidate.flow)
    }


def _count(candidate: Candidate, scope: str, touched: Counter[int], known: tuple[Ops, Scopes]) -> None:
    """Count the edges that speak for a candidate: to f and to f's inputs, and the gradients that flow in."""
    graph, scopes = known
    candidate.local = touched[candidate.forward]
    candidate.local += sum(source in touched for source in set(graph.inputs[candidate.forward]))
    prefix = f"{candidate.call}/" if candidate.call else ""
    for source in touched:
        name = graph.names[source]
        if not name.startswith(prefix):
            continue
        leaf = name[len(prefix) :] if prefix else name.rpartition("/")[2]
        if "/" not in leaf and source not in scopes.of_op:
            candidate.flow += leaf.startswith(_SEED) or graph.types[source] in _FEEDS
            continue
        for other in scopes.of_op.get(source, ()):
            if other != scope and any(
                rival.key == candidate.key and candidate.forward in graph.inputs[rival.forward]
                for rival in scopes.candidates.get(other, ())
            ):
                candidate.flow += 1
