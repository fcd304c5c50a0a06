"""Checks that a derivative is right: each raises AssertionError with the figures, or returns the error found."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import tensorflow.compat.v1 as tf

from .. import operators
from ._numeric import directional
from ._probe import Probe, inner, random_like, tolerance

# What rounding leaves of an identity between two sums, relative to the size of their terms.
_ROUNDING = {tf.float64: 1e-10, tf.complex128: 1e-10, tf.float32: 1e-4, tf.complex64: 1e-4}
_MOST_ELEMENTS = 64  # up to so many elements of x, each gets a difference of its own
_DIRECTIONS = 8


def check_adjoint(
    ys: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict[Any, Any] | None = None,
    seed: int = 0,
    method: Literal["auto", "double_vjp", "forward"] = "auto",
    tol: float | None = None,
) -> float:
    """Check that Rop is the adjoint of Lop: <u, J v> = <J^T u, v> for random u and v, in one session.run.

    As both sides come from one run, dropout and other random ops take one sample for both.

    Args:
      ys: tensor or structure of tensors.
      xs: tensor, variable or structure of them.
      session: by default the default session, else a new one with new variables.
      feed_dict: what ys need to be fed.
      seed: of the random vectors.
      method: the method of `Rop`.
      tol: largest difference allowed, relative to the norms; by default 1e-10 in float64, 1e-4 in float32, 0.1 below.

    Returns:
      The difference found, relative to ||u|| ||J v|| + ||J^T u|| ||v||.

    Raises:
      AssertionError: the two differ by more than `tol`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> symgrad.testing.check_adjoint(tf.sin(x), x) < 1e-10
      True
    """
    probe = Probe(ys, xs, session, feed_dict)
    rng = np.random.default_rng(seed)
    u = [random_like(s, y.dtype, rng) for s, y in zip(probe.shapes(), probe.ys, strict=True)]
    v = [random_like(p.shape, x.dtype, rng) for p, x in zip(probe.points(), probe.xs, strict=True)]
    lop = operators.Lop(probe.ys, [x.given for x in probe.xs], u, disconnected="zero")
    rop = operators.Rop(probe.ys, [x.given for x in probe.xs], v, method=method, disconnected="zero")
    pulled, pushed = probe.run([lop, rop])
    left, right = inner(u, pushed), inner(pulled, v)
    scale = _norm(u) * _norm(pushed) + _norm(pulled) * _norm(v)
    error = abs(left - right) / scale if scale else 0.0
    limit = _limit(tol, probe)
    if not error <= limit:
        raise AssertionError(f"<u, Rop> = {left:.15g} and <Lop, v> = {right:.15g} differ by {error:.3g} > {limit:.3g}")
    return error


def check_linear(
    ys: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict[Any, Any] | None = None,
    seed: int = 0,
    tol: float | None = None,
) -> float:
    """Check that Lop is linear in the cotangent: g(a u + b w) = a g(u) + b g(w), in one session.run.

    A gradient function that clips, squares or adds to the incoming gradient is not linear; a Rop by double VJP through
    it has no meaning.

    Args:
      ys: tensor or structure of tensors.
      xs: tensor, variable or structure of them.
      session: by default the default session, else a new one with new variables.
      feed_dict: what ys need to be fed.
      seed: of the random vectors.
      tol: largest difference allowed, relative to the norm; by default 1e-10 in float64, 1e-4 in float32, 0.1 below.

    Returns:
      The difference found, relative to |a| ||g(u)|| + |b| ||g(w)||.

    Raises:
      AssertionError: the two differ by more than `tol`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> symgrad.testing.check_linear(tf.sin(x), x) < 1e-10
      True
    """
    probe = Probe(ys, xs, session, feed_dict)
    rng = np.random.default_rng(seed)
    shapes = probe.shapes()
    u, w = ([random_like(s, y.dtype, rng) for s, y in zip(shapes, probe.ys, strict=True)] for _ in range(2))
    a, b = 3.0, -1.5  # their sum is not 1, or an added constant would go unseen
    both = [(a * p + b * q).astype(p.dtype) for p, q in zip(u, w, strict=True)]
    given = [x.given for x in probe.xs]
    of_u, of_w, of_both = probe.run([operators.Lop(probe.ys, given, c, disconnected="zero") for c in (u, w, both)])
    off = _norm([m - a * p - b * q for m, p, q in zip(of_both, of_u, of_w, strict=True)])
    scale = abs(a) * _norm(of_u) + abs(b) * _norm(of_w)
    error = off / scale if scale else off
    limit = _limit(tol, probe)
    if not error <= limit:
        raise AssertionError(f"the gradient is not linear in the incoming gradient: off by {error:.3g} > {limit:.3g}")
    return error


def verify_grad(
    ys: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict[Any, Any] | None = None,
    seed: int = 0,
    eps: float | None = None,
    tol: float | None = None,
) -> float:
    """Check Lop against central differences: each element of J^T u for a random u, or random directions of a large x.

    Differences want float64: build the graph in it. Ys must be the same function in every run: draw no random numbers.

    Args:
      ys: tensor or structure of tensors.
      xs: tensor, variable or structure of them; tensors are fed, variables assigned and put back.
      session: by default the default session, else a new one with new variables.
      feed_dict: what ys need to be fed.
      seed: of the random vectors.
      eps: the step; by default the cube root of the precision of x, times the largest |x| if that is above 1.
      tol: largest difference allowed, relative to the largest element and at least 1; by default 1e-6 in float64,
        1e-2 in float32, 0.1 below.

    Returns:
      The largest difference found.

    Raises:
      AssertionError: some x is off by more than `tol`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> symgrad.testing.verify_grad(tf.sin(x), x) < 1e-6
      True

    Reference: the test of this name in Theano (J. Bergstra et al., 2010).
    """
    probe = Probe(ys, xs, session, feed_dict)
    rng = np.random.default_rng(seed)
    u = [random_like(s, y.dtype, rng) for s, y in zip(probe.shapes(), probe.ys, strict=True)]
    pulled = probe.run(operators.Lop(probe.ys, [x.given for x in probe.xs], u, disconnected="zero"))
    limit = tolerance([t.dtype for t in (*probe.xs, *probe.ys)]) if tol is None else tol
    worst = 0.0
    for x, point, gradient in zip(probe.xs, probe.points(), pulled, strict=True):
        directions = _directions(point, x.dtype, rng)
        got = np.array([inner([gradient], [d]) for d in directions])
        want = np.array([inner(u, directional(probe, x, point, d, eps)) for d in directions])
        error = float(np.max(np.abs(got - want), initial=0.0) / max(1.0, np.max(np.abs(want), initial=0.0)))
        if not error <= limit:
            at = int(np.argmax(np.abs(got - want)))
            raise AssertionError(
                f"{x.label}: along direction {at} the gradient is {got[at]:.9g}, the central difference "
                f"{want[at]:.9g}; off by {error:.3g} > {limit:.3g}"
            )
        worst = max(worst, error)
    return worst


def _directions(point: np.ndarray, dtype: tf.DType, rng: np.random.Generator) -> list[np.ndarray]:
    """The unit vectors of a small x (and i times them if it is complex), some random directions of a large one."""
    if point.size > _MOST_ELEMENTS:
        return [random_like(point.shape, dtype, rng) / np.sqrt(point.size) for _ in range(_DIRECTIONS)]
    units = np.eye(point.size, dtype=point.dtype).reshape((point.size, *point.shape))
    return [*units, *(1j * units)] if dtype.is_complex else list(units)


def _limit(tol: float | None, probe: Probe) -> float:
    if tol is not None:
        return tol
    return max(_ROUNDING.get(t.dtype.base_dtype, 1e-1) for t in (*probe.xs, *probe.ys))


def _norm(arrays: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(inner(arrays, arrays)))
