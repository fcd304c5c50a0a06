"""In which V1 loops ops are, and in what order they and those loops can run."""

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _walk
from .._op_types import ENTERS, EXITS, MERGES
from .._reach import reach
from .._sources import Sources
from ..errors import ControlFlowError


class Frames:
    """In which V1 loops ops are: found from the ops alone, as copies of graphs lack the contexts of loops."""

    def __init__(self, ops: Sequence[tf.Operation], sources: Sources):
        self._sources = sources
        self._home: dict[tf.Operation, tuple[str, ...]] = {}
        self.ops: list[tf.Operation] = []
        if any(op.type in ENTERS | EXITS | MERGES for op in ops):
            self.ops = _walk.in_order(_above(ops, sources), sources, control=True)
        inside: dict[tf.Operation, tuple[str, ...]] = {}
        for op in self.ops:
            read = {inside.get(t.op, ()) for t in op.inputs if not _walk.is_back_edge(op, t)}
            # What has no data inputs is in the loop of what it waits for.
            home = max(read or {inside.get(c, ()) for c in op.control_inputs}, key=len, default=())
            if len(read) > 1:
                raise ControlFlowError(
                    f"{op.type} {op.name!r} reads from several V1 loops at once ({sorted(map('/'.join, read))}): the "
                    "graph cannot run. If it can, please report it; method='probe' needs no reading of loops"
                )
            if op.type in ENTERS:
                home += (op.get_attr("frame_name").decode(),)
            self._home[op] = home
            inside[op] = home[:-1] if op.type in EXITS else home

    def of(self, op: tf.Operation) -> tuple[str, ...]:
        """The names of the loops that run an op, the outermost first; a loop's Exit counts as inside."""
        return self._home.get(op, ())

    def grouped(self, ops: Iterable[tf.Operation], depth: int) -> list[list[tf.Operation]]:
        """The ops in an order in which they can run; those of a loop that is `depth` deep together."""
        groups: dict[Any, list[tf.Operation]] = {}
        key = {op: self.of(op)[: depth + 1] if len(self.of(op)) > depth else op for op in ops}
        for op, k in key.items():
            groups.setdefault(k, []).append(op)
        reads: dict[Any, set[Any]] = {k: set() for k in groups}
        for op, k in key.items():
            sources = (t.op for t in self._sources.of(op) if not _walk.is_back_edge(op, t))
            reads[k].update(key[s] for s in sources if s in key and key[s] != k)
        ordered: dict[Any, None] = {}
        waiting: list[Any] = list(groups)[::-1]
        while waiting:
            fresh = [k for k in reads.pop(waiting[-1], ()) if k not in ordered]
            waiting.extend(fresh)
            if not fresh:
                ordered.setdefault(waiting.pop())
        return [groups[k] for k in ordered]


def _above(ops: Iterable[tf.Operation], sources: Sources) -> list[tf.Operation]:
    """The ops, and all that they read or wait for."""
    return list(reach(ops, lambda op: [*(t.op for t in sources.of(op)), *op.control_inputs]))
