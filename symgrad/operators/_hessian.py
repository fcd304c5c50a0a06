"""Second derivatives: the Hessian, and products with it and with the generalised Gauss-Newton matrix."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _vectors, _vjp
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_maps import Space
from .._jacobians._sizing import check_block_size
from .._jacobians._tabulate import block, tabulate
from .._keywords import operator
from .._problem import Disconnected, Problem, posed, shaped
from ..errors import ShapeError
from . import _disconnected
from ._lop import Lop
from ._rop import Rop


@operator
def hessian(
    y: Any, xs: Any, *, block_size: int | None = None, disconnected: Disconnected = "raise", name: str = "hessian"
) -> Any:
    """The Hessian of a scalar y: d2y / dx_i dx_j for every pair of xs.

    Args:
      y: scalar tensor, shape ().
      xs: tensor, variable or structure of them x_i, any shapes.
      block_size: how many rows are vectorised at a time, as for `jacobian`.
      disconnected: what to give for an x that y does not depend on: "raise", "zero" or "none". It judges the first
        derivative: a y that is linear in x has a Hessian of zeros.
      name: scope of the new ops.

    Returns:
      Structure like `xs` with the structure of `xs` inside each leaf: blocks of shape x_i.shape + x_j.shape.

    Raises:
      ShapeError: y is no scalar; the result would be larger than `symgrad.operators.limits` allows.
      DtypeError: also for complex xs of which y is no holomorphic function.
      DisconnectedError, MissingRuleError, DtypeError, GraphMismatchError, ControlFlowError: as for `jacobian`.

    Example:
      >>> x = tf.constant([1., 2.])
      >>> run(symgrad.hessian(x[0] ** 2 * x[1], x))
      array([[4., 2.],
             [2., 0.]], dtype=float32)
    """
    check_block_size(block_size)
    with posed(y, xs, disconnected=disconnected, name=name) as problem:
        check_holomorphic(problem)
        # Backwards through the gradient of a V1 loop there is no way.
        mode = "columns" if problem.crossings.v1_loops else "rows"
        _disconnected.for_leaving(problem, disconnected)
        _rehearsal.derivatives_of_gradients(problem.between, forward=mode == "columns")
        gradients = first_derivatives(problem, disconnected)
        connected = [i for i, g in enumerate(gradients) if g is not None]
        given = [problem.xs[i] for i in connected]
        second = Problem([gradients[i] for i in connected], given)
        found = tabulate(second, mode=mode, block_size=block_size) if given else []
        pairs = [(i, j) for i in connected for j in connected]
        blocks = dict(zip(pairs, (b for row in found for b in row), strict=True))
        rows = [
            [blocks[i, j] if (i, j) in blocks else _absent(a, b, disconnected) for j, b in enumerate(problem.xs)]
            for i, a in enumerate(problem.xs)
        ]
        return _tensors.pack(xs, [_tensors.pack(xs, row) for row in rows])


@operator
def hvp(y: Any, xs: Any, vectors: Any, *, disconnected: Disconnected = "raise", name: str = "hvp") -> Any:
    """The Hessian of `y` times `vectors`, without the Hessian: the R-operator of the gradient (forward over reverse).

    Where y is real and some x complex, it is the derivative along `vectors` of the gradient as `tf.gradients` gives it;
    such a product is linear over the real numbers only, so there is no complex Hessian.

    Args:
      y: scalar tensor, shape ().
      xs: tensor, variable or structure of them x_i, any shapes.
      vectors: structure like `xs`, each v_i of the shape and dtype of x_i; None stands for zeros.
      disconnected: what to give for an x that y does not depend on: "raise", "zero" or "none". It judges the first
        derivative: a y that is linear in x gives zeros.
      name: scope of the new ops.

    Returns:
      Structure like `xs`: sum_j (d2y / dx_i dx_j) v_j, each of the shape of x_i.

    Raises:
      ShapeError: y is no scalar, or vectors do not match xs.
      DisconnectedError, MissingRuleError, NotLinearError, DtypeError, GraphMismatchError, ControlFlowError: as for
        `Rop`.

    Example:
      >>> x = tf.constant([1., 2.])
      >>> run(symgrad.hvp(tf.reduce_sum(x ** 3), x, [1., 1.]))
      array([ 6., 12.], dtype=float32)

    Reference: B. Pearlmutter (1994), Fast exact multiplication by the Hessian, Neural Computation 6(1).
    """
    with posed(y, xs, disconnected=disconnected, name=name, vectors=vectors) as problem:
        require_scalar(problem.ys)
        if any(y.dtype.is_complex for y in problem.ys):
            check_holomorphic(problem)
        _disconnected.for_leaving(problem, disconnected)
        _rehearsal.derivatives_of_gradients(problem.between, forward=True)
        tangents = _vectors.vectors(vectors, xs, problem.xs, "vectors")
        gradients = first_derivatives(problem, disconnected)
        connected = [i for i, g in enumerate(gradients) if g is not None]
        products: list[Any] = [None if disconnected == "none" else x.zeros() for x in problem.xs]
        if connected:
            pushed = Rop(
                [gradients[i] for i in connected],
                [problem.xs[i].given for i in connected],
                [tangents[i] for i in connected],
                disconnected="zero",
            )
            for i, product in zip(connected, pushed, strict=True):
                products[i] = product
        return _tensors.pack(xs, shaped(products, problem.xs))


@operator
def ggnvp(
    loss: Any, outputs: Any, xs: Any, vectors: Any, *, disconnected: Disconnected = "raise", name: str = "ggnvp"
) -> Any:
    """The generalised Gauss-Newton matrix times `vectors`: J^T H J v, with J = d outputs/dx and H = d2 loss/d outputs2.

    Neither matrix is formed: a Rop, a product with the Hessian of the loss in its outputs, a Lop.

    Args:
      loss: scalar tensor, shape (), a function of `outputs`.
      outputs: tensor or structure of tensors between xs and the loss, such as logits or residuals.
      xs: tensor, variable or structure of them x_i, any shapes.
      vectors: structure like `xs`, each v_i of the shape and dtype of x_i; None stands for zeros.
      disconnected: what to give where `outputs` do not depend on some x or the loss not on some output: "raise", "zero"
        or "none".
      name: scope of the new ops.

    Returns:
      Structure like `xs`, each of the shape of x_i.

    Raises:
      ShapeError: the loss is no scalar, or vectors do not match xs.
      DisconnectedError, MissingRuleError, NotLinearError, DtypeError, GraphMismatchError, ControlFlowError: as for
        `Rop`.

    Example:
      >>> x = tf.constant([1., 2.])
      >>> residuals = tf.stack([x[0] * x[1], x[0]])
      >>> run(symgrad.ggnvp(tf.reduce_sum(residuals ** 2) / 2, residuals, x, [1., 0.]))
      array([5., 2.], dtype=float32)

    Reference: N. Schraudolph (2002), Fast curvature matrix-vector products for second-order gradient descent, Neural
    Computation 14(7).
    """
    with posed(loss, xs, disconnected=disconnected, name=name, vectors=vectors) as problem:
        require_scalar(problem.ys)
        leaves = _tensors.outputs(outputs)
        _rehearse_parts(problem, leaves, disconnected)
        tangents = _vectors.vectors(vectors, xs, problem.xs, "vectors")
        given = [x.given for x in problem.xs]
        judged: Disconnected = "raise" if disconnected == "raise" else "zero"
        pushed = Rop(leaves, given, tangents, disconnected=judged)
        curved = hvp(loss, leaves, pushed, disconnected=judged)
        holomorphic = problem.ys[0].dtype.is_complex
        pulled = Lop(leaves, given, _conjugated(curved) if holomorphic else curved, disconnected=disconnected)
        return _tensors.pack(xs, shaped(_conjugated(pulled) if holomorphic else pulled, problem.xs))


def _rehearse_parts(problem: Problem, outputs: Sequence[tf.Tensor], disconnected: str) -> None:
    """Refuse, before anything is built, what one of the three products would refuse."""
    network = Problem(outputs, problem.xs)
    _disconnected.for_paths(network, disconnected)
    _rehearsal.forward(network.between)
    loss = Problem(problem.ys, _tensors.inputs(outputs, problem.ys[0].graph))
    _disconnected.for_leaving(loss, disconnected)
    _rehearsal.derivatives_of_gradients(loss.between, forward=True)
    _rehearsal.backward(network.between)


def first_derivatives(problem: Problem, disconnected: str) -> list[tf.Tensor | None]:
    """dy/dx of a scalar y for each x; None where y does not depend on x and that is allowed."""
    require_scalar(problem.ys)
    (y,) = problem.ys
    found = _vjp.vjp([y], problem.tensors, [_one(y)], between=problem.between)
    _disconnected.for_inputs(found, problem, "raise" if disconnected == "raise" else "none")
    # TensorFlow's gradient is the conjugate of the derivative of a holomorphic function.
    return _conjugated(found) if y.dtype.is_complex else found


def require_scalar(ys: Sequence[tf.Tensor]) -> None:
    """Raise ShapeError for what is known to be no scalar, before anything is built."""
    if len(ys) != 1 or ys[0].shape.rank not in (0, None):
        shapes = ", ".join(f"{y.name} of shape {y.shape}" for y in ys)
        raise ShapeError(f"y must be one scalar, came {shapes}; reduce it (tf.reduce_sum), or take a Jacobian")


def _one(y: tf.Tensor) -> tf.Tensor:
    """The cotangent 1; where only the session knows the rank of y, it stops a run in which y is no scalar."""
    if y.shape.rank == 0:
        return tf.ones_like(y)
    message = f"ShapeError: y must be one scalar ({y.name}); reduce it (tf.reduce_sum), or take a Jacobian"
    with tf.control_dependencies([tf.debugging.assert_rank(y, 0, message=message)]):
        return tf.ones_like(y)


def _conjugated(tensors: Sequence[tf.Tensor | None]) -> list[tf.Tensor | None]:
    return [None if t is None else tf.math.conj(t) for t in tensors]


def _absent(a: _tensors.Input, b: _tensors.Input, disconnected: str) -> tf.Tensor | None:
    if disconnected == "none":
        return None
    return block(Space.of(a), Space.of(b), None)
