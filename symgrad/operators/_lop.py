"""The L-operator: a cotangent pulled back, v^T J."""

from typing import Any

from .. import _rehearsal, _tensors, _vectors, _vjp
from .._keywords import operator
from .._problem import Disconnected, posed, shaped
from . import _disconnected


@operator
def Lop(
    ys: Any,
    xs: Any,
    grad_ys: Any,
    *,
    disconnected: Disconnected = "raise",
    stop_gradients: Any = None,
    name: str = "Lop",
) -> Any:
    """The L-operator v^T J: the vector `grad_ys` times the Jacobian of `ys` with respect to `xs`, by one reverse pass.

    For complex tensors it follows TensorFlow: J^T is conjugated, and for a holomorphic y the result is conj(J)^T v.

    Args:
      ys: tensor or structure of tensors y_k, any shapes, floating or complex.
      xs: tensor, variable or structure of them x_i, any shapes, floating or complex.
      grad_ys: structure like `ys`, each v_k of the shape and dtype of y_k; None stands for zeros.
      disconnected: what to give for an x that no y depends on: "raise", "zero" or "none".
      stop_gradients: tensor or structure of tensors that count as constants.
      name: scope of the new ops.

    Returns:
      Structure like `xs`: sum_k v_k^T dy_k/dx_i, dense, each of the shape and dtype of x_i.

    Raises:
      DisconnectedError: no y depends on some x; the message names the op that cuts the path.
      MissingRuleError: an op on the way has a derivative that nobody computes.
      ShapeError, DtypeError: vectors do not match ys; xs or ys are not floating.
      GraphMismatchError: eager tensors, tensors of several graphs, a finalized graph.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> run(symgrad.Lop(x ** 2, x, [1., 10., 100.]))
      array([  2.,  40., 600.], dtype=float32)

    Reference: A. Griewank, A. Walther (2008), Evaluating Derivatives, 2nd ed., section 3.2.
    """
    with posed(ys, xs, stop_gradients, disconnected=disconnected, name=name, vectors=grad_ys) as problem:
        _disconnected.for_leaving(problem, disconnected)
        _rehearsal.backward(problem.between)
        cotangents = _vectors.vectors(grad_ys, ys, problem.ys, "grad_ys")
        found = _vjp.vjp(problem.ys, problem.tensors, cotangents, stop=problem.stop, between=problem.between)
        found = _disconnected.for_inputs(found, problem, disconnected)
        return _tensors.pack(xs, shaped(found, problem.xs))
