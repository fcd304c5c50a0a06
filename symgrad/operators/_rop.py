"""The R-operator: a tangent pushed forward, J v."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _vectors, _vjp, _walk
from .._keywords import operator
from .._op_types import ENTERS, EXITS, is_array
from .._problem import Disconnected, Problem, posed, shaped
from .._tangents import push
from ..errors import ControlFlowError
from . import _disconnected


@operator
def Rop(
    ys: Any,
    xs: Any,
    tangents: Any,
    *,
    method: Literal["auto", "double_vjp", "forward"] = "auto",
    disconnected: Disconnected = "raise",
    stop_gradients: Any = None,
    name: str = "Rop",
) -> Any:
    """The R-operator J v: the Jacobian of `ys` with respect to `xs` times the vector `tangents`.

    Args:
      ys: tensor or structure of tensors y_k, any shapes, floating or complex.
      xs: tensor, variable or structure of them x_i, any shapes, floating or complex.
      tangents: structure like `xs`, each v_i of the shape and dtype of x_i; None stands for zeros. A tangent enters at
        its x and adds to what arrives there from xs upstream.
      method: "forward" pushes the tangents op by op. "double_vjp" takes the vector-Jacobian product g(u) = J^T u and,
        as g is linear in u, that of g at v, which is J v. "auto" is the method that is right for this graph.
      disconnected: what to give for a y that depends on no x, or an x that no y depends on: "raise", "zero" or "none".
      stop_gradients: tensor or structure of tensors that count as constants.
      name: scope of the new ops.

    Returns:
      Structure like `ys`: sum_i dy_k/dx_i v_i, each of the shape and dtype of y_k.

    Raises:
      DisconnectedError: there is no path; the message names the op that cuts it.
      MissingRuleError: an op on the way, or its gradient op, has a derivative that nobody computes.
      NotLinearError: a gradient function is not linear in the incoming gradient.
      ControlFlowError: "double_vjp" and ys cross a V1 loop, which TensorFlow does not differentiate twice; or a graph
        that differs from what `tf.while_loop` and `tf.cond` build.
      ShapeError, DtypeError, GraphMismatchError: as for `Lop`.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> run(symgrad.Rop(tf.stack([x[0] * x[1], x[2] ** 2]), x, [1., 0., 1.]))
      array([2., 6.], dtype=float32)

    Reference: J. Towns (2017), A new trick for calculating Jacobian vector products.
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method={method!r}; wanted one of {', '.join(map(repr, METHODS))}")
    with posed(ys, xs, stop_gradients, disconnected=disconnected, name=name, vectors=tangents) as problem:
        _disconnected.for_paths(problem, disconnected)
        METHODS[method].rehearse(problem.between)
        vectors = _vectors.vectors(tangents, xs, problem.xs, "tangents")
        found = METHODS[method].build(problem, vectors)
        found = _disconnected.for_outputs(found, problem, disconnected)
        return _tensors.pack(ys, shaped(found, problem.ys))


@dataclass(frozen=True)
class _Method:
    """A way to J v.

    Attributes:
      rehearse: raises, before anything is built, what refuses the paths.
      build: from the problem and the tangents to J v; None for a y that no path reaches.
    """

    rehearse: Callable[[_walk.Between], None]
    build: Callable[[Problem, Sequence[tf.Tensor]], list[tf.Tensor | None]]


def _pushed(problem: Problem, vectors: Sequence[tf.Tensor]) -> list[tf.Tensor | None]:
    """J v, pushed op by op."""
    return push(problem.between, problem.ys, problem.tensors, vectors)


def _pulled_twice(problem: Problem, vectors: Sequence[tf.Tensor]) -> list[tf.Tensor | None]:
    """J v by two reverse passes.

    The dummy u is made of ones: zeros turn the gradients of a norm and of a cumulative logsumexp into 0/0.
    """
    between = problem.between
    dummies = [tf.ones_like(y, name="dummy") for y in problem.ys]
    pulled = _vjp.vjp(problem.ys, problem.tensors, dummies, stop=problem.stop, between=between, linear=True)
    pairs = [(g, v) for g, v in zip(pulled, vectors, strict=True) if g is not None]
    if not pairs:
        return [None] * len(problem.ys)
    pushed = _vjp.vjp([g for g, _ in pairs], dummies, [v for _, v in pairs])
    parts = zip(pushed, problem.ys, between.reached, strict=True)
    return [tf.zeros_like(y) if t is None and reached else t for t, y, reached in parts]


def _rehearse_double_vjp(between: _walk.Between) -> None:
    refuse_v1_loops(between, "a double VJP", 'use method="forward"')
    _refuse_what_cannot_be_summed(between)
    _rehearsal.backward_twice(between)


_FORWARD = _Method(_rehearsal.forward, _pushed)
METHODS = {"auto": _FORWARD, "double_vjp": _Method(_rehearse_double_vjp, _pulled_twice), "forward": _FORWARD}


def _refuse_what_cannot_be_summed(between: _walk.Between) -> None:
    """Raise the typed error for ops whose second reverse pass fails in the session only."""
    for op in between.ops:
        if is_array(op.type):
            raise ControlFlowError(
                f"ys cross the V1 TensorArray at {op.name!r} ({op.type}), whose gradient cannot be taken in reverse "
                'again; use method="forward"'
            )


def refuse_v1_loops(
    between: _walk.Between, what: str, instead: str = "build it with tf.enable_control_flow_v2() on"
) -> None:
    """Raise ControlFlowError if a path crosses a loop of V1 control flow."""
    for op in between.ops:
        if op.type in ENTERS | EXITS:
            enter = next(o for o in between.ops if o.type in ENTERS)
            frame = enter.get_attr("frame_name").decode()
            raise ControlFlowError(
                f"ys cross the V1 loop {frame!r} (at {op.name!r}), through which {what} cannot go; {instead}"
            )
