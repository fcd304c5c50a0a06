"""What to say of an x from which no path leads to ys at all."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

import tensorflow.compat.v1 as tf

from .. import _tensors, _walk, _where
from .._finding import Finding
from .._op_types import ARRAY_WRITES, LIST_WRITES, PLACEHOLDERS, VARIABLES, fills_container, writes_variable
from ..rules import Cut
from ._flow import Flow
from ._subject import Subject

_SHOWN = 4


def absent(flow: Flow, ys: Sequence[Subject], x: Subject) -> Finding:
    """Why no path leads from x to ys: the likeliest mistake, and what ys do depend on."""
    if x.is_eager or (x.tensor.graph is not ys[0].tensor.graph and not _is_around(x.tensor.graph, ys)):
        return _elsewhere(ys, x)
    causes = chain(_dropped(flow, x), _written(flow, x), _reversed(ys, x), _bypassed(flow, x))
    for cause, op, detail, advice in causes:
        return Finding(x.name, cause, op.name, op.type, where=_where.made_at(op), detail=detail, advice=advice)
    return Finding(x.name, Cut.NO_PATH, detail=_dependence(flow), advice=_replaced(flow, x))


def _is_around(graph: tf.Graph, ys: Sequence[Subject]) -> bool:
    """True if some y lies in `graph` or in a function body inside of it."""
    return any(graph in _graphs_around(y.tensor.graph) for y in ys)


def _graphs_around(graph: tf.Graph) -> list[tf.Graph]:
    found = []
    while graph is not None:
        found.append(graph)
        graph = getattr(graph, "outer_graph", None)
    return found


def _elsewhere(ys: Sequence[Subject], x: Subject) -> Finding:
    if x.is_eager:
        return Finding(
            x.name, Cut.OTHER_GRAPH, detail="it is eager and belongs to no graph", advice="Create it in the graph of ys"
        )
    graph = ys[0].tensor.graph
    op = x.tensor.op
    made = _where.made_at(op)
    if graph in _graphs_around(x.tensor.graph):
        return Finding(
            x.name, Cut.ENCLOSED, op.name, op.type, where=made, detail=f"the body is {x.tensor.graph.name!r}",
            advice="Return it from the body, or differentiate with respect to what the body reads",
        )  # fmt: skip
    twin = any(op.name == other.name for other in graph.get_operations())
    advice = f"ys' graph has an op of that name: graph.get_tensor_by_name({x.tensor.name!r})" if twin else ""
    return Finding(x.name, Cut.OTHER_GRAPH, op.name, op.type, where=made, advice=advice)


def _dropped(flow: Flow, x: Subject) -> Iterator[tuple[Cut, tf.Operation, str, str]]:
    """The write to a TensorArray that ys read, of which nobody uses the result: a TensorArray after it."""
    for op in _readers(x.tensor):
        if op.type in ARRAY_WRITES | LIST_WRITES and flow.holds(op.inputs[0].op) and not op.outputs[0].consumers():
            detail = "what it writes into a TensorArray gets lost, as its result is not used"
            yield Cut.NO_PATH, op, detail, "Go on with what write returns: array = array.write(i, value)"


def _written(flow: Flow, x: Subject) -> Iterator[tuple[Cut, tf.Operation, str, str]]:
    """The op that writes x, or what is computed from it, into a variable, queue, table or iterator that ys read."""
    for op in _readers(x.tensor):
        state = _written_by(op)
        if state is not None and flow.holds(state):
            name = state.name
            instead = f"Differentiate with respect to {name!r}, or let" if state.type in VARIABLES else "Let"
            yield Cut.ASSIGNED, op, f"it goes into {name!r}, and ys read that", f"{instead} ys read the value itself"


def _written_by(op: tf.Operation) -> tf.Operation | None:
    """The op that makes what `op` writes into, None if it writes into nothing."""
    if op.type == "MakeIterator":
        return op.inputs[1].op
    return op.inputs[0].op if writes_variable(op.type) or fills_container(op.type) else None


def _readers(tensor: tf.Tensor) -> Iterator[tf.Operation]:
    """The ops of the graph that are computed from `tensor`, nearest first."""
    seen: set[tf.Operation] = set()
    todo = deque([tensor])
    while todo:
        for op in todo.popleft().consumers():
            if op not in seen:
                seen.add(op)
                yield op
                todo.extend(op.outputs)


def _reversed(ys: Sequence[Subject], x: Subject) -> Iterator[tuple[Cut, tf.Operation, str, str]]:
    wanted = {id(y.tensor) for y in ys}
    for op in _walk.ancestors([x.tensor], every=True):
        for t in op.inputs:
            if id(t) in wanted:
                yield Cut.REVERSED, t.op, "", "Are ys and xs the other way round?"


def _bypassed(flow: Flow, x: Subject) -> Iterator[tuple[Cut, tf.Operation, str, str]]:
    """The tensor nearest to x from which both x and ys are computed."""
    seen = {x.tensor.op}
    todo = deque([x.tensor.op])
    while todo:
        op = todo.popleft()
        if _is_a_point(op) and flow.holds(op):
            yield (
                Cut.BYPASSED,
                op,
                f"it is {op.name!r}",
                f"Differentiate with respect to {op.name!r}, or compute ys from x",
            )
        for source in (t.op for t in op.inputs):
            if source not in seen:
                seen.add(source)
                todo.append(source)


def _is_a_point(op: tf.Operation) -> bool:
    """True if somebody may differentiate with respect to `op`: no constant, no decision of a loop or branch."""
    return op.type != "Const" and any(map(_tensors.is_differentiable, op.outputs))


def _dependence(flow: Flow) -> str:
    """What ys do depend on."""
    leaves = [op for op in flow.leaves() if op.outputs and _tensors.is_differentiable(op.outputs[0])]
    kinds = {
        "variables": [op.name for op in leaves if op.type in VARIABLES],
        "placeholders": [op.name for op in leaves if op.type in PLACEHOLDERS],
        "constants": [op.name for op in leaves if op.type == "Const"],
    }
    named = [f"{kind} {_listed(names)}" for kind, names in kinds.items() if names]
    return f"ys depend on {', '.join(named)}" if named else "ys depend on no floating variable, placeholder or constant"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def _replaced(flow: Flow, x: Subject) -> str:
    """A hint if a constant among the sources of ys may be the value of x."""
    for op in flow.leaves():
        if op.type == "Const" and op.outputs[0].dtype == x.dtype and x.shape.rank and op.outputs[0].shape == x.shape:
            return f"The constant {op.name!r} has the shape of x: is it a copy of its value?"
    return ""
