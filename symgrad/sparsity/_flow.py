"""Reaches on their way through a graph of tangents, op by op."""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _bodies, _tensors, _tf, _walk
from .._op_types import LOOPS, MERGES, STACK_POPS, SWITCHES
from .._sources import Sources
from ._contractions import CONTRACTIONS, numbers
from ._frames import Frames
from ._kinds import how_it_enters, is_elementwise, is_identity
from ._known import Iteration, Runner
from ._lists import LISTS, Items
from ._loops import around, goes_around, through_frame
from ._probe import Local, UnknownShapeError, probed, shape_of, size_of
from ._reach import Reach
from ._windows import WINDOWS

Reaches = list[Any]  # of each output a Reach, of a list its Items, None where nothing moves
Known = Callable[[tf.Tensor], np.ndarray | None]


@dataclass
class Flow:
    """Pushes reaches through the ops of one graph and of the bodies that they run.

    Attributes:
      known: what a tensor that does not move is, None if that is not known.
      runner: runs ops by themselves.
      coarse: ops behind which all depends on all, and why.
      reach: of each tensor that moves, by id.
      frames: in which V1 loops ops are.
    """

    known: Known
    runner: Runner
    coarse: dict[tf.Operation, str] = field(default_factory=dict)
    reach: dict[int, Any] = field(default_factory=dict)
    frames: Frames = field(init=False)
    _probed: dict[Any, list[Local | None]] = field(default_factory=dict)
    _orders: dict[int, list[tf.Operation]] = field(default_factory=dict)
    _pushed: dict[int, Any] = field(default_factory=dict, init=False)
    _sources: Sources = field(default_factory=Sources, init=False)

    def run(self, ops: Sequence[tf.Operation]) -> None:
        """Through ops in order."""
        self.frames = Frames(ops, self._sources)
        self._pushed = {id(t): None for op in ops if op.type in STACK_POPS for t in self._sources.pushed(op)}
        self._groups(self.frames.grouped(ops, 0) if self.frames.ops else [[op] for op in ops], 0, None)

    def iteration(self, groups: Sequence[Sequence[tf.Operation]], depth: int, around: tuple[Iteration, Any]) -> None:
        """One iteration of a V1 loop `depth` deep; `around`: its values, what comes to each Merge (None if first)."""
        iteration, state = around
        known, self.known = self.known, iteration.of
        for group in groups:
            for op in group:
                for t in op.outputs:
                    self.reach.pop(id(t), None)
        self._groups(groups, depth, state)
        self.known = known

    def _groups(self, groups, depth, state) -> None:
        for group in groups:
            if len(self.frames.of(group[0])) > depth:
                through_frame(self, group, depth + 1)
            else:
                self._step(group[0], state)

    def _step(self, op, state) -> None:
        inputs = [*op.inputs, *self._sources.pushed(op)] if op.type in STACK_POPS else op.inputs
        moving = {i: self._of(t) for i, t in enumerate(inputs) if self._of(t) is not None}
        for i, r in moving.items():
            if isinstance(r, Reach) and _tensors.is_floating(inputs[i]) and r.size != size_of(inputs[i]):
                raise UnknownShapeError(f"the shape of {inputs[i].name} is not always the same")
        if goes_around(op):
            found = [moving.get(0) if state is None else state.get(op), None]
        else:
            found = self._through(op, moving) if moving else []
        for t, r in zip(op.outputs, found, strict=False):
            if r is not None:
                self.reach[id(t)] = r
                if id(t) in self._pushed:  # in one iteration or another
                    before = self._pushed[id(t)]
                    self._pushed[id(t)] = r if before is None else before | r

    def _of(self, tensor):
        kept = self._pushed.get(id(tensor))
        return self.reach.get(id(tensor)) if kept is None else kept

    def _through(self, op, moving: dict[int, Any]) -> Reaches:
        if is_identity(op):
            return [moving.get(k) for k in range(len(op.outputs))]
        if op.type in LISTS:
            return LISTS[op.type](op, moving, self.known)
        if op.type == "ZerosLike" or not any(_tensors.is_differentiable(t) for t in op.outputs):
            return [None] * len(op.outputs)
        if op.type in SWITCHES:
            return [moving.get(0)] * 2
        if op.type in MERGES or (op.type == "AddN" and any(isinstance(r, Items) for r in moving.values())):
            return [functools.reduce(operator.or_, moving.values())] + [None] * (len(op.outputs) - 1)
        if _bodies.runs_bodies(op):
            try:
                return self._bodies(op, moving)
            except UnknownShapeError as error:
                self.coarse.setdefault(op, f"inside of it {error}")
        moving = {k: r.mixed().reach if isinstance(r, Items) else r for k, r in moving.items()}
        if is_elementwise(op):
            return [self._elementwise(op, moving)]
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
            other = self.known(op.inputs[1 - i])
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
            for t, local, size in zip(op.outputs, locals_, sizes, strict=True)
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
        lost = any(f is None and _tensors.is_floating(t) for f, t in zip(found, op.outputs, strict=True))
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
                constant = self.known(t) if k not in moving else None
                fixed[k] = rng.uniform(1, 2, shape)
                if constant is not None:
                    fixed[k] = np.where(constant != 0, fixed[k], 0.0)
            key.append(fixed[k].tobytes())
        return fixed, tuple(key)

    def _bodies(self, op, moving) -> Reaches:
        """Through the functions of a call, a branch or a loop of V2."""
        inner = _bodies.bodies(op)
        if op.type in LOOPS:
            cond, body = (next(b.graph for b in inner if b.kind == kind) for kind in ("cond", "body"))
            return around(self, op, moving, (cond, body))
        results: Reaches = [None] * len(op.outputs)
        for body in inner:
            given = {id(t): op.inputs[k + body.offset] for k, t in enumerate(body.graph.inputs)}
            arguments = {k - body.offset: r for k, r in moving.items() if k >= body.offset}
            results = _joined(results, self.inside(body.graph, arguments, Iteration(self.runner, self.known, given)))
        return results

    def inside(self, graph: Any, arguments: dict[int, Any], iteration: Iteration) -> Reaches:
        """The reach of the results of a function, from that of its arguments; `iteration` tells values in it."""
        if id(graph) not in self._orders:
            self._orders[id(graph)] = _walk.in_order(graph.get_operations())
        given = {id(graph.inputs[k]): r for k, r in arguments.items()}
        inner = Flow(iteration.of, self.runner, self.coarse, given, self._probed, self._orders)
        inner.run(self._orders[id(graph)])
        return [inner.reach.get(id(t)) for t in graph.outputs]


def _spread(op, i, shape, out) -> np.ndarray:
    """Which element of input i of an elementwise op each element of the output reads."""
    place = numbers(shape)
    if op.type == "Select" and i == 0 and len(shape) == 1:
        place = place.reshape([-1] + [1] * (len(out) - 1))
    return np.broadcast_to(place, out).ravel()


def _joined(a: Reaches, b: Reaches) -> Reaches:
    return [y if x is None else x if y is None else x | y for x, y in zip(a, b, strict=True)]


def _behind(reach: Reach, local: Local | None, size: int) -> Reach:
    if local is None:
        return reach.dense(size)
    kind, found = local
    if kind == "pick":
        return reach.take(found)
    return reach.grouped(found, size) if kind == "add" else reach.through(found)
