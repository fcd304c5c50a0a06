"""Tangents through a compiled call: it moves as the tensors of which it computes copies."""

import tensorflow.compat.v1 as tf

from .. import _tf, rules
from ._handlers import whole
from ._push import Series, pushed


@whole("XlaLaunch")
def _through_launch(series: Series, op: tf.Operation) -> None:
    if not through_originals(series, op):
        series.through(op)


def through_originals(series: Series, op: tf.Operation) -> bool:
    """Push through the originals instead of a compiled call; False for any other op."""
    originals = _tf.originals_of(op)
    if originals is None:
        return False
    results, arguments = originals
    given = series.given(op)
    needed = [i for i, n in enumerate(series.pushes[0].needed(op)) if n]
    ys, xs = [results[i] for i in needed], [arguments[i] for i in given]
    inner = pushed(rules.between(ys, xs, arguments), ys, xs, list(given.values()), series.algebra)
    for driver, found in zip(series.pushes, inner.pushes, strict=True):
        for i, y in zip(needed, ys, strict=True):
            tangent = found.result(y)
            if tangent is not None:
                driver.add(op.outputs[i], tangent)
    return True
