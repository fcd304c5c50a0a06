"""Jacobians and directional derivatives by central differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors
from ._probe import Probe, step


def numeric_jacobian(
    ys: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict[Any, Any] | None = None,
    eps: float | None = None,
) -> Any:
    """The Jacobian by central differences, (y(x + e) - y(x - e)) / 2e for each element of each x.

    It costs two runs of ys per element of xs. Ys must be the same function in every run: draw no random numbers in it.

    Args:
      ys: tensor or structure of tensors y_k.
      xs: tensor, variable or structure of them x_i; tensors are fed, variables assigned and put back.
      session: where variables have their values; by default the default session, else a new one with new variables.
      feed_dict: what ys need to be fed.
      eps: the step; by default the cube root of the precision of x, times the largest |x| if that is above 1.

    Returns:
      NumPy arrays in the structure of `ys` with that of `xs` inside each leaf, each y_k.shape + x_i.shape. For complex
      x it is the derivative along the real axis, which for a holomorphic y is the derivative.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> symgrad.testing.numeric_jacobian(x ** 2, x).round(6)
      array([[2., 0.],
             [0., 4.]])
    """
    probe = Probe(ys, xs, session, feed_dict)
    points = probe.points()
    columns = [_columns(probe, x, point, eps) for x, point in zip(probe.xs, points, strict=True)]
    blocks = []
    for k, shape in enumerate(probe.shapes()):
        row = [
            np.stack([c[k] for c in column], -1).reshape(shape + point.shape)
            if column
            else np.zeros(shape + point.shape)
            for column, point in zip(columns, points, strict=True)
        ]
        blocks.append(_tensors.pack(xs, row))
    return _tensors.pack(ys, blocks)


def _columns(probe: Probe, x: _tensors.Input, point: np.ndarray, eps: float | None) -> list[list[np.ndarray]]:
    unit = np.eye(point.size, dtype=point.dtype).reshape((point.size, *point.shape))
    return [directional(probe, x, point, direction, eps) for direction in unit]


def directional(
    probe: Probe, x: _tensors.Input, point: np.ndarray, direction: np.ndarray, eps: float | None = None
) -> list[np.ndarray]:
    """The derivative of every y as one x moves along `direction`."""
    eps = step(point) if eps is None else eps
    move = (eps * direction).astype(point.dtype)
    ahead = probe.run(probe.ys, [(x, point + move)])
    behind = probe.run(probe.ys, [(x, point - move)])
    return [np.asarray((a - b) / (2 * eps)) for a, b in zip(ahead, behind, strict=True)]


def numeric_rop(probe: Probe, points: Sequence[np.ndarray], tangents: Sequence[np.ndarray]) -> list[np.ndarray]:
    """J v by central differences, one x at a time: an x that is fed hides what flows in from an x upstream."""
    parts = [directional(probe, x, p, v) for x, p, v in zip(probe.xs, points, tangents, strict=True) if p.size]
    return [np.sum([part[k] for part in parts], axis=0) for k in range(len(probe.ys))]
