"""Sums of second and fourth derivatives by one forward pass."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _sizes, _tensors
from .._jacobians._sizing import check_block_size
from .._keywords import operator
from .._problem import Disconnected
from .._tangents import weighted
from ..errors import ShapeError
from ._points import Fields, directions_of, fields_at


@operator
def laplacian(
    y: Any,
    x: Any,
    *,
    weights: Sequence[float] | None = None,
    directions: Any = None,
    samples: int | None = None,
    block_size: int | None = None,
    gradient: bool = False,
    disconnected: Disconnected = "raise",
    name: str = "laplacian",
) -> Any:
    """The Laplacian of a field at each point, weighted or along given directions: sum_r w_r (v_r . d/dx)^2 y.

    One forward pass, in which all second derivatives go as one tensor, their sum. y[n] is to depend on x[n] alone: a
    direction moves all points at once. An op on the way that mixes the points is named in a warning.

    Args:
      y: tensor [N, ...] or structure of them.
      x: the points: tensor [N, d], d known, or a list of columns [N, 1].
      weights: numbers w_r, [d] or one for each direction; by default 1.
      directions: v_r, array or tensor [R, d], or [R, N, d] such as the columns of a matrix sigma(x): then the result is
        tr(sigma^T H sigma), the operator of a diffusion. By default the d axes.
      samples: estimate it from so many random directions for each point, sums of the v_r with random signs; its
        expectation is the Laplacian, if no weight is negative.
      block_size: how many directions are alive at a time, which bounds the memory where d is large.
      gradient: whether to give the first derivatives (v_r . d/dx) y too, which are there anyway.
      disconnected: what to give for a y that does not depend on x: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      Structure like y: for each y a tensor of its shape; with `gradient` the pair of that and a tensor of the shape
      y.shape + [R].

    Raises:
      ShapeError: x is not [N, d] with d known, first dimensions differ, or weights and directions do not match.
      DtypeError: also for complex x of which y is no holomorphic function.
      DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError: as for `jet`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> run(symgrad.laplacian(x[:, 0] ** 2 * x[:, 1], x))
      array([4., 8.], dtype=float32)

    Reference: R. Li et al. (2024), A computational framework for neural network-based variational Monte Carlo with
    forward Laplacian, Nature Machine Intelligence 6.
    """
    check_block_size(block_size)
    if samples is not None and (gradient or not isinstance(samples, int) or samples < 1):
        raise ValueError(
            f"samples={samples!r}, gradient={gradient!r}; wanted a number of random directions from 1, and no gradient"
        )
    with fields_at(y, x, directions, disconnected=disconnected, name=name) as fields:
        fields.rehearse(2)
        along, factors = _directions(fields, directions, weights)
        if samples is not None:
            along, factors = _signed(fields, along, factors, samples)
        seconds, firsts = _in_blocks(fields, along, factors, block_size, gradient)
        results = [_tensors.pack(y, found) for found in (seconds, firsts)]
        return (results[0], results[1]) if gradient else results[0]


def _directions(fields: Fields, directions: Any, weights: Any) -> tuple[Any, list[float]]:
    """The directions as an array or tensor, and the weight of each."""
    along = np.eye(fields.dimension)
    if directions is not None:
        along = directions_of(directions, fields.xs[0], fields.dimension, "directions")
    count = _sizes.known_along(tf.TensorShape(along.shape), 0) or 0
    factors = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    if factors.shape != (count,):
        raise ShapeError(f"weights has the shape {factors.shape}; wanted one number for each of the {count} directions")
    return along, factors.tolist()


def _signed(fields: Fields, along: Any, factors: Sequence[float], samples: int) -> tuple[tf.Tensor, list[float]]:
    """Sums of the directions with random signs, of which the squares add up to those of the directions on average."""
    if min(factors) < 0:
        raise ValueError(f"weights={list(factors)}; an estimate from random directions wants none that is negative")
    x = fields.xs[0]
    roots = np.sqrt(np.asarray(factors))
    along = tf.convert_to_tensor(along, x.dtype) * tf.constant(
        roots.reshape([-1] + [1] * (len(along.shape) - 1)), x.dtype
    )
    shape = [samples, tf.shape(fields.ys[0])[0], len(factors)]
    signs = tf.cast(2 * tf.random_uniform(shape, 0, 2, tf.int32) - 1, x.dtype)
    formula = "snr,rd->snd" if along.shape.rank == 2 else "snr,rnd->snd"
    return tf.einsum(formula, signs, along), [1 / samples] * samples


def _in_blocks(fields: Fields, along: Any, factors: Sequence[float], block_size: int | None, gradient: bool):
    """For each y the sum of second derivatives, and the first ones; each block begins when the one before is done."""
    size = min(block_size or len(factors), len(factors))
    seconds: list[Any] = [None] * len(fields.ys)
    firsts: list[list[Any]] = [[] for _ in fields.ys]
    for start in range(0, len(factors), size):
        block, part = factors[start : start + size], along[start : start + size]
        before = [t for t in seconds if t is not None]
        with tf.control_dependencies(before):
            part = tf.identity(tf.convert_to_tensor(part, fields.xs[0].dtype)) if before else part
        pushes = fields.push(weighted(2, block, stacked=fields.takes_stacks), part)
        for i, y in enumerate(fields.ys):
            found = fields.scaled(pushes[-1], y, 2.0)
            seconds[i] = found if seconds[i] is None or found is None else seconds[i] + found
            if gradient:
                firsts[i].append(_firsts(fields, pushes[:-1], y))
    joined = [None if f and f[0] is None else tf.concat(f, -1) if len(f) > 1 else (f or [None])[0] for f in firsts]
    return seconds, joined


def _firsts(fields: Fields, pushes, y: tf.Tensor) -> tf.Tensor | None:
    """The first derivatives along all directions, along a last axis."""
    found = [fields.scaled(push, y, 1.0) for push in pushes]
    if found[0] is None:
        return None
    if pushes[0].count is None:
        return tf.stack(found, -1)
    rank = y.shape.rank
    return tf.transpose(found[0], [*range(1, rank + 1), 0])


@operator
def biharmonic(y: Any, x: Any, *, disconnected: Disconnected = "raise", name: str = "biharmonic") -> Any:
    """The Laplacian of the Laplacian of a field at each point, sum_ij d4y / dx_i^2 dx_j^2, by one forward pass.

    It is a sum of fourth derivatives along lines, sum_r w_r (v_r . d/dx)^4 y: 3 lines for d = 2, 6 for d = 3, d^2 for
    more. y[n] is to depend on x[n] alone, as for `laplacian`.

    Args:
      y: tensor [N, ...] or structure of them.
      x: the points: tensor [N, d], d known, or a list of columns [N, 1].
      disconnected: what to give for a y that does not depend on x: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      Structure like y, each of the shape of y.

    Raises:
      ShapeError, DtypeError, DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError:
        as for `laplacian`.

    Example:
      >>> x = tf.constant([[1., 2., 3.]])
      >>> run(symgrad.biharmonic(tf.reduce_sum(x ** 2, 1) ** 2, x)).round(2)  # 8 d (d + 2)
      array([120.], dtype=float32)
    """
    with fields_at(y, x, disconnected=disconnected, name=name) as fields:
        fields.rehearse(4)
        lines, weights = quartic(fields.dimension)
        pushes = fields.push(weighted(4, weights, stacked=fields.takes_stacks), lines)
        return _tensors.pack(y, [fields.scaled(pushes[-1], field, 24.0) for field in fields.ys])


def quartic(d: int) -> tuple[np.ndarray, list[float]]:
    """Lines v_r and weights with sum_r w_r (v_r . xi)^4 = |xi|^4: regular for d < 4, else axes and diagonals."""
    if d == 1:
        return np.ones([1, 1]), [1.0]
    if d == 2:
        angles = np.arange(3) * math.pi / 3
        return np.stack([np.cos(angles), np.sin(angles)], 1), [8 / 9] * 3
    if d == 3:
        golden = (1 + math.sqrt(5)) / 2
        corner = [np.roll([0.0, 1.0, s * golden], k) for k in range(3) for s in (1, -1)]  # of an icosahedron
        return np.stack(corner) / math.hypot(1, golden), [5 / 6] * 6
    axes = np.eye(d)
    diagonals = [axes[i] + s * axes[j] for i, j in itertools.combinations(range(d), 2) for s in (1, -1)]
    return np.concatenate([axes, diagonals]), [1 - (d - 1) / 3] * d + [1 / 6] * len(diagonals)
