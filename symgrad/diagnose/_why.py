"""Why a gradient is None."""

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _walk, rules


@dataclass(frozen=True)
class Finding:
    """One cause; `str()` is the sentence.

    Attributes:
      x: the name of the x without a derivative.
      cause: what cuts the path.
      op: the name of the op that cuts, or None.
    """

    x: str
    cause: str
    op: str | None = None

    def __str__(self) -> str:
        at = f" ({self.op!r})" if self.op else ""
        return f"{self.x}: {self.cause}{at}"


def why_none(
    ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], *, stop_gradients: Sequence[tf.Tensor] = ()
) -> list[Finding]:
    """For each x on which no y depends differentiably, the cause."""
    return [finding for x in xs for finding in _causes(ys, x)]


def _causes(ys, x) -> list[Finding]:
    sources = _walk.Sources([x])
    below: dict[tf.Operation, list[int]] = {}
    reached = {id(x)}
    for op in _walk.in_order(_walk.ancestors(ys, every=True, sources=sources), sources):
        active = [i for i, t in enumerate(sources.of(op)) if id(t) in reached]
        if active:
            below[op] = active
            reached.update(map(id, op.outputs))
    if not any(id(y) in reached for y in ys):
        return [Finding(x.name, "no path leads from it to ys")]
    cuts = [(op, rules.cut_at(op, i)) for op, active in below.items() for i in active]
    return [
        Finding(x.name, f"{cut.value}, made by {op.type}", op.name)
        for op, cut in cuts
        if cut is not None and cut is not rules.Cut.INTEGER
    ] or [Finding(x.name, rules.Cut.INTEGER.value, cuts[0][0].name if cuts else None)]
