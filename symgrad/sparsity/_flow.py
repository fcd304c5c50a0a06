"""Reaches on their way through a graph of tangents, op by op."""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _bodies, _tensors, _tf, _walk
from .._op_types import LOOPS, MERGES, SWITCHES
from ._contractions import CONTRACTIONS, numbers
from ._kinds import how_it_enters, is_alike, is_elementwise
from ._probe import Local, probed, shape_of, size_of
from ._reach import Reach
from ._turns import turns_of
from ._windows import WINDOWS

Reaches = list[Reach | None]
Known = Callable[[tf.Tensor], np.ndarray | None]


@dataclass
class Flow:
    """Pushes reaches through the ops of one graph and of the bodies that they run.

    Attributes:
      known: what a tensor that does not move is, None if that is not known.
      coarse: ops behind which all depends on all, and why.
      reach: of each tensor that moves, by id.
    """

    known: Known
    coarse: dict[tf.Operation, str] = field(default_factory=dict)
    reach: dict[int, Reach] = field(default_factory=dict)
    _probed: dict[Any, list[Local | None]] = field(default_factory=dict)

    def run(self, ops: Sequence[tf.Operation]) -> None:
        """Through ops in order; V1 loops again and again, until nothing is new."""
        back = [t for op in ops for t in op.inputs if _walk.is_back_edge(op, t)]
        while True:
            before = self._entries(back)
            for op in ops:
                moving = {i: self.reach[id(t)] for i, t in enumerate(op.inputs) if id(t) in self.reach}
                if moving:
                    found = zip(op.outputs, self._through(op, moving))
                    self.reach.update((id(t), r) for t, r in found if r is not None)
            if before == self._entries(back):
                return

    def _entries(self, tensors) -> list[int]:
        return [self.reach[id(t)].entries if id(t) in self.reach else -1 for t in tensors]

    def _through(self, op, moving: dict[int, Reach]) -> Reaches:
        if is_alike(op):
            return [moving.get(k) for k in range(len(op.outputs))]
        if not any(_tensors.is_differentiable(t) for t in op.outputs):
            return [None] * len(op.outputs)
        if op.type in SWITCHES:
            return [moving.get(0)] * 2
        if op.type in MERGES:
            return [functools.reduce(operator.or_, moving.values()), None]
        if is_elementwise(op):
            return [self._elementwise(op, moving)]
        if _bodies.runs_bodies(op):
            found = self._bodies(op, moving)
            if found is not None:
                return found
        results: Reaches = [None] * len(op.outputs)
        for i, reach in moving.items():
            results = _joined(results, self._one(op, i, reach, set(moving)))
        return results

    def _elementwise(self, op, moving) -> Reach:
        out = shape_of(op.outputs[0])
        parts = []
        for i, reach in moving.items():
            shape = shape_of(op.inputs[i])
            if shape != out:
                reach = reach.take(_spread(op, i, shape, out))
            keep = self._kept(op, i, out)
            if keep is not None and not keep.all():
                reach = reach.take(np.where(keep, np.arange(reach.size), -1))
            parts.append(reach)
        return functools.reduce(operator.or_, parts)

    def _kept(self, op, i, out) -> np.ndarray | None:
        """Where a constant factor is not zero, or a constant condition chooses this input."""
        if op.type in ("Mul", "MulNoNan"):
            other = tf.get_static_value(op.inputs[1 - i])
            return None if other is None else np.broadcast_to(other != 0, out).ravel()
        if op.type in ("Select", "SelectV2") and i > 0:
            chosen = self.known(op.inputs[0])
            if chosen is None or (op.type == "Select" and list(chosen.shape) != out):
                return None
            return np.broadcast_to(chosen == (i == 1), out).ravel()
        return None

    def _one(self, op, i, reach, moving) -> Reaches:
        """The reaches of the outputs as far as they come from input i."""
        rule = CONTRACTIONS.get(op.type) or WINDOWS.get(op.type)
        if rule is not None:
            found = rule(op, i, reach, lambda k: self.known(op.inputs[k]) if k not in moving else None)
            if found is not None:
                return [found]
        locals_, why = self._probe(op, i, moving)
        if why:
            self.coarse.setdefault(op, why)
        sizes = [size_of(t) if _tensors.is_floating(t) else 1 for t in op.outputs]  # a list or variable counts as one
        return [
            _behind(reach, local, size) if _tensors.is_differentiable(t) else None
            for t, local, size in zip(op.outputs, locals_, sizes)
        ]

    def _probe(self, op, i, moving) -> tuple[list[Local | None], str]:
        """The local map of each output, None where all depends on all, and why any is so."""
        dense: list[Local | None] = [None] * len(op.outputs)
        why = self._cannot_run(op, i, moving)
        if why:
            return dense, why
        fixed, key = self._fixed(op, i, moving)
        if key not in self._probed:
            self._probed[key] = probed(op, i, fixed)
        found = self._probed[key]
        lost = any(f is None and _tensors.is_floating(t) for f, t in zip(found, op.outputs))
        return (
            found,
            "run by itself it fails, is not linear, or has rows that are too long to be told apart" if lost else "",
        )

    def _cannot_run(self, op, i, moving) -> str:
        """Why the op cannot be run by itself; empty if it can."""
        if _tf.is_stateful(op.type) or _bodies.runs_bodies(op):
            return "it cannot be run by itself"
        if any(t.dtype in (tf.variant, tf.resource) for t in (*op.inputs, *op.outputs)):
            return "it reads or makes a list or a variable"
        for k, t in enumerate(op.inputs):
            if k == i:
                continue
            if _tensors.is_floating(t):
                if k not in moving and not how_it_enters(op, k):
                    return f"nothing is known of how it depends on its input {k} ({t.name})"
            elif self.known(t) is None:
                return f"its input {k} ({t.name}) changes with x, or is not known; give session and feed_dict if it is"
        return ""

    def _fixed(self, op, i, moving) -> tuple[dict[int, np.ndarray], Any]:
        """What the other inputs are fed, and what tells this op from others that are run in another way.

        Factors become random numbers in [1, 2], with which nothing cancels; zeros of a constant stay zeros.
        """
        rng = np.random.default_rng(0)
        fixed: dict[int, np.ndarray] = {}
        attributes = sorted((k, str(v)) for k, v in op.node_def.attr.items() if k[0] != "_")
        key: list[Any] = [op.type, i, tuple(attributes)]
        for k, t in enumerate(op.inputs):
            if not _tensors.is_floating(t):
                fixed[k] = np.asarray(self.known(t))
                key.append(fixed[k].shape)
                key.append(repr(fixed[k].tolist()) if fixed[k].dtype == object else fixed[k].tobytes())
                continue
            shape = tuple(shape_of(t))
            key.append(shape)
            if k == i:
                continue
            if (k in moving and how_it_enters(op, k) != "factor") or how_it_enters(op, k) == "term":
                fixed[k] = np.zeros(shape)
            else:
                constant = tf.get_static_value(t)
                fixed[k] = rng.uniform(1, 2, shape)
                if constant is not None:
                    fixed[k] = np.where(constant != 0, fixed[k], 0.0)
            key.append(fixed[k].tobytes())
        return fixed, tuple(key)

    def _bodies(self, op, moving) -> Reaches | None:
        """Through the functions of a call, a branch or a loop of V2; None where a list goes in or out."""
        if any(t.dtype == tf.variant for t in [*(op.inputs[i] for i in moving), *op.outputs]):
            return None  # lists
        inner = _bodies.bodies(op)
        if op.type not in LOOPS:
            results: Reaches = [None] * len(op.outputs)
            for body in inner:
                results = _joined(results, self._inside(body, op, {k - body.offset: r for k, r in moving.items()}))
            return results
        cond, body = (next(b for b in inner if b.kind == kind) for kind in ("cond", "body"))
        state = dict(moving)
        for _ in range(turns_of(op, cond.graph, body.graph)):
            before = {k: r.entries for k, r in state.items()}
            for k, part in enumerate(self._inside(body, op, state)):
                if part is not None:
                    state[k] = part if k not in state else state[k] | part
            if {k: r.entries for k, r in state.items()} == before:
                break
        return [state.get(k) for k in range(len(op.outputs))]

    def _inside(self, body, op, arguments: dict[int, Reach]) -> Reaches:
        graph = body.graph
        given = {id(t): op.inputs[k + body.offset] for k, t in enumerate(graph.inputs)}
        if body.kind == "body":  # what a loop carries changes from turn to turn
            given = {k: t for k, t in given.items() if _stays(graph, k)}

        def known(tensor):
            if id(tensor) in given:
                return self.known(given[id(tensor)])
            return tf.get_static_value(tensor)

        inner = Flow(known, self.coarse, {id(graph.inputs[k]): r for k, r in arguments.items() if k >= 0}, self._probed)
        inner.run(_walk.in_order(graph.get_operations()))
        return [inner.reach.get(id(t)) for t in graph.outputs]


def _stays(graph, key: int) -> bool:
    """Whether a loop hands on its input with this id at the place where it got it."""
    return any(id(i) == key and o is i for i, o in zip(graph.inputs, graph.outputs))


def _spread(op, i, shape, out) -> np.ndarray:
    """Which element of input i of an elementwise op each element of the output reads."""
    place = numbers(shape)
    if op.type == "Select" and i == 0 and len(shape) == 1:
        place = place.reshape([-1] + [1] * (len(out) - 1))
    return np.broadcast_to(place, out).ravel()


def _joined(a: Reaches, b: Reaches) -> Reaches:
    return [y if x is None else x if y is None else x | y for x, y in zip(a, b)]


def _behind(reach: Reach, local: Local | None, size: int) -> Reach:
    if local is None:
        return reach.dense(size)
    kind, found = local
    if kind == "pick":
        return reach.take(found)
    return reach.grouped(found, size) if kind == "add" else reach.through(found)
