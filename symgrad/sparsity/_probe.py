"""One op as a linear map from one of its inputs, run by itself in double precision."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._copies import op_like
from .._tensors import FLOATING as _FLOATING
from ..errors import PatternError
from ._told_apart import ALONE, Map, additive, one_by_one, picked, told_apart

# What an op does to the elements of one input: ("pick", index), ("add", groups) or ("matrix", boolean matrix).
Local = tuple[str, Any]

_DOUBLE = {
    tf.float16: tf.float64, tf.bfloat16: tf.float64, tf.float32: tf.float64, tf.complex64: tf.complex128,
}  # fmt: skip


class UnknownShapeError(PatternError):
    """A shape that a pattern needs is not known."""


def shape_of(tensor: Any) -> list[int]:
    """The static shape of a tensor or x; PatternError if it is not known."""
    if not tensor.shape.is_fully_defined():
        name = getattr(tensor, "name", None) or tensor.label
        raise UnknownShapeError(
            f"the shape of {name} is not known ({tensor.shape}), and a pattern needs it: set_shape it, or give "
            "`session` and the `feed_dict` that it follows from"
        )
    return tensor.shape.as_list()


def size_of(tensor: tf.Tensor) -> int:
    """How many elements the tensor has."""
    return math.prod(shape_of(tensor))


def probed(op: tf.Operation, moving: int, fixed: dict[int, np.ndarray]) -> list[Local | None]:
    """What the op does to its input `moving`, for each output; None where it fails, is not linear, or is too dense.

    It is run in double precision, and in its own if it has no such kernel.
    """
    for wide in (_double, _own):
        try:
            with _Probe(op, moving, fixed, wide) as probe:
                return [probe.local(j) if t.dtype in _FLOATING else None for j, t in enumerate(op.outputs)]
        except (tf.errors.OpError, ValueError, TypeError, NotImplementedError):
            continue
    return [None] * len(op.outputs)


class _Probe:
    """An op of which one input moves and the others are fixed numbers, in a graph and session of its own."""

    def __init__(self, op: tf.Operation, moving: int, fixed: dict[int, np.ndarray], wide: Callable):
        given = [list(fixed[k].shape) if k in fixed else shape_of(t) for k, t in enumerate(op.inputs)]
        self._shapes = given, [shape_of(t) if t.dtype in _FLOATING else None for t in op.outputs]
        self._moving = moving
        self._graph = tf.Graph()
        with self._graph.as_default():
            inputs = [tf.placeholder(wide(t.dtype), s) for t, s in zip(op.inputs, self._shapes[0], strict=True)]
            self._x, self._feed = inputs[moving], {inputs[k]: v for k, v in fixed.items()}
            attributes = {k: _widened(v, wide) for k, v in op.node_def.attr.items() if not k.startswith("_")}
            made = op_like(op, inputs, attributes=attributes, shaped=False)
            self._ys = made.outputs
        self._session = tf.Session(graph=self._graph, config=tf.ConfigProto(device_count={"GPU": 0}))

    def __enter__(self) -> "_Probe":
        return self

    def __exit__(self, *error: Any) -> None:
        self._session.close()

    def local(self, j: int) -> Local | None:
        """How output j depends on the moving input; None if it is not linear, or too dense to tell."""
        rng = np.random.default_rng(1)
        size, out = math.prod(self._shapes[0][self._moving]), math.prod(self._shapes[1][j] or ())
        linear = Map(functools.partial(self._forward, j), size, out)
        if not self._is_double(j):  # rounding hides small factors, so that only zeros tell
            exact = additive(linear, rng, 1e-3) and size <= ALONE
            return ("matrix", one_by_one(linear)) if exact else None
        if not additive(linear, rng):
            return None
        found = picked(linear, rng)
        if found is not None:
            return "pick", found
        try:
            found = picked(Map(self._transposed(j), out, size), rng)
        except (LookupError, TypeError, ValueError, tf.errors.OpError):  # no gradient, or not for these numbers
            found = None
        if found is not None:
            return "add", found
        pattern = told_apart(linear, rng)
        return None if pattern is None else ("matrix", pattern)

    def _is_double(self, j: int) -> bool:
        return all(t.dtype in (tf.float64, tf.complex128) for t in (self._x, self._ys[j]))

    def _forward(self, j: int, vector: np.ndarray) -> np.ndarray:
        value = vector.reshape(self._shapes[0][self._moving])
        return self._session.run(self._ys[j], {**self._feed, self._x: value}).ravel()

    def _transposed(self, j: int):
        with self._graph.as_default():
            u = tf.placeholder(self._ys[j].dtype, self._shapes[1][j])
            # One op without custom gradients, in a graph of its own.
            (found,) = tf.gradients(self._ys[j], self._x, u)
            if found is None:
                raise LookupError("no gradient")
            found = tf.convert_to_tensor(found)
        zeros = np.zeros(self._shapes[0][self._moving])

        def apply(vector):
            feed = {**self._feed, self._x: zeros, u: vector.reshape(self._shapes[1][j])}
            return self._session.run(found, feed).ravel()

        return apply


def _double(dtype: tf.DType) -> tf.DType:
    return _DOUBLE.get(dtype.base_dtype, dtype.base_dtype)


def _own(dtype: tf.DType) -> tf.DType:
    return dtype.base_dtype


def _widened(attribute, wide):
    if attribute.WhichOneof("value") != "type":
        return attribute
    copy = type(attribute)()
    copy.type = wide(tf.as_dtype(attribute.type)).as_datatype_enum
    return copy
