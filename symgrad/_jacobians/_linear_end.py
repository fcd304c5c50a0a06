"""Rows that start behind a linear last layer: a unit vector times its weights is a row of the weights."""

from collections.abc import Callable
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _walk, rules
from .._sizes import known_along

# From so many outputs on; the product of few unit vectors and the weights takes less time than to gather the rows.
WIDE = 512

_SAME_ELEMENTS = frozenset({"ExpandDims", "Identity", "Reshape", "Squeeze"})
_SUMS = frozenset({"Add", "AddV2", "BiasAdd", "Sub"})


@dataclass(frozen=True)
class LinearEnd:
    """The last layer of y: y = h W + b, where only h moves.

    Attributes:
      start: h, of shape [B, n].
      seeds: from indices of elements of y to the unit vectors pulled back to h, stacked: dy_i/dh (conjugated, as Lop).
    """

    start: tf.Tensor
    seeds: Callable[[tf.Tensor], tf.Tensor]


def linear_end(between: _walk.Between, y: tf.Tensor) -> LinearEnd | None:
    """The linear last layer of a wide y on the paths that `between` holds, or None."""
    if (y.shape.num_elements() or 0) < WIDE:
        return None
    op = _product(between, y)
    if op is None or op.get_attr("transpose_a"):
        return None
    start, weights = op.inputs
    if not start.shape.is_fully_defined() or not weights.shape.is_fully_defined():
        return None
    return LinearEnd(start, _rows_of(weights, start, op.get_attr("transpose_b")))


def _product(between: _walk.Between, y: tf.Tensor) -> tf.Operation | None:
    """The MatMul whose elements, one by one, y is made of by adding what does not move."""
    ops, tensor = set(between.ops), y
    while True:
        op, active = tensor.op, between.active_inputs(tensor.op)
        if op.graph is not y.graph or op not in ops or rules.has_own_gradient(op) or len(active) != 1:
            return None
        if op.type == "MatMul":
            return op if active == [0] else None
        source = op.inputs[active[0]]
        adds = op.type in _SUMS and source.shape.is_fully_defined() and source.shape == op.outputs[0].shape
        if not (op.type in _SAME_ELEMENTS or (adds and not (op.type == "Sub" and active == [1]))):
            return None
        tensor = source


def _rows_of(weights: tf.Tensor, start: tf.Tensor, transposed: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    batch, _ = start.shape.as_list()
    wide = known_along(weights.shape, 0 if transposed else 1)

    def seeds(indices: tf.Tensor) -> tf.Tensor:
        columns = indices % wide
        rows = tf.gather(weights, columns) if transposed else tf.transpose(tf.gather(weights, columns, axis=1))
        rows = tf.math.conj(rows)[:, tf.newaxis]
        if batch == 1:
            return rows
        examples = tf.one_hot(indices // wide, batch, dtype=start.dtype)
        return examples[:, :, tf.newaxis] * rows

    return seeds
