"""Complex derivatives exist for holomorphic functions only: what else is on the way is refused."""

from collections.abc import Iterator

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _walk, rules
from .._problem import Problem
from .._vjp import is_users
from ..errors import DtypeError

# From complex to complex, and not holomorphic: they conjugate, or divide by a modulus.
_CONJUGATING = frozenset({
    "Cholesky", "CholeskyGrad", "Conj", "ConjugateTranspose", "EuclideanNorm", "LogMatrixDeterminant", "Qr",
    "SelfAdjointEigV2", "Sign", "SquaredDifference", "Svd",
})  # fmt: skip
# Attributes by which an op conjugates one of its operands, and that operand's number.
_ADJOINTS = {"adj_x": 0, "adj_y": 1, "adjoint": 0, "adjoint_a": 0, "adjoint_b": 1}


def check_holomorphic(problem: Problem) -> None:
    """Raise DtypeError if ys are not holomorphic functions of complex xs, or mix real and complex."""
    ys, xs = problem.ys, problem.xs
    for y in ys:
        for x in xs:
            if x.dtype.is_complex != y.dtype.is_complex:
                raise DtypeError(
                    f"{y.name} is {y.dtype.base_dtype.name} and {x.label} is {x.dtype.name}: such a function has no "
                    f"complex derivative. {_SPLIT}"
                )
    if any(y.dtype.is_complex for y in ys):
        op, cause = next(_causes(problem.between), (None, ""))
        if op is not None:
            raise DtypeError(
                f"{ys[0].name} is no holomorphic function of {xs[0].label}: {op.type} {op.name!r} {cause}, so there is "
                f"no complex derivative. {_SPLIT}"
            )


def _causes(between: _walk.Between) -> Iterator[tuple[tf.Operation, str]]:
    """The ops on the way that are not holomorphic, also in the bodies of loops, branches and calls, and why."""
    for op in between.ops:
        cause = _cause(op, between) or _cause_by_users_gradient(op, between)
        if cause:
            yield op, cause
        for body in rules.inside(op, set(between.active_inputs(op))):
            yield from _causes(body)


def _cause_by_users_gradient(op: tf.Operation, between: _walk.Between) -> str:
    """Why the gradient that a user gave to an op is none of a holomorphic function: with the incoming gradient u, that
    of a holomorphic f is conj(f') u, in which u itself is neither conjugated nor split.
    """
    if not is_users(op) or not any(op.inputs[i].dtype.is_complex for i in between.active_inputs(op)):
        return ""
    inner, cause = next(_causes(_rehearsal.gradient_paths(op, between)), (None, ""))
    return (
        f"has a gradient function of yours, in which {inner.type} {inner.name!r} {cause}" if inner is not None else ""
    )


_SPLIT = (
    "For real derivatives, split it into real and imaginary parts: make x = tf.complex(a, b) and take the Jacobian of "
    "[tf.math.real(y), tf.math.imag(y)] by [a, b]; Lop and Rop take complex tensors as they are"
)


def _cause(op: tf.Operation, between: _walk.Between) -> str:
    """Why an op on the way is not holomorphic; empty if it is."""
    active = between.active_inputs(op)
    if not active:
        return ""
    floating = [t for t in [*(op.inputs[i] for i in active), *op.outputs] if _tensors.is_floating(t)]
    if any(not t.dtype.is_complex for t in floating if id(t) in between.tensors or t in op.outputs):
        return "goes between complex and real"
    if op.type in _CONJUGATING:
        return "conjugates"
    for attribute, operand in _ADJOINTS.items():
        if operand in active and attribute in op.node_def.attr and op.get_attr(attribute):
            return f"conjugates its input {operand}"
    return ""
