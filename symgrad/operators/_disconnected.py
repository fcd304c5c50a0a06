"""What happens where there is no derivative: the one meaning of the keyword `disconnected`."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _walk, diagnose
from ..errors import DisconnectedError


def for_inputs(
    found: Sequence[tf.Tensor | None], ys: Sequence[tf.Tensor], xs: Sequence[_tensors.Input], disconnected: str, stop=()
) -> list[Any]:
    """The derivatives by x: those that are None raise, become zeros shaped like x, or stay None."""
    absent = [x for g, x in zip(found, xs) if g is None]
    if absent and disconnected == "raise":
        raise DisconnectedError(_explain(ys, [x.tensor for x in absent], stop))
    return [x.zeros() if g is None and disconnected == "zero" else g for g, x in zip(found, xs)]


def for_outputs(
    found: Sequence[tf.Tensor | None], ys: Sequence[tf.Tensor], xs: Sequence[_tensors.Input], disconnected: str, stop=()
) -> list[Any]:
    """The derivatives by y: those that are None raise, become zeros shaped like y, or stay None."""
    absent = [y for t, y in zip(found, ys) if t is None]
    if absent and disconnected == "raise":
        tensors = [x.tensor for x in xs]
        raise DisconnectedError("\n".join(f"{y.name} depends on no x. {_explain([y], tensors, stop)}" for y in absent))
    return [tf.zeros_like(y) if t is None and disconnected == "zero" else t for t, y in zip(found, ys)]


def for_paths(
    between: _walk.Between, ys: Sequence[tf.Tensor], xs: Sequence[_tensors.Input], disconnected: str, stop=()
) -> None:
    """Raise, if asked for, before anything is built: for a y that no path reaches and an x that no path leaves."""
    if disconnected == "raise":
        for_outputs([y if r else None for y, r in zip(ys, between.reached)], ys, xs, disconnected, stop)
        for_inputs([x.tensor if c else None for x, c in zip(xs, between.connected)], ys, xs, disconnected, stop)


def _explain(ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], stop: Sequence[tf.Tensor]) -> str:
    causes = "\n".join(map(str, diagnose.why_none(list(ys), list(xs), stop_gradients=list(stop))))
    causes = causes or "no derivative arrives, although every op on the way has one; please report the graph"
    return f'{causes}\nPass disconnected="zero" or "none" if this is meant to be so.'
