"""Which ops cut the paths from xs to ys: shortest paths on which a cut is longer than all ops together.

Each node of the flow is there twice: once as it is (2 n), and once as part of a stretch behind a cut (2 n + 1), on
which integers flow that are no further cut.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from .. import _tensors
from ..rules import Cut
from ._answers import Answers
from ._flow import Flow, Inside

Step = tuple[int, int]

# Cuts at which what goes on is no value of x.
WITHOUT_VALUES = (Cut.SHAPE, Cut.REPLACED)


class Search:
    """The cuts between xs and ys; what is linear in the size of the graph is done once for all xs.

    Attributes:
      cuts: for each step that is cut, the cause and the node to blame.
    """

    def __init__(self, flow: Flow, ys: Sequence[tf.Tensor], xs: Sequence[int]):
        self.flow = flow
        self.answers = Answers()
        self.cuts: dict[Step, tuple[Cut, int]] = {}
        self._end = 2 * len(flow.nodes)
        self._onward: list[Step] = []
        self._price = self._end + 2
        passed = self._open_edges(_downstream(flow, xs))
        for y, number in zip(ys, flow.ends, strict=True):
            self._add_end(y, number)
        self._uncut, self._all = self._matrices(passed)
        (self._least,), (self._next,) = dijkstra(self._all.T.tocsr(), indices=[self._end], return_predecessors=True)
        self._cut_at: dict[int, list[int]] = {}
        for source, target in self.cuts:
            self._cut_at.setdefault(source, []).append(target)
        self._is_cut = np.zeros(self._end + 1, bool)
        self._is_cut[list(self._cut_at)] = True

    def is_connected(self, x: int) -> bool:
        """True if a path without a cut leads from node `x` to ys."""
        return bool(self._least[2 * x] < self._price)

    def cuts_of(self, x: int) -> Iterator[Step]:
        """The first cut of each path from node `x`, and those met after it on the way that is cut least.

        Paths that only the shape of x goes along count if there are no others: that of dropout's mask, for instance.
        """
        order, _ = breadth_first_order(self._uncut, 2 * x)
        firsts = [(u, v) for u in order[self._is_cut[order]].tolist() for v in self._cut_at[u]]
        values = [step for step in firsts if self.cuts[step][0] not in WITHOUT_VALUES]
        if not values:
            yield from firsts
        walked: set[int] = set()
        for first in values:
            yield first
            at = first[1]
            while at != self._end and at not in walked:
                walked.add(at)
                step = (at, int(self._next[at]))
                if step in self.cuts:
                    yield step
                at = step[1]

    def path(self, x: int, step: Step) -> list[int]:
        """The nodes of a shortest path from node `x` over the step to ys."""
        _, (before,) = dijkstra(self._all, indices=[2 * x], return_predecessors=True)
        states = [step[0]]
        while states[-1] != 2 * x:
            states.append(int(before[states[-1]]))
        states.reverse()
        at = step[1]
        while at != self._end:
            states.append(at)
            at = int(self._next[at])
        return [state // 2 for state in states]

    def names(self, nodes: Sequence[int]) -> tuple[str, ...]:
        """The names of the ops at these nodes; an argument of a body stands for the op that runs the body."""
        found: list[tf.Operation] = []
        for node in nodes:
            site, op, _ = self.flow.nodes[node]
            op = site.op if op is None and isinstance(site, Inside) else op
            if not found or op is not found[-1]:
                found.append(op)
        return tuple(op.name for op in found)

    def _open_edges(self, downstream: np.ndarray) -> np.ndarray:
        """The edges that a derivative passes; notes the cuts of the others, among those that x reaches."""
        flow = self.flow
        found = []
        for edge in np.flatnonzero(downstream[flow.source]).tolist():
            if _tensors.is_differentiable(flow.tensor[edge]):
                cause = self._cause(edge)
                if cause is None:
                    found.append(edge)
                else:
                    u, v = flow.source[edge], flow.target[edge]
                    self.cuts[2 * u, 2 * v + 1] = self.cuts[2 * u + 1, 2 * v + 1] = (cause, v)
            else:
                u, v = flow.source[edge], flow.target[edge]
                self.cuts[2 * u, 2 * v + 1] = (Cut.INTEGER, u)
                self._onward.append((2 * u + 1, 2 * v + 1))
        return np.array(found, np.int64)

    def _add_end(self, y: tf.Tensor, number: int) -> None:
        self._onward.append((2 * number + 1, self._end))
        if _tensors.is_differentiable(y):
            self._onward.append((2 * number, self._end))
        else:
            self.cuts[2 * number, self._end] = (Cut.INTEGER, number)

    def _cause(self, edge: int) -> Cut | None:
        """Why no derivative passes along an edge with a differentiable tensor."""
        _, op, slot = self.flow.nodes[self.flow.target[edge]]
        use = self.flow.use[edge]
        if use >= 0:
            return self.answers.cut_at(op, use)
        is_special = isinstance(slot, tuple)
        return Cut.STOPPED if is_special and id(self.flow.tensor[edge]) in self.flow.stopped else None

    def _matrices(self, passed: np.ndarray) -> tuple[Any, Any]:
        """The lengths of the steps without a cut, and of all; the least where several join two nodes."""
        u, v = 2 * np.array(self.flow.source, np.int64)[passed], 2 * np.array(self.flow.target, np.int64)[passed]
        onward = np.array(self._onward, np.int64).reshape(-1, 2).T
        cut = np.array(list(self.cuts), np.int64).reshape(-1, 2).T
        steps = np.concatenate([[u, v], [u + 1, v], onward, cut], axis=1)
        length = np.ones(steps.shape[1])
        length[len(length) - cut.shape[1] :] = self._price
        uncut = length < self._price
        return _matrix(steps[:, uncut], length[uncut], self._end + 1), _matrix(steps, length, self._end + 1)


def _matrix(steps: np.ndarray, length: np.ndarray, size: int) -> Any:
    key = steps[0] * size + steps[1]
    order = np.lexsort((length, key))
    _, first = np.unique(key[order], return_index=True)
    kept = order[first]
    return coo_array((length[kept], (steps[0, kept], steps[1, kept])), shape=(size, size)).tocsr()


def _downstream(flow: Flow, xs: Sequence[int]) -> np.ndarray:
    """For each node, whether it is computed from one of the nodes `xs`."""
    size = len(flow.nodes)
    source = np.concatenate([np.array(flow.source, np.int64), np.full(len(xs), size)])
    target = np.concatenate([np.array(flow.target, np.int64), np.array(xs, np.int64)])
    edges = coo_array((np.ones(len(source), np.int8), (source, target)), shape=(size + 1, size + 1)).tocsr()
    found = np.zeros(size + 1, bool)
    found[breadth_first_order(edges, size, return_predecessors=False)] = True
    return found
