"""Calls from inside of a V1 loop or branch: what lies around the call, what lies beside it, and where to build.

Ops made there belong to the context around the call, which brings in what they read from outside. An Enter or Switch
that leads into it brings a tangent nowhere: the tangent is there already. A loop or branch beside the call cannot take
up what is made in it; its derivatives are built outside, with all that they are made of.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .._op_types import ENTERS, EXITS, MERGES, SWITCHES
from ..errors import ControlFlowError
from . import _places
from ._in_context import frame_of, inside


def encloses(context: Any, other: Any) -> bool:
    """True if the context `other` lies in `context`, or is it (None: the outside of all loops and branches)."""
    frame = frame_of(context)
    return frame is None or frame in _chain(other)


def _current(op: tf.Operation) -> Any:
    return op.graph._get_control_flow_context()


def home_of(op: tf.Operation) -> Any:
    """The context for what stands beside `op`: its own, or that around the call if this lies further inside."""
    context = op._get_control_flow_context()
    return _current(op) if encloses(context, _current(op)) else context


def comes_from_outside(tensor: tf.Tensor, context: Any) -> bool:
    """True, in a call from inside of a loop or branch, for a tensor that `context` there has to bring in."""
    called_inside = frame_of(tensor.graph._get_control_flow_context()) is not None
    return called_inside and context is not None and _context_of(tensor) in (None, *_chain(context.outer_context))


def leads_to_the_call(op: tf.Operation) -> bool:
    """True for an Enter or Switch through which what lies outside comes to the context around the call."""
    if op.type in ENTERS or (op.type in SWITCHES and not _places.is_loop_switch(op)):
        context = op._get_control_flow_context()
        entered = op.type in ENTERS or _places.leads_into(op, context)
        return context is not None and entered and encloses(context, _current(op))
    return False


@contextlib.contextmanager
def place_for(graph: tf.Graph, ops: Iterable[tf.Operation], given: Iterable[tf.Tensor]) -> Iterator[None]:
    """The place to build derivatives through `ops` from the tensors `given`: that of the call, or further outside.

    Raises:
      ControlFlowError: a loop or branch on the way has no room for what is given; or the way is that of a loop variable
        from iteration to iteration of the loop whose body is being built.
    """
    ops, given = list(ops), list(given)
    elsewhere = (op for op in ops if op.graph is not graph)
    far = next((op for op in elsewhere if not encloses(op._get_control_flow_context(), _current(op))), None)
    if far is not None:  # a loop or branch outside of the function body that the call stands in
        for tensor in given:
            if not _sees(far.graph, tensor.graph):
                _refuse_beside(far, tensor, graph)
        with far.graph.as_default(), place_for(far.graph, ops, given):
            yield
        return
    current = frame_of(graph._get_control_flow_context())
    if current is None:
        yield
        return
    _refuse_iterations(ops, graph)
    home = current
    beside = [op for op in ops if not _reachable(op, home)]
    while home is not None and any(not _reachable(op, home) for op in ops):
        home = frame_of(home.outer_context)
    if home is current:
        yield
        return
    for tensor in given:
        if _context_of(tensor) not in (None, *_chain(home)):
            _refuse_beside(beside[0], tensor, current)
    with inside(graph, home):
        yield


def _refuse_beside(op: tf.Operation, given: tf.Tensor, current: Any) -> None:
    there = frame_of(op._get_control_flow_context())
    kind = "loop" if there.IsWhileContext() else "branch"
    raise ControlFlowError(
        f"the V1 {kind} {there.name!r} (at {op.name!r}, {op.type}) lies outside of {current.name!r}, where the call is "
        f"given {given.name!r}, and what is made inside cannot be led through it. Build ys in the body as "
        "well, or take the derivative as a matrix outside (symgrad.jacobian, symgrad.hessian) and multiply by it "
        "inside, or build with tf.enable_control_flow_v2() on"
    )


def _sees(graph: Any, outer: tf.Graph) -> bool:
    """True if `outer` is `graph` or one of the graphs around it."""
    while graph is not None and graph is not outer:
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _refuse_iterations(ops: Iterable[tf.Operation], graph: tf.Graph) -> None:
    for op in ops:
        context = op._get_control_flow_context()
        if op.type in MERGES and _is_open_merge(op, context) and context in _chain_of(graph):
            raise ControlFlowError(
                f"the way from xs to ys is that of a loop variable (at {op.name!r}) of the V1 loop {context.name!r}, "
                "whose body is being built, from one iteration to the next. Differentiate in the body with respect to "
                "the loop variable, or after the loop with respect to what is outside"
            )


def _is_open_merge(op: tf.Operation, context: Any) -> bool:
    """True for the Merge of a loop variable, which has no back edge while the body is built."""
    return context is not None and context.IsWhileContext() and any(t.op.type in ENTERS for t in op.inputs)


def _reachable(op: tf.Operation, home: Any) -> bool:
    """True if the context of `op` lies around `home`, or `home` around it."""
    context = frame_of(op._get_control_flow_context())
    return context in (None, *_chain(home)) or home in (None, *_chain(context))


def _context_of(tensor: tf.Tensor) -> Any:
    """The context that the value of a tensor lies in."""
    context = tensor.op._get_control_flow_context()
    return frame_of(context.outer_context if tensor.op.type in EXITS and context is not None else context)


def _chain_of(graph: tf.Graph) -> list[Any]:
    return list(_chain(graph._get_control_flow_context()))


def _chain(context: Any) -> Iterator[Any]:
    while context is not None:
        yield context
        context = context.outer_context
