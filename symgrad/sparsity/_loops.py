"""Reaches on their way around loops: step by step while the condition can be followed, else until nothing is new."""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _walk
from .._op_types import ENTERS, EXITS, MERGES
from ._known import Iteration, counts
from ._lists import Items
from ._probe import UnknownShapeError, size_of

# Iterations while the condition is known; then counters are forgotten, so that the union of iterations settles.
FOLLOWED = 1000
GUESSED = 64  # iterations, while it is not


# The `Flow` of the ops around a loop, which uses this module.
Walk = Any


def around(flow: Walk, op: tf.Operation, moving: dict[int, Any], graphs: tuple[Any, Any]) -> list[Any]:
    """Behind a V2 loop: the reach of each output.

    Args:
      flow: of the ops around it.
      op: the loop.
      moving: the reach of each input that moves.
      graphs: of the condition and the body.
    """
    cond, body = graphs
    stays = {k for k, (i, o) in enumerate(zip(body.inputs, body.outputs, strict=True)) if _same(o) is i}
    counters = {k: flow.known(t) for k, t in enumerate(op.inputs) if k not in stays and counts(t)}
    state: dict[int, Any] = dict(moving)
    for number in itertools.count():
        iterations = []
        for graph in (cond, body):
            given: dict[int, Any] = {id(graph.inputs[k]): op.inputs[k] for k in stays}
            given.update((id(graph.inputs[k]), value) for k, value in counters.items())
            iterations.append(Iteration(flow.runner, flow.known, given))
        going = iterations[0].of(cond.outputs[0])
        if going is not None and not going:
            break
        if number >= (GUESSED if going is None else FOLLOWED):
            counters, going = {}, None
        after = flow.inside(body, state, iterations[1])
        fresh = {k: r for k, r in enumerate(after) if r is not None}
        if going is None:  # it may have ended before
            fresh = joined(state, fresh)
        settled = (not counters or not iterations[1].consulted) and same_state(state, fresh)
        state, counters = fresh, {k: iterations[1].peek(body.outputs[k]) for k in counters}
        if settled:
            break
    return [state.get(k) for k in range(len(op.outputs))]


def joined(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """The union of two states."""
    return {k: a[k] | b[k] if k in a and k in b else a.get(k, b.get(k)) for k in (*a, *(k for k in b if k not in a))}


def same_state(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    """Whether two states say the same."""
    return a.keys() == b.keys() and all(a[k].same(b[k]) for k in a)


def _same(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def through_frame(flow: Walk, ops: Sequence[tf.Operation], depth: int) -> None:
    """Through the ops of a V1 loop that is `depth` deep, loops inside of it included."""
    known = flow.known
    try:
        _iterations(flow, ops, depth)
    except UnknownShapeError as error:
        flow.known = known
        entered = [flow.reach[id(op.inputs[0])] for op in ops if op.type in ENTERS and id(op.inputs[0]) in flow.reach]
        whole = functools.reduce(operator.or_, (Items.of(r).mixed() for r in entered))
        for op in ops:
            if op.type in EXITS:
                flow.coarse.setdefault(op, f"inside of the loop {error}")
                flow.reach[id(op.outputs[0])] = whole.read(None, size_of(op.outputs[0]))


def _iterations(flow: Walk, ops: Sequence[tf.Operation], depth: int) -> None:
    frame = flow.frames.of(ops[0])[:depth]
    every = [op for op in flow.frames.ops if flow.frames.of(op)[:depth] == frame]
    merges = [op for op in every if flow.frames.of(op) == frame and goes_around(op)]
    groups = flow.frames.grouped(ops, depth)
    condition = next((op for op in every if op.type == "LoopCond" and flow.frames.of(op) == frame), None)
    outside, iteration = flow.known, None
    state: dict[Any, Any] | None = None
    for number in itertools.count():
        iteration = Iteration(flow.runner, outside, {}, iteration)
        going = None if condition is None else iteration.of(condition.inputs[0])
        stops = going is not None and not going
        forgotten = number >= (GUESSED if going is None else FOLLOWED)
        if forgotten:
            iteration = Iteration(flow.runner, outside, {id(m.outputs[0]): None for m in merges})
            going, stops = None, False
        for m in merges:
            iteration.peek(m.outputs[0])
        iteration.consulted = False
        flow.iteration(groups, depth, (iteration, state))
        after = {m: flow.reach[id(m.inputs[1])] for m in merges if id(m.inputs[1]) in flow.reach}
        now = {m: flow.reach[id(m.outputs[0])] for m in merges if id(m.outputs[0]) in flow.reach}
        state = joined(now, after) if going is None else after
        if stops or ((forgotten or not iteration.consulted) and same_state(now, state)):
            return
        iteration.forget()


def goes_around(op: tf.Operation) -> bool:
    """True for the Merge of a loop, which takes what comes around."""
    return op.type in MERGES and len(op.inputs) == 2 and _walk.is_back_edge(op, op.inputs[1])
