"""Waists: a narrow tensor that every path from xs to ys crosses, so that J = J_y/h J_h/x."""

from collections.abc import Iterator, Sequence

import tensorflow.compat.v1 as tf

from .. import _walk
from .._problem import Problem

# A Jacobian through a waist costs two narrow ones and a product of matrices; it wins where the waist is narrower than
# both sides by this factor. On three-layer networks it is slower than rows at 2.3 and faster than both from 3 on.
NARROWER = 3


def waist(problem: Problem) -> tf.Tensor | None:
    """The narrowest tensor that every path from xs to ys crosses, if it is clearly narrower than ys and xs; else None.

    Only tensors of known size, of the dtype and in the place (graph, V1 context) of ys count.
    """
    between, ys, xs = problem.between, problem.ys, problem.xs
    if problem.crossings.v1_loops:
        return None
    sides = [sum(tf.TensorShape(t.shape).num_elements() or 0 for t in side) for side in (ys, xs)]
    widest = min(sides) // NARROWER
    context = ys[0].op._get_control_flow_context()
    fit = [
        h
        for h in cuts(between, ys, problem.tensors)
        if h.dtype.base_dtype == ys[0].dtype.base_dtype
        and h.graph is ys[0].graph
        and h.op._get_control_flow_context() is context
        and 0 < (h.shape.num_elements() or 0) <= widest
    ]
    return min(fit, key=lambda h: h.shape.num_elements(), default=None)


def cuts(between: _walk.Between, ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor]) -> Iterator[tf.Tensor]:
    """The tensors that every path from xs to ys crosses, in order: those over which no edge of the graph jumps.

    With the tensors on the paths numbered in topological order, every path visits them in this order, and each of them
    lies on some path. So a path avoids tensor p exactly if some edge leads from before p to behind it. These are the
    dominators of the ends that dominate all of them.
    """
    numbered = list({id(x): x for x in xs}.values())
    position = {id(x): i for i, x in enumerate(numbered)}
    edges = []
    for op in between.ops:
        inner = [position.get(id(between.sources.of(op)[i])) for i in between.active_inputs(op)]
        for t in op.outputs:
            if id(t) in between.tensors and id(t) not in position:
                position[id(t)] = len(numbered)
                numbered.append(t)
                edges += [(i, position[id(t)]) for i in inner if i is not None]
    end = len(numbered)
    ends = [position[id(between.sources.outer(y))] for y in ys if id(between.sources.outer(y)) in position]
    edges += [(-1, position[id(x)]) for x in xs] + [(i, end) for i in ends]
    jumps = [0] * (end + 2)
    for start, stop in edges:
        jumps[start + 1] += 1
        jumps[stop] -= 1
    above = 0
    for tensor, change in zip(numbered, jumps, strict=False):
        above += change
        if not above:
            yield tensor
