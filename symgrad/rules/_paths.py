"""The ops between xs and ys on which a derivative exists, into the bodies of loops, branches and calls of V2."""

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from .. import _bodies, _tensors, _walk
from ._cuts import BATCH_NORMS, UNHEARD, Cut, cut_at, has_own_gradient, leads_on

Gap = tuple[tf.Operation, int, Cut]


def between(
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    stop: Iterable[tf.Tensor] = (),
    *,
    within: Iterable[tf.Operation] | None = None,
) -> _walk.Between:
    """The ops between xs and ys along paths on which a derivative exists (see `_walk.between`).

    A loop, branch or call of V2 is passed where its bodies pass a derivative on.
    """
    return _walk.between(ys, xs, stop, passes=leads_on, links=links, within=within)


def links(op: tf.Operation) -> list[int] | None:
    """For each output of an op that runs functions, the inputs that it moves with, as a bit mask; None for others.

    A batch norm in inference is told from one in training. A loop, branch or call with a gradient of the user's own is
    taken as one op.
    """
    if op.type in BATCH_NORMS:
        return _links_of_batch_norm(op)
    if not _bodies.runs_bodies(op) or not _bodies.differentiates_bodies(op):
        return None
    inner = _bodies.bodies(op)
    masks = [[mask << body.offset for mask in _results(body.graph)] for body in inner if body.kind != "cond"]
    if inner[0].kind == "cond":
        return _over_iterations(masks[0])
    return [functools.reduce(operator.or_, column) for column in zip(*masks, strict=True)]


def _links_of_batch_norm(op: tf.Operation) -> list[int] | None:
    """In inference the statistics come out as they went in, and what is kept for the gradient is those."""
    if op.get_attr("is_training") or has_own_gradient(op):
        return None
    mean, variance = 1 << 3, 1 << 4
    return [(1 << len(op.inputs)) - 1, mean, variance, mean, variance, 0][: len(op.outputs)]


def _results(body: tf.Graph) -> list[int]:
    """For each result of a function, the arguments that it moves with, as a bit mask."""
    known = {id(t): 1 << i for i, t in enumerate(body.inputs) if _tensors.is_differentiable(t)}
    before = None
    while before != known:  # more than once for the sake of V1 loops inside
        before = dict(known)
        for op in body.get_operations():
            masks = [known.get(id(t), 0) if leads_on(op, i) else 0 for i, t in enumerate(op.inputs)]
            reads = links(op) if any(masks) else None
            for j, t in enumerate(op.outputs):
                if _tensors.is_differentiable(t) and any(masks):
                    through = masks if reads is None else [m for i, m in enumerate(masks) if reads[j] >> i & 1]
                    known[id(t)] = functools.reduce(operator.or_, through, known.get(id(t), 0))
    return [known.get(id(t), 0) for t in body.outputs]


def _over_iterations(once: list[int]) -> list[int]:
    """The same for a loop of zero or more iterations, from what its body does in one."""
    masks = [1 << i for i in range(len(once))]
    before: list[int] = []
    while before != masks:
        before = masks
        feeding = [[i for i in range(len(once)) if mask >> i & 1] for mask in once]
        masks = [
            functools.reduce(operator.or_, (before[i] for i in f), m) for f, m in zip(feeding, before, strict=True)
        ]
    return masks


def inside(op: tf.Operation, active: set[int] | None) -> Iterator[_walk.Between]:
    """What lies on the paths through each body of an op, entered through its `active` inputs (None: any).

    Nothing for an op without bodies, or with a gradient of the user's own.
    """
    for body in _bodies.bodies(op) if _bodies.differentiates_bodies(op) else ():
        if body.kind == "cond":
            continue
        inputs = body.graph.inputs
        entering = {i for i in range(len(inputs)) if active is None or i + body.offset in active}
        carried: set[int] = set()
        while True:
            xs = [t for i, t in enumerate(inputs) if i in entering and _tensors.is_differentiable(t)]
            paths = between(body.graph.outputs, xs)
            if body.kind == "body":
                carried = {i for i, reached in enumerate(paths.reached) if reached}
            if carried <= entering:
                break
            entering |= carried
        yield paths


def missing(ys: list[tf.Tensor], xs: list[tf.Tensor], stop: Sequence[tf.Tensor] = ()) -> list[Gap]:
    """What a derivative of ys with respect to xs needs and is not there, also in the bodies of V2 loops and calls.

    Args:
      ys: tensors of one graph.
      xs: tensors (for a variable its handle) of that graph.
      stop: tensors behind which no path continues.

    Returns:
      `(op, input index, cause)` for each op on a path from xs to ys that has a derivative and no rule for it.
    """
    return list(_everywhere(between(ys, xs, stop)))


def _everywhere(paths: _walk.Between) -> Iterator[Gap]:
    yield from gaps(paths)
    for op in paths.ops:
        for inner in inside(op, set(paths.active_inputs(op))):
            yield from _everywhere(inner)


def gaps(between: _walk.Between) -> list[Gap]:
    """What is missing on paths that have been walked already, bodies left out."""
    if between.gaps is None:
        between.gaps = _gaps(between)
    return between.gaps


def _gaps(between: _walk.Between) -> list[Gap]:
    found = []
    for op in between.ops:
        for index in between.active_inputs(op):
            cut = cut_at(op, index)
            if cut is not None and cut.is_gap:
                found.append((op, index, cut))
        unheard = () if has_own_gradient(op) else UNHEARD.get(op.type, ())
        if any(id(op.outputs[k]) in between.tensors for k in unheard):
            found.append((op, between.active_inputs(op)[0], Cut.UNHEARD))
    return found
