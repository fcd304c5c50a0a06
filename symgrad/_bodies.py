"""The function bodies behind a loop, branch or call, as Python graphs; nothing is built in the op's own graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf
from ._op_types import CALLS, CASES, FUNCTIONAL, IFS, LOOPS
from .errors import GraphMismatchError


@dataclass(frozen=True, eq=False)
class Body:
    """One function that an op runs.

    Attributes:
      kind: "cond" or "body" of a loop, "branch", or "call".
      graph: its graph, with `inputs` and `outputs`.
      offset: which input of the op is the function's first.
    """

    kind: str
    graph: Any
    offset: int


def runs_bodies(op: tf.Operation) -> bool:
    """True for an op that runs functions."""
    return op.type in FUNCTIONAL or _tf.is_function(op.graph, op.type)


def is_call(op: tf.Operation) -> bool:
    """True for the call of a function: an op that names it, or, of Defun, an op whose type is the function's name."""
    return op.type in CALLS or _tf.is_function(op.graph, op.type)


def called(call: tf.Operation) -> str:
    """The name of the function that a call runs."""
    return call.get_attr("f").name if call.type in CALLS else call.type


def declared_gradient(op: tf.Operation) -> Callable[..., Any] | str | None:
    """What stands for the gradient of the function that `op` calls, by Defun: a callable, or the name of a function."""
    return _tf.gradient_of_function(op.graph, called(op)) if is_call(op) else None


def differentiates_bodies(op: tf.Operation) -> bool:
    """False where a gradient of the user's own stands for that of the bodies."""
    if _tf.has_attribute(op, "_gradient_op_type") or declared_gradient(op) is not None:
        return False
    function = op._gradient_function  # tf.function gives each of its calls a method of this class
    return function is None or getattr(function, "__qualname__", "").startswith("_DelayedRewriteGradientFunctions.")


def bodies(op: tf.Operation) -> list[Body]:
    """The functions that `op` runs; empty for every other op."""
    if op.type in LOOPS:
        return [_body(op, kind, 0, op.get_attr(kind).name, f"_{kind}_graph") for kind in ("cond", "body")]
    if op.type in IFS:
        names = (("then_branch", "_true_graph"), ("else_branch", "_false_graph"))
        return [_body(op, "branch", 1, op.get_attr(name).name, cache) for name, cache in names]
    if op.type in CASES:
        branches = enumerate(op.get_attr("branches"))
        return [_body(op, "branch", 1, f.name, f"_branch_graph_{i}") for i, f in branches]
    return [_body(op, "call", 0, called(op))] if is_call(op) else []


def _body(op: tf.Operation, kind: str, offset: int, name: str, cache: str = "") -> Body:
    graph = getattr(op, cache, None) if cache else _tf.traced_graph(op.graph, name)
    if graph is None:
        try:
            graph = _tf.function_graph(op, [t.shape for t in list(op.inputs)[offset:]], name)
        except (KeyError, ValueError) as error:  # a damaged file: the function, or one that it calls, is not there
            raise GraphMismatchError(f"{op.type} {op.name!r} runs {name!r}, which cannot be read: {error}") from error
    return Body(kind, graph, offset)
