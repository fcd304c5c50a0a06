"""When two ops are differentiated alike: what decides it, as far as it can be seen without running anything."""

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf, rules

_PLAIN = (bool, int, float, complex, str, bytes, type(None), tf.DType)


def kind_of(op: tf.Operation) -> Hashable:
    """The type, attributes, dtypes and shapes of an op, and the rule or gradient function that it has."""
    tensors = tuple((t.dtype, str(t.shape)) for t in (*op.inputs, *op.outputs))
    attributes = tuple(repr(op.get_attr(name)) for name in _tf.attributes_of_type(op.type))
    own: Hashable = (rules.transpose.find(op.type), rules.pushforward.find(op.type))
    if rules.has_own_gradient(op):
        own = (own, signature(_gradient_function(op)))
    return op.type, tensors, attributes, own


def _gradient_function(op: tf.Operation) -> Callable[..., Any] | None:
    try:
        function = _tf.get_gradient_function(op)
    except LookupError:  # it was registered in another process
        return None
    return getattr(function, "of_user", function)


def signature(value: Any, depth: int = 8) -> Hashable:
    """The code of a function and the kinds of what it closes over; a tensor is its dtype and shape, an object its type.

    `tf.custom_gradient` makes a new gradient function at each call, of the same code.
    """
    if isinstance(value, _PLAIN):
        return type(value), value
    if isinstance(value, tf.Tensor):
        return value.dtype, str(value.shape)
    if depth == 0:
        return value.__class__
    within = functools.partial(signature, depth=depth - 1)
    if isinstance(value, types.FunctionType):
        cells = (cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
        return value.__code__, tuple(map(within, cells)), tuple(map(within, value.__defaults__ or ()))
    if isinstance(value, functools.partial):
        return within(value.func), tuple(map(within, value.args)), tuple(map(within, value.keywords.values()))
    if isinstance(value, types.MethodType):
        return within(value.__func__), type(value.__self__)
    if isinstance(value, list | tuple):
        return type(value), tuple(map(within, value))
    return value.__class__


def _is_filled(cell: Any) -> bool:
    """False for the variable of a function that is not assigned yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
