"""Higher derivatives along curves: Taylor series pushed forward."""

import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _tf, _vectors
from .._keywords import operator
from .._problem import Disconnected, posed, shaped
from .._tangents import along, pushed
from ..errors import ShapeError
from . import _disconnected


@operator
def jet(
    ys: Any,
    xs: Any,
    series: Any,
    *,
    disconnected: Disconnected = "raise",
    stop_gradients: Any = None,
    name: str = "jet",
) -> Any:
    """The derivatives of `ys` along a curve x(t), of all orders up to K, by one forward pass.

    d^k y(x(t)) / dt^k at t = 0, which along a straight line, `series=[v, None, ...]`, is (v . d/dx)^k y. The ops grow
    with a power of K, those of nested `Rop` calls exponentially.

    Args:
      ys: tensor or structure of tensors y_k, any shapes, floating or complex.
      xs: tensor, variable or structure of them x_i, any shapes, floating or complex.
      series: structure like `xs`, for each x_i the list [x_i', x_i'', ...] of K derivatives of the curve, each of the
        shape and dtype of x_i; None stands for zeros.
      disconnected: what to give for a y that depends on no x, or an x that no y depends on: "raise", "zero" or "none".
      stop_gradients: tensor or structure of tensors that count as constants.
      name: scope of the new ops.

    Returns:
      Structure like `ys`, for each y the list [y', y'', ...] of K tensors of its shape and dtype: derivatives, not
      divided by k!. One that is zero by the structure of the graph, such as the second of a relu, is zeros.

    Raises:
      ShapeError: a list of derivatives is empty, or they are of different lengths.
      DisconnectedError, MissingRuleError, NotLinearError, ControlFlowError, DtypeError, GraphMismatchError: as for
        `Rop`.

    Example:
      >>> x = tf.constant(2.)
      >>> run(tf.stack(symgrad.jet(x ** 3, x, [1., None, None])))
      array([12., 12.,  6.], dtype=float32)

    Reference: A. Griewank, A. Walther (2008), Evaluating Derivatives, chapter 13.
    """
    with posed(ys, xs, stop_gradients, disconnected=disconnected, name=name, vectors=series) as problem:
        curves = _curves(series, xs, problem.xs)
        order = len(curves[0]) if curves else 1
        _disconnected.for_paths(problem, disconnected)
        _rehearsal.series(problem.between, order)
        found = pushed(problem.between, problem.ys, problem.tensors, _terms(curves, problem.xs), along(order))
        results = [
            [_derivative(push.result(y), y, push.term + 1, r, disconnected) for push in found.pushes]
            for y, r in zip(problem.ys, problem.between.reached, strict=True)
        ]
        return _tensors.pack(ys, [shaped(result, [y] * order) for result, y in zip(results, problem.ys, strict=True)])


def _derivative(coefficient, y: tf.Tensor, order: int, reached: bool, disconnected: str) -> tf.Tensor | None:
    """A coefficient times k!."""
    if coefficient is None:
        return tf.zeros_like(y) if reached or disconnected == "zero" else None
    return coefficient if order == 1 else coefficient * float(math.factorial(order))


def _curves(series: Any, structure: Any, xs: Sequence[_tensors.Input]) -> list[list[Any]]:
    """For each x the derivatives of its curve as they are given."""
    try:
        leaves = _tf.flatten_up_to(structure, series, check_types=False)
    except (LookupError, TypeError, ValueError) as error:
        raise ShapeError(f"series must have the structure of xs, with a list in the place of each x: {error}") from None
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, list | tuple) or not leaf:
            raise ShapeError(
                f"series[{i}] is {leaf!r}; wanted a list [x', x'', ...] of the derivatives of {xs[i].label}"
            )
        if len(leaf) != len(leaves[0]):
            raise ShapeError(
                f"series[{i}] has {len(leaf)} derivatives and series[0] has {len(leaves[0])}; give each x as many, "
                "None for zeros"
            )
    return [list(leaf) for leaf in leaves]


def _terms(curves: Sequence[Sequence[Any]], xs: Sequence[_tensors.Input]) -> list[dict[int, tf.Tensor]]:
    """For each x the Taylor coefficients of its curve, those that are not zero."""
    places = [(i, k) for i, curve in enumerate(curves) for k, v in enumerate(curve) if v is not None]
    made = _vectors.labelled([(curves[i][k], xs[i], f"series[{i}][{k}]") for i, k in places])
    terms: list[dict[int, tf.Tensor]] = [{} for _ in curves]
    for (i, k), v in zip(places, made, strict=True):
        terms[i][k] = v if k == 0 else v * (1.0 / math.factorial(k + 1))
    return terms
