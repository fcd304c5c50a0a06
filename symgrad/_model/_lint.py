"""`lint`: what is probably not meant in a graph and its gradients."""

import enum
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._collector import collector_paused
from .._finding import Finding
from .._op_types import CALLS, ENTERS
from .._reach import reach
from ._attributes import all_nodes
from ._functions import functions
from ._overrides import noted_overrides
from ._query import takers
from ._summary import trained_variables
from ._value_numbers import value_numbers, without_counters

if TYPE_CHECKING:
    import networkx

# So many copies of the same are no accident; a handful of equal ops is usual.
_COPIES = 5
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex64", "complex128"})


class Lint(enum.Enum):
    """What a lint found."""

    OVERRIDE_UNMATCHED = "a key of gradient_override_map that matches no op"
    OVERRIDE = "the gradient is overridden"
    NO_GRADIENT = "trainable, and receives no gradient"
    UNUSED_GRADIENT = "gradients that nothing consumes"
    DUPLICATE_GRADIENTS = "the same gradients, built more than once"
    GROWING = "a graph that is built anew with each call"
    UNREAD_FUNCTION = "a function that cannot be read"


def lint(graph: "networkx.MultiDiGraph") -> list[Finding]:
    """Look for what is probably not meant.

    Args:
      graph: a graph from `build`.

    Returns:
      A list of `symgrad.diagnose.Finding`, empty where nothing is found. `cause` is one of `symgrad.graph.Lint`, `ops`
      are the names it is about, `str()` is the sentence that says what is there and what to do, and `within` names the
      ops and attributes that lead to the function they are in, as in `walk`, empty for the graph itself. The causes:

      * `OVERRIDE_UNMATCHED`: a key of a `gradient_override_map` that matches no op. TensorFlow says nothing about a
        key of the wrong case, and uses the usual gradient. Only known of live graphs, of maps that are in force now or
        were while `watch_overrides` looked on.
      * `OVERRIDE`: ops whose gradient is overridden, and whether their gradient function is registered here.
      * `NO_GRADIENT`: trainable variables that the result depends on and that receive no gradient, though others do.
        The collection of trainable variables decides where a live graph has one.
      * `UNUSED_GRADIENT`: gradients that were computed and that nothing consumes.
      * `DUPLICATE_GRADIENTS`: the same gradients of the same ys and xs, built twice.
      * `GROWING`: the same computation five times or more, numbered in series: a graph that is built anew with each
        call, as by ops that are made within a training loop.
      * `UNREAD_FUNCTION`: an op calls a function that cannot be read, and that nothing is said about.

    Each function is looked at once, however many ops call it; variables, which belong to the graph, are not.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     y = tf.sin(x)
      ...     _ = tf.gradients(y, x), tf.gradients(y, x)
      >>> [finding.cause.name for finding in symgrad.graph.lint(symgrad.graph.build(g))]
      ['DUPLICATE_GRADIENTS']
    """
    with collector_paused():
        return [*(finding for rule in _RULES for finding in rule(graph)), *_in_functions(graph)]


def _finding(cause: Lint, detail: str, ops: Sequence[str], advice: str = "") -> Finding:
    return Finding(ops[0], cause, detail=detail, ops=tuple(ops), advice=advice)


def _in_functions(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    for way, body in functions(graph):
        if isinstance(body, Exception):
            yield replace(_finding(Lint.UNREAD_FUNCTION, str(body), [way[-1]]), within=way[:-1])
            continue
        for rule in _RULES_OF_FUNCTIONS:
            for found in rule(body):
                yield replace(found, within=way)


def _overrides(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    """Both findings about gradient_override_map: ops that it has marked, and keys that have marked none."""
    from .._tf import gradient_registry

    marked: dict[tuple[str, str], list[str]] = defaultdict(list)
    try:
        nodes = all_nodes(graph)
    except LookupError:
        return
    for node in nodes:
        if "_gradient_op_type" in node.attr and node.name in graph:
            name = node.attr["_gradient_op_type"].s.decode("utf-8", "replace")
            # TensorFlow marks function calls too; their gradients are its own.
            if node.op not in CALLS and not name.startswith("CustomGradient-"):
                marked[node.op, name].append(node.name)
    for key, replacement in noted_overrides(graph.graph.get("source")):
        if (key, replacement) not in marked:
            yield _unmatched(graph, key, replacement)
    for (kind, replacement), ops in sorted(marked.items()):
        try:
            gradient_registry.lookup(replacement)
            registered = ""
        except LookupError:
            registered = ", which is not registered in this process: register it before the gradients are built"
        yield _finding(Lint.OVERRIDE, f"that of {len(ops)} {kind} ops is {replacement!r}{registered}", ops)


def _unmatched(graph: "networkx.MultiDiGraph", key: str, replacement: str) -> Finding:
    import difflib

    types = sorted({node["type"] for _, node in graph.nodes(data=True)})
    alike = [kind for kind in types if kind.lower() == key.lower()] or difflib.get_close_matches(key, types, 1)
    hint = f"; did you mean {alike[0]!r}?" if alike and alike[0] != key else ""
    if not hint and any(_has_type(body, key) for _, body in functions(graph)):
        hint = f"; {key} ops in functions do not see the maps of the graph around: enter it within the function"
    if not hint:
        hint = "; ops get the override when they are made, so the map must be in force then"
    return Finding(key, Lint.OVERRIDE_UNMATCHED, detail=f"{replacement!r} is no op's gradient{hint}")


def _has_type(graph: Any, kind: str) -> bool:
    return not isinstance(graph, Exception) and any(node["type"] == kind for _, node in graph.nodes(data=True))


def _no_gradient(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    roles = {name: node["role"] for name, node in graph.nodes(data=True)}
    if "backward" not in roles.values():
        return
    trained = trained_variables(graph)
    differentiated = {pair for _, pair in graph.nodes(data="pair") if pair is not None}
    trainable = _trainable(graph)
    without = []
    for name in (n for n, role in roles.items() if role == "variable"):
        if trainable is not None and name not in trainable:
            continue
        readers = _readers(graph, name)
        if not any(roles[reader] == "forward" for reader in readers):
            continue  # a slot, a counter, or nothing reads it
        if trainable is None and (not _is_float(graph, name, readers) or _is_written(graph, name, trained)):
            continue
        if not (name in trained if trained else readers & differentiated):
            without.append(name)
    if without:
        yield _finding(
            Lint.NO_GRADIENT,
            f"{len(without)} trainable variables",
            without,
            "symgrad.diagnose.why_none names the op that cuts the path; trainable=False says that it is meant",
        )


def _trainable(graph: "networkx.MultiDiGraph") -> set[str] | None:
    """Ops of the variables in the collection of a live graph, None where there is no such."""
    import tensorflow.compat.v1 as tf

    source = graph.graph.get("source")
    if not isinstance(source, tf.Graph):
        return None
    variables = source.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)
    return {v.op.name for v in variables if hasattr(v, "op")} or None


def _readers(graph: "networkx.MultiDiGraph", name: str) -> set[str]:
    """What takes the value of a variable, behind the ops that read it or take it into a loop."""

    def onward(at: str) -> list[str]:
        return takers(graph, at) if graph.nodes[at]["type"] in _PASSING else []

    found = reach(takers(graph, name), onward)
    return {target for target in found if graph.nodes[target]["type"] not in _PASSING | _ASKING}


def _is_float(graph: "networkx.MultiDiGraph", name: str, readers: set[str]) -> bool:
    """Whether a variable holds floating numbers, which of a handle its reads tell."""
    dtypes = {edge["dtype"] for _, _, edge in graph.out_edges(name, data=True) if edge["kind"] == "data"}
    if "resource" in dtypes:
        dtypes = {spec[0] for target in graph.succ[name] for spec in graph.nodes[target]["outputs"]}
    return bool(readers) and bool(dtypes & _FLOATS)


def _is_written(graph: "networkx.MultiDiGraph", name: str, trained: set[str]) -> bool:
    """Whether something else than an initial value is written to a variable: moving averages are not trained."""
    if name in trained:
        return False
    writers = [target for target in graph.succ[name] if graph.nodes[target]["role"] == "update"]
    return any(not graph.nodes[writer]["type"].startswith(("Assign",)) for writer in writers) or len(writers) > 1


def _unused(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    """Dead ops into which a gradient flows; the zeros and shapes that TensorFlow leaves behind cost nothing."""
    dead = []
    for name, node in graph.nodes(data=True):
        if node["dead"] and any(dtype in _FLOATS for dtype, _ in node["outputs"]):
            sources = (a for a, _, edge in graph.in_edges(name, data=True) if edge["kind"] == "data")
            if any(graph.nodes[source]["role"] == "backward" for source in sources):
                dead.append(name)
    if dead:
        of = sorted({graph.nodes[name]["pair"] for name in dead} - {None})
        yield _finding(
            Lint.UNUSED_GRADIENT,
            f"{len(dead)} of {', '.join(of[:4])}{', ...' if len(of) > 4 else ''}",
            dead,
            "Leave their xs out, or put tf.stop_gradient in front of what needs none",
        )


def _duplicates(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    backward = [name for name, node in graph.nodes(data=True) if node["role"] == "backward"]
    if not backward:
        return
    numbers = value_numbers(graph, exact=True)
    calls: dict[str, set[int]] = defaultdict(set)
    members: dict[str, list[str]] = defaultdict(list)
    for name in backward:
        call = _call(graph, name)
        if call is not None:
            calls[call].add(numbers[name])
            members[call].append(name)
    same: dict[frozenset[int], list[str]] = defaultdict(list)
    for call, made in calls.items():
        same[frozenset(made)].append(call)
    for shared, names in same.items():
        if len(names) > 1:
            shown = ", ".join(repr(name) for name in names[:4]) + (", ..." if len(names) > 4 else "")
            yield _finding(
                Lint.DUPLICATE_GRADIENTS,
                f"{shown} hold the same {len(shared)} gradient ops",
                [name for call in names[1:] for name in members[call]],
                "Build them once and use them as often as you like",
            )


def _call(graph: "networkx.MultiDiGraph", name: str) -> str | None:
    """The scope of the call of tf.gradients that made a backward op."""
    pair = graph.nodes[name]["pair"]
    if pair is not None:
        head, found, _ = name.partition(f"/{pair}_grad")
        if found:
            return head
    head, found, _ = name.partition("/grad_ys_")
    return head if found else None


def _growing(graph: "networkx.MultiDiGraph") -> Iterator[Finding]:
    numbers = value_numbers(graph, exact=False)
    data = _fed(graph)
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, node in graph.nodes(data=True):
        if name in data and node["role"] != "variable":
            groups[numbers[name], without_counters(name)].append(name)
    series = {key: names for key, names in groups.items() if len(names) >= _COPIES}
    inside = {name for names in series.values() for name in names}
    for (_, base), names in sorted(series.items(), key=lambda row: row[1]):
        if any(target in inside for name in names for target in graph.succ[name]):
            continue  # what comes of it is in a series too, and says the same
        yield _finding(
            Lint.GROWING,
            f"{len(names)} copies of {base!r}, the same op on the same inputs",
            names,
            "A graph that grows becomes slow: build it once, before the loop, and tf.Graph.finalize it",
        )


def _fed(graph: "networkx.MultiDiGraph") -> set[str]:
    """What depends on a variable or an input; arithmetic on constants alone belongs to initialisers and shapes."""
    given = [name for name, node in graph.nodes(data=True) if node["role"] != "constant" and not graph.pred[name]]
    return {name for name in reach(given, graph.succ.__getitem__) if graph.pred[name]}


_PASSING = ENTERS | {"Identity", "ReadVariableOp", "RefIdentity"}
_ASKING = frozenset({"IsVariableInitialized", "VarIsInitializedOp", "VariableShape"})
_RULES = (_overrides, _no_gradient, _unused, _duplicates, _growing)
_RULES_OF_FUNCTIONS = (_overrides, _unused, _duplicates, _growing)
