"""Why a gradient is None."""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _where
from .._collector import collector_paused
from .._finding import Finding
from ..errors import GraphMismatchError
from ..rules import Cut
from ._absent import absent
from ._flow import Flow
from ._subject import Subject, seen_from, subjects

ADVICE = {
    Cut.STOP_GRADIENT: "Remove it, or take it off this path",
    Cut.NO_BACK_PROP: "Leave back_prop=False out; it does what tf.stop_gradient does",
    Cut.ZERO: "A step has no slope: use a smooth function, or a custom gradient (straight-through)",
    Cut.INTEGER: "Take the floating tensor before it, or a smooth one (softmax for argmax, sigmoid for a comparison)",
    Cut.NOT_DIFFERENTIABLE: "Give a rule with symgrad.rules.transpose, or compute it by other ops",
    Cut.UNREGISTERED: "Give a rule with symgrad.rules.transpose, or compute it by other ops",
    Cut.UNANSWERED: "Compute this input's part by other ops",
    Cut.FAILS: "Give a rule with symgrad.rules.transpose, or compute it by other ops",
    Cut.CUSTOM_NONE: "Let the custom gradient answer for this input",
    Cut.CUSTOM_LOST: "Import the code that registers it (tf.RegisterGradient), or drop the attribute _gradient_op_type",
    Cut.ASSIGNED: "Differentiate with respect to the variable, or use the value itself instead of the variable",
    Cut.FUNCTION_CALL: "Call the function itself",
    Cut.INTEGER_X: "Derivatives exist with respect to floating and complex tensors only",
}


def why_none(ys: Any, xs: Any, *, stop_gradients: Any = None) -> list[Finding]:
    """For each x from which no derivative of ys arrives, the ops that cut its paths; builds nothing in the graph.

    A path's first cut counts, and what else stands on the way from there to ys that is cut least. Cuts that pass only
    the shape of x on are named if there are no others.

    Args:
      ys: tensor, variable or structure of them.
      xs: tensor, variable or structure of them.
      stop_gradients: tensor or structure of tensors that count as constants.

    Returns:
      A list of `Finding`, empty if a derivative arrives at each x. An op that several paths cross is named once.

    Raises:
      DtypeError: a leaf is no tensor and no variable.
      ShapeError: ys or xs are empty.
      GraphMismatchError: ys are eager tensors.

    Example:
      >>> x = tf.placeholder(tf.float32, [3], name="x")
      >>> y = tf.cast(tf.argmax(x, name="best"), tf.float32)
      >>> [(f.cause.name, f.op, f.path) for f in symgrad.diagnose.why_none(y, x)]
      [('INTEGER', 'best', ('x', 'best', 'Cast'))]
    """
    wanted = subjects(ys, "ys")
    if any(y.is_eager for y in wanted):
        raise GraphMismatchError("ys are eager tensors, which carry no graph; give tensors of a tf.Graph")
    graph = wanted[0].tensor.graph
    asked = [seen_from(x, graph) for x in subjects(xs, "xs")]
    stops = [] if stop_gradients is None else [seen_from(s, graph) for s in subjects(stop_gradients, "stop_gradients")]
    with collector_paused():
        return list(_findings(wanted, asked, [s.tensor for s in stops if not s.is_eager]))


def _findings(ys: Sequence[Subject], xs: Sequence[Subject], stop: Sequence[tf.Tensor]) -> Iterator[Finding]:
    from ._search import Search

    flow = Flow([y.tensor for y in ys], [x.tensor for x in xs if not x.is_eager], stop)
    numbers = [None if x.is_eager else flow.number_of(x.tensor) for x in xs]
    search = Search(flow, [y.tensor for y in ys], [n for n in numbers if n is not None])
    for x, number in zip(xs, numbers, strict=True):
        if not _may_have_derivative(x):
            yield Finding(x.name, Cut.INTEGER_X, detail=f"its dtype is {x.dtype.name}", advice=ADVICE[Cut.INTEGER_X])
        elif number is None:
            yield absent(flow, ys, x)
        elif not search.is_connected(number):
            yield from _cuts(search, x, number)


def _may_have_derivative(x: Subject) -> bool:
    return x.dtype in _tensors.FLOATING or x.dtype in (tf.resource, tf.variant)


def _cuts(search: Any, x: Subject, number: int) -> list[Finding]:
    """What cuts the paths from x, each op once; what no derivative should pass counts if there is nothing else."""
    from ._search import WITHOUT_VALUES

    steps: dict[Any, tuple[int, int]] = {}
    for step in search.cuts_of(number):
        steps.setdefault(search.cuts[step], step)
    findings = [_finding(search, x, number, step) for step in steps.values()]
    return [f for f in findings if f.cause not in WITHOUT_VALUES] or findings


def _finding(search: Any, x: Subject, number: int, step: tuple[int, int]) -> Finding:
    cause, blamed = search.cuts[step]
    site, op, _ = search.flow.nodes[blamed]
    return Finding(
        x.name,
        cause,
        op.name,
        op.type,
        within=site.within,
        where=_where.made_at(op),
        detail=search.answers.error(op) if cause in (Cut.CUSTOM_FAILS, Cut.FAILS) else "",
        advice=ADVICE.get(cause, ""),
        trail=lambda: search.names(search.path(number, step)),
    )
