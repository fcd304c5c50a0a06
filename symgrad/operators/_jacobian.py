"""Jacobians, assembled row by row in a graph loop."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _vjp, rules
from ..errors import DtypeError
from . import _policy
from ._call import Call
from ._rop import refuse_v1_loops


def jacobian(
    ys: Any, xs: Any, *, disconnected: str = "raise", stop_gradients: Any = None, name: str = "jacobian"
) -> Any:
    """The Jacobian dy/dx, one row at a time in a graph loop: the backward graph is built once for all rows.

    Args:
      ys: tensor or structure of tensors y_k, any shapes, known or not.
      xs: tensor, variable or structure of them x_i.
      disconnected: what to give for an x that no y depends on and a y that depends on no x: "raise", "zero" or "none".
        A y that does not depend on one x but on others has a block of zeros.
      stop_gradients: tensor or structure of tensors that count as constants.
      name: scope of the new ops.

    Returns:
      Structure like `ys` with the structure of `xs` inside each leaf: dy_k/dx_i of shape y_k.shape + x_i.shape. For
      complex tensors it is the derivative of a holomorphic function (the conjugate of what `Lop` gives by row).

    Raises:
      DisconnectedError, MissingRuleError, ShapeError, DtypeError, GraphMismatchError: as for `Lop`.
      ControlFlowError: ys cross a V1 loop.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> run(symgrad.jacobian(tf.stack([x[0] * x[1], x[2] ** 2]), x))
      array([[2., 1., 0.],
             [0., 0., 6.]], dtype=float32)
    """
    with Call(ys, xs, stop_gradients, disconnected, name) as call:
        between = rules.between(call.ys, call.tensors, call.stop)
        refuse_v1_loops(between, "a loop over rows")
        reached = [y if r else None for y, r in zip(call.ys, between.reached)]
        connected = [x.tensor if c else None for x, c in zip(call.xs, between.connected)]
        _policy.for_outputs(reached, call.ys, call.xs, disconnected, call.stop)
        _policy.for_inputs(connected, call.ys, call.xs, disconnected, call.stop)
        blocks = []
        for y, r in zip(call.ys, between.reached):
            rows = _rows(y, call.xs, call.stop) if r else [None] * len(call.xs)
            absent = [disconnected == "none" and not (r and c) for c in between.connected]
            blocks.append(_tensors.pack(xs, [_block(y, x, b, a) for x, b, a in zip(call.xs, rows, absent)]))
        return _tensors.pack(ys, blocks)


def _block(y: tf.Tensor, x: _tensors.Input, rows: tf.Tensor | None, absent: bool) -> tf.Tensor | None:
    """The block dy/dx in its shape: zeros where there are no rows, None where it is to be absent."""
    if absent:
        return None
    static = y.shape.concatenate(x.shape)
    shape = static if static.is_fully_defined() else tf.concat([_shape(y), _shape(x.value())], 0)
    block = tf.zeros(shape, y.dtype) if rows is None else tf.reshape(rows, shape)
    block.set_shape(static)
    return block


def _shape(tensor: tf.Tensor) -> tf.Tensor:
    """The shape as a tensor, a constant if it is known."""
    return tf.constant(tensor.shape.as_list(), tf.int32) if tensor.shape.is_fully_defined() else tf.shape(tensor)


def _rows(y: tf.Tensor, xs: Sequence[_tensors.Input], stop: Sequence[tf.Tensor]) -> list[tf.Tensor | None]:
    """dy/dx for each x, as [size of y] + x.shape; None for an x on which y does not depend."""
    for x in xs:
        if x.dtype.is_complex != y.dtype.is_complex:
            raise DtypeError(
                f"{y.name} is {y.dtype.name} and {x.label} is {x.dtype.name}: such a function has no complex "
                "derivative; split it into real and imaginary parts (tf.math.real, tf.math.imag)"
            )
    connected = rules.between([y], [x.tensor for x in xs], stop).connected
    active = [x for x, c in zip(xs, connected) if c]
    shape, size = _shape(y), tf.size(y)
    lists = [
        tf.raw_ops.TensorListReserve(element_shape=_shape(x.value()), num_elements=size, element_dtype=x.dtype)
        for x in active
    ]

    def row(i, *lists):
        seed = tf.reshape(tf.one_hot(i, size, dtype=y.dtype), shape)
        found = _vjp.vjp([y], [x.tensor for x in active], [seed], stop=stop)
        values = [x.zeros() if g is None else tf.math.conj(g) for g, x in zip(found, active)]
        return i + 1, *(tf.raw_ops.TensorListSetItem(input_handle=h, index=i, item=v) for h, v in zip(lists, values))

    _, *lists = _tf.while_loop_v2(lambda i, *_: i < size, row, [tf.constant(0), *lists], maximum_iterations=size)
    stacked = iter(
        tf.raw_ops.TensorListStack(input_handle=h, element_shape=_shape(x.value()), element_dtype=x.dtype)
        for h, x in zip(lists, active)
    )
    return [next(stacked) if c else None for c in connected]
