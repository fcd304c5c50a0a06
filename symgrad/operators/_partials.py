"""Partial and directional derivatives of fields."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors
from .._keywords import operator
from .._problem import Disconnected
from .._tangents import Index, along, closed
from ..errors import ShapeError
from ._points import directions_of, fields_at


@operator
def partials(
    y: Any,
    xs: Any,
    wanted: Sequence[str | tuple[int, ...]],
    *,
    axes: str | None = None,
    disconnected: Disconnected = "raise",
    name: str = "partials",
) -> dict[Any, Any]:
    """Partial derivatives of a field at each point, of any orders, mixed or not, all by one forward pass.

    y[n] is to depend on x[n] alone, as for `laplacian`. What is computed are the wanted derivatives and those of lower
    order that they are made of.

    Args:
      y: tensor [N, ...] or structure of them.
      xs: the points: tensor [N, d], d known, or a list of columns [N, 1].
      wanted: names such as "xxt", a letter of `axes` for each differentiation, or multi-indices (2, 1).
      axes: the letters of the d coordinates, in their order.
      disconnected: what to give for a y that does not depend on x: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      A dict with for each of `wanted` a structure like y, each tensor of the shape of y.

    Raises:
      ValueError: a name has a letter that is not in `axes`, or there is nothing to differentiate by.
      ShapeError: also for axes or a multi-index of another number of coordinates than d.
      DtypeError, DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError: as for
        `laplacian`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> found = symgrad.partials(x[:, 0] ** 2 * x[:, 1], x, ["x", "xx", "xt"], axes="xt")
      >>> run(found["xt"])
      array([2., 6.], dtype=float32)

    Reference: A. Griewank, A. Walther (2008), Evaluating Derivatives, section 13.3.
    """
    with fields_at(y, xs, disconnected=disconnected, name=name) as fields:
        indices = {key: _index(key, axes, fields.dimension) for key in wanted}
        if not indices:
            raise ValueError("nothing is wanted; give names or multi-indices, such as ['x', 'xx']")
        algebra = closed(indices.values())
        fields.rehearse(algebra.order)
        pushes = fields.push(algebra, np.eye(fields.dimension))
        return {
            key: _tensors.pack(y, [fields.derivative(pushes[algebra.number(index)], f, index) for f in fields.ys])
            for key, index in indices.items()
        }


def _index(wanted: str | tuple[int, ...], axes: str | None, dimension: int) -> Index:
    if isinstance(wanted, str):
        if axes is None or len(axes) != dimension or len(set(axes)) != dimension:
            raise ShapeError(
                f"axes={axes!r}; wanted {dimension} different letters, one for each coordinate, for {wanted!r}"
            )
        if not wanted or set(wanted) - set(axes):
            raise ValueError(f"{wanted!r} is wanted; its letters must be those of axes={axes!r}")
        return tuple(wanted.count(letter) for letter in axes)
    index = tuple(int(i) for i in wanted)
    if len(index) != dimension or min(index) < 0 or not any(index):
        raise ShapeError(f"{wanted!r} is wanted; a multi-index has {dimension} numbers from 0, not all of them 0")
    return index


@operator
def directional(
    y: Any, x: Any, v: Any, order: int, *, disconnected: Disconnected = "raise", name: str = "directional"
) -> list[Any]:
    """The derivatives of a field along a direction, (v . d/dx)^k y for k = 1 ... order, by one forward pass.

    y[n] is to depend on x[n] alone, as for `laplacian`; `jet` goes along curves, and for any shapes.

    Args:
      y: tensor [N, ...] or structure of them.
      x: the points: tensor [N, d], d known, or a list of columns [N, 1].
      v: the direction, array or tensor [d], or [N, d] with one for each point.
      order: the highest order.
      disconnected: what to give for a y that does not depend on x: "raise", "zero" or "none".
      name: scope of the new ops.

    Returns:
      A list of `order` structures like y, each tensor of the shape of y.

    Raises:
      ValueError: order is no number from 1.
      ShapeError, DtypeError, DisconnectedError, MissingRuleError, NotLinearError, GraphMismatchError, ControlFlowError:
        as for `laplacian`.

    Example:
      >>> x = tf.constant([[1., 2.], [3., 4.]])
      >>> run(symgrad.directional(x[:, 0] * x[:, 1], x, [1., 1.], 2)[1])
      array([2., 2.], dtype=float32)
    """
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise ValueError(f"order={order!r}; wanted a number from 1")
    with fields_at(y, x, v, disconnected=disconnected, name=name) as fields:
        fields.rehearse(order)
        one = v[tf.newaxis] if tf.is_tensor(v) else np.asarray(v)[np.newaxis]
        direction = directions_of(one, fields.xs[0], fields.dimension, "v, with R = 1,")
        pushes = fields.push(along(order), direction)
        return [
            _tensors.pack(y, [fields.derivative(push, f, (k,)) for f in fields.ys]) for k, push in enumerate(pushes, 1)
        ]
