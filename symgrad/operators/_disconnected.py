"""What happens where there is no derivative: the one meaning of the keyword `disconnected`."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import diagnose
from .._finding import sentences
from .._problem import Problem
from ..errors import DisconnectedError


def for_inputs(found: Sequence[tf.Tensor | None], problem: Problem, disconnected: str) -> list[Any]:
    """The derivatives by x: those that are None raise, become zeros shaped like x, or stay None."""
    absent = [x for g, x in zip(found, problem.xs, strict=True) if g is None]
    if absent and disconnected == "raise":
        raise DisconnectedError(_explain(problem.ys, [x.tensor for x in absent], problem.stop))
    return [x.zeros() if g is None and disconnected == "zero" else g for g, x in zip(found, problem.xs, strict=True)]


def for_outputs(found: Sequence[tf.Tensor | None], problem: Problem, disconnected: str) -> list[Any]:
    """The derivatives by y: those that are None raise, become zeros shaped like y, or stay None."""
    ys, xs, stop = problem.ys, problem.tensors, problem.stop
    absent = [y for t, y in zip(found, ys, strict=True) if t is None]
    if absent and disconnected == "raise":
        raise DisconnectedError("\n".join(f"{y.name} depends on no x. {_explain([y], xs, stop)}" for y in absent))
    return [tf.zeros_like(y) if t is None and disconnected == "zero" else t for t, y in zip(found, ys, strict=True)]


def for_paths(problem: Problem, disconnected: str) -> None:
    """Raise, if asked for, before anything is built: for a y that no path reaches and an x that no path leaves."""
    if disconnected == "raise":
        found = zip(problem.ys, problem.between.reached, strict=True)
        for_outputs([y if reached else None for y, reached in found], problem, disconnected)
        for_leaving(problem, disconnected)


def for_leaving(problem: Problem, disconnected: str) -> None:
    """Raise, if asked for, before anything is built: for an x that no path leaves."""
    if disconnected == "raise":
        leads = zip(problem.tensors, problem.between.connected, strict=True)
        for_inputs([t if connected else None for t, connected in leads], problem, disconnected)


def _explain(ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], stop: Sequence[tf.Tensor]) -> str:
    causes = "\n".join(sentences(diagnose.why_none(list(ys), list(xs), stop_gradients=list(stop))))
    causes = causes or "no derivative arrives, although every op on the way has one; please report the graph"
    return f'{causes}\nPass disconnected="zero" or "none" if this is meant to be so.'
