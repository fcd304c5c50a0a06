"""First derivatives of vector fields: divergence and curl."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._keywords import operator
from .._problem import Disconnected
from .._tangents import FEW, along, closed
from ..errors import ShapeError
from ._points import Fields, columns, fields_at


@operator
def divergence(y: Any, x: Any, *, disconnected: Disconnected = "raise", name: str = "divergence") -> Any:
    """The divergence of a vector field at each point, sum_i dy_i / dx_i, by one forward pass along the d axes.

    y[n] is to depend on x[n] alone, as for `laplacian`.

    Args:
      y: the field: tensor [N, d], or a list of columns [N, 1].
      x: the points: tensor [N, d], d known, or a list of columns [N, 1].
      disconnected: what to give if a component does not depend on x: "raise", "zero" or "none"; but for "raise" such a
        component counts as constant.
      name: scope of the new ops.

    Returns:
      Tensor [N]; [N, 1] if y is a list of columns.

    Raises:
      ShapeError: also if y has not as many components as x has coordinates.
      DtypeError, DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError: as for
        `laplacian`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> run(symgrad.divergence(tf.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1]], 1), x))
      array([3., 9.], dtype=float32)
    """
    with fields_at(y, x, disconnected=_judged(disconnected), name=name) as fields:
        components = columns(fields.ys, fields.dimension, name)
        fields.rehearse(1)
        entries = _Jacobian(fields, components)
        return _shaped(tf.add_n([entries(i, i) for i in range(fields.dimension)]), y)


@operator
def curl(y: Any, x: Any, *, disconnected: Disconnected = "raise", name: str = "curl") -> Any:
    """The curl of a vector field at each point: dy_1/dx_0 - dy_0/dx_1 for d = 2, a vector for d = 3.

    y[n] is to depend on x[n] alone, as for `laplacian`.

    Args:
      y: the field: tensor [N, d], or a list of columns [N, 1].
      x: the points: tensor [N, d], d = 2 or 3, or a list of columns [N, 1].
      disconnected: as for `divergence`.
      name: scope of the new ops.

    Returns:
      For d = 2 a tensor [N], or [N, 1] if y is a list of columns; for d = 3 a tensor [N, 3].

    Raises:
      ShapeError: also for another d.
      DtypeError, DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError: as for
        `laplacian`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> run(symgrad.curl(tf.stack([-x[:, 1], x[:, 0] ** 2], 1), x))
      array([3., 7.], dtype=float32)
    """
    with fields_at(y, x, disconnected=_judged(disconnected), name=name) as fields:
        components = columns(fields.ys, fields.dimension, name)
        if fields.dimension not in (2, 3):
            raise ShapeError(f"a curl at points of {fields.dimension} coordinates; it exists for 2 and 3")
        fields.rehearse(1)
        entries = _Jacobian(fields, components)
        if fields.dimension == 2:
            return _shaped(entries(1, 0) - entries(0, 1), y)
        return tf.stack([entries((k + 2) % 3, (k + 1) % 3) - entries((k + 1) % 3, (k + 2) % 3) for k in range(3)], 1)


def _judged(disconnected: str) -> str:
    return "zero" if disconnected == "none" else disconnected


def _shaped(found: tf.Tensor, y: Any) -> tf.Tensor:
    """A scalar field as the components of y come: as columns, if they do."""
    return found[:, tf.newaxis] if isinstance(y, list | tuple) else found


class _Jacobian:
    """The derivatives of components by coordinates at each point, each [N]."""

    def __init__(self, fields: Fields, components):
        d = fields.dimension
        self._fields, self._components = fields, components
        self._stacked = d > FEW and fields.takes_stacks
        algebra = along(1, count=d) if self._stacked else closed(map(tuple, np.eye(d, dtype=int)))
        self._pushes = fields.push(algebra, np.eye(d))
        self._numbers = [0] * d if self._stacked else [algebra.number(algebra.unit(i)) for i in range(d)]

    def __call__(self, component: int, coordinate: int) -> tf.Tensor:
        y, column = self._components[component]
        found = self._fields.scaled(self._pushes[self._numbers[coordinate]], y, 1.0)
        return (found[coordinate] if self._stacked else found)[:, column]
