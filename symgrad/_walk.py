"""Ops between xs and ys: one backward sweep and one forward sweep, intersected; iterative and linear.

A path crosses from a function body into the graph around it where the body captured a tensor, as for `tf.gradients`.
"""

import functools
import operator
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from ._op_types import (
    ARRAY_WRITES,
    MERGES,
    NEXT_ITERATIONS,
    is_array_of_gradients,
)
from ._reach import reach
from ._sources import Sources, maker_of
from ._tensors import is_differentiable

Passes = Callable[[tf.Operation, int], bool]
Links = Callable[[tf.Operation], Sequence[int] | None]


def _anything(op: tf.Operation, index: int) -> bool:
    return True


def _to_everything(op: tf.Operation) -> None:
    return None


def _array_flows(write: tf.Operation) -> Iterator[tf.Tensor]:
    """The first flow of the array that `write` puts something into, and that of the array whose gradient it is.

    Once one element is active, the whole array is: every other element has a tangent, of zeros if it does not move.
    """
    maker = maker_of(write)
    while len(maker.outputs) > 1:
        yield maker.outputs[1]
        if not is_array_of_gradients(maker.type):
            return
        maker = maker_of(maker)


@dataclass
class Between:
    """What lies on the paths from xs to ys.

    Attributes:
      ops: the ops on a path along which every tensor is differentiable, each after those it reads (but for back edges).
      connected: for each x, whether such a path leads from it to some y.
      reached: for each y, whether such a path leads to it from some x.
      tensors: ids of the tensors on the paths, xs and ys included.
      sources: what the ops read.
      candidates: the ops that were considered, those on the paths among them.
      passes: whether a path may enter an op through an input.
      links: see `between`.
      stopped: ops that no path leads through, whatever passes.
      gaps: where the derivative is missing on them, once `rules.gaps` has been asked.
    """

    ops: list[tf.Operation]
    connected: list[bool]
    reached: list[bool]
    tensors: set[int]
    sources: Sources
    candidates: Collection[tf.Operation] = ()
    passes: Passes = field(default=_anything)
    links: Links = field(default=_to_everything)
    stopped: Collection[tf.Operation] = ()
    gaps: list[Any] | None = field(default=None, init=False, repr=False)
    _active: dict[tf.Operation, list[int]] = field(default_factory=dict, init=False, repr=False)

    def active_inputs(self, op: tf.Operation) -> list[int]:
        """The numbers of the inputs through which a path enters `op`."""
        if op not in self._active:
            led_from = _led_from(op, self.links, self.tensors)
            self._active[op] = [
                i
                for i, t in enumerate(self.sources.of(op))
                if led_from >> i & 1 and id(t) in self.tensors and is_differentiable(t) and self.passes(op, i)
            ]
        return self._active[op]


def between(
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    stop: Iterable[tf.Tensor] = (),
    *,
    passes: Passes = _anything,
    links: Links = _to_everything,
    within: Iterable[tf.Operation] | None = None,
) -> Between:
    """The ops between xs and ys. An x may lie upstream of another x, or be one of the ys.

    Args:
      ys: the ends.
      xs: the beginnings.
      stop: tensors that count as constants (`stop_gradients`): as for `tf.gradients`, no path leads through the op that
        makes one of them, and a path may begin at one that is an x.
      passes: whether a path may enter an op through its input of this number.
      links: for an op whose outputs do not all depend on all its inputs, the inputs behind each output as a bit mask.
      within: the ops to consider, where they are known; else all that ys are computed from.
    """
    sources = Sources(xs)
    stopped = {sources.outer(t).op for t in stop}
    ends = [sources.outer(y) for y in ys]
    candidates = ancestors(ends, sources=sources) if within is None else list(within)
    links = functools.cache(links)
    consumers = _consumers((op for op in candidates if op not in stopped), sources, passes)
    active = {id(x) for x in xs}
    frontier = list(xs)
    while frontier:
        tensor = frontier.pop()
        for op, entered in consumers.get(id(tensor), {}).items():
            reads = links(op)
            outputs = op.outputs
            if reads is not None:
                outputs = [t for t, mask in zip(outputs, reads, strict=True) if mask & entered]
            arrays = _array_flows(op) if op.type in ARRAY_WRITES else ()
            fresh = [t for t in (*outputs, *arrays) if id(t) not in active and is_differentiable(t)]
            active.update(map(id, fresh))
            frontier.extend(fresh)
    reached = [id(y) in active for y in ends]
    ops, tensors = _leading_to(ends, active, consumers, sources, links)
    connected = [id(x) in tensors for x in xs]
    return Between(in_order(ops, sources), connected, reached, tensors, sources, candidates, passes, links, stopped)


def readers(
    tensors: Iterable[tf.Tensor], onward: Callable[[tf.Operation], bool] = lambda op: True
) -> list[tf.Operation]:
    """The ops of the graph that read the tensors, directly or through others for which `onward` holds."""
    found: dict[tf.Operation, None] = {}
    frontier = list(tensors)
    while frontier:
        fresh = [op for op in frontier.pop().consumers() if op not in found]
        found.update(dict.fromkeys(fresh))
        frontier.extend(t for op in fresh if onward(op) for t in op.outputs)
    return list(found)


def ancestors(
    ys: Iterable[tf.Tensor],
    *,
    sources: Sources | None = None,
    every: bool = False,
    stop: Container[tf.Operation] = (),
) -> list[tf.Operation]:
    """The ops that ys are computed from along differentiable tensors, or along `every` data edge, without `stop`."""
    sources = sources or Sources()

    def behind(op: tf.Operation) -> Iterator[tf.Operation]:
        return (t.op for t in sources.of(op) if (every or is_differentiable(t)) and t.op not in stop)

    return list(reach([y.op for y in ys if y.op not in stop], behind))


def is_back_edge(op: tf.Operation, tensor: tf.Tensor) -> bool:
    """True for the input of a V1 loop's Merge that comes from the previous iteration."""
    return op.type in MERGES and tensor.op.type in NEXT_ITERATIONS


def in_order(
    ops: Iterable[tf.Operation], sources: Sources | None = None, *, control: bool = False
) -> list[tf.Operation]:
    """The ops, each after those among them that it reads, and with `control` after those that it waits for.

    The back edges of loops do not count.
    """
    sources = sources or Sources()
    members = dict.fromkeys(ops)
    entered: set[tf.Operation] = set()
    ordered: list[tf.Operation] = []

    def before(op):
        yield from (t.op for t in sources.of(op) if not is_back_edge(op, t))
        if control:
            yield from op.control_inputs

    def unread(op):
        for source in before(op):
            if source in members and source not in entered:
                entered.add(source)
                yield source

    for root in members:
        if root in entered:
            continue
        entered.add(root)
        stack = [(root, unread(root))]
        while stack:
            op, pending = stack[-1]
            source = next(pending, None)
            if source is None:
                ordered.append(op)
                stack.pop()
            else:
                stack.append((source, unread(source)))
    return ordered


def _led_from(op: tf.Operation, links: Links, tensors: set[int]) -> int:
    """The inputs of `op` that its outputs among `tensors` depend on, as a bit mask."""
    reads = links(op)
    if reads is None:
        return -1
    masks = (mask for t, mask in zip(op.outputs, reads, strict=True) if id(t) in tensors)
    return functools.reduce(operator.or_, masks, 0)


def _consumers(ops, sources, passes) -> dict[int, dict[tf.Operation, int]]:
    """For each tensor (by id), the ops among `ops` that a path may enter from it, and the inputs as a bit mask."""
    consumers: dict[int, dict[tf.Operation, int]] = {}
    for op in ops:
        for i, t in enumerate(sources.of(op)):
            if is_differentiable(t) and passes(op, i):
                entered = consumers.setdefault(id(t), {})
                entered[op] = entered.get(op, 0) | 1 << i
    return consumers


def _leading_to(ends, active, consumers, sources, links):
    """Of the active tensors those that lead to some end, and the ops on those paths."""
    tensors: set[int] = set()
    ops: dict[tf.Operation, None] = {}
    stack = [t for t in ends if id(t) in active]
    while stack:
        tensor = stack.pop()
        if id(tensor) in tensors:
            continue
        tensors.add(id(tensor))
        op = tensor.op
        reads = links(op)
        behind = -1 if reads is None else reads[tensor.value_index]
        feeding = [t for t in sources.of(op) if id(t) in active and consumers.get(id(t), {}).get(op, 0) & behind]
        if feeding:
            ops[op] = None
            stack.extend(feeding)
    return list(ops), tensors
