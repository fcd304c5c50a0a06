"""Rules of cumulative ops and of products: polynomials in their factors, so that zeros among these do no harm.

TensorFlow's gradients divide by the factors, and do not conjugate them (2.15 to 2.21).
"""

import numpy as np
import tensorflow.compat.v1 as tf

from ._registry import transpose

# A run over an axis of unknown size doubles its stride as often as the largest int32 needs.
_ANY_SIZE = 1 << 30


@transpose("Cumprod", answers=(0,), corrects=True)
def _cumprod(op, dy):
    """dx_j = conj(prod_{k<j} x_k) R_j with R_j = dy_j + conj(x_{j+1}) R_{j+1}, for the axis in its direction."""
    x, axis = op.inputs
    before = tf.math.cumprod(x, axis, exclusive=True, reverse=op.get_attr("reverse"))
    order = _Order(op, x, axis)
    factors = _shift(order.there(tf.math.conj(x)), 1)
    incoming = order.there(dy)
    if op.get_attr("exclusive"):
        incoming = _shift(incoming, 1)
    return [tf.math.conj(before) * order.back(backward_sums(factors, incoming)), None]


@transpose("CumulativeLogsumexp", answers=(0,), corrects=True)
def _cumulative_logsumexp(op, dy):
    """dx_j = e^(x_j - z_j) R_j with R_j = dy_j + e^(z_j - z_{j+1}) R_{j+1}, z the inclusive op: no exponent above 0.

    TensorFlow takes logarithms of dy, whose derivative in dy is not finite.
    """
    x, axis = op.inputs
    z = op.outputs[0]
    if op.get_attr("exclusive"):
        z = tf.math.cumulative_logsumexp(x, axis, reverse=op.get_attr("reverse"))
    order = _Order(op, x, axis)
    x, z, incoming = order.there(x), order.there(z), order.there(dy)
    if op.get_attr("exclusive"):
        incoming = _shift(incoming, 1)
    sums = backward_sums(_ratio(z, _shift(z, 1)), incoming)
    return [order.back(_ratio(x, z) * sums), None]


def _ratio(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """e^(a - b); 0 where a is -inf, whatever b is."""
    there = a > -np.inf
    zero = tf.zeros([], a.dtype)
    return tf.where_v2(there, tf.exp(tf.where_v2(there, a, zero) - tf.where_v2(there, b, zero)), zero)


class _Order:
    """Brings the axis of a cumulative op to the front, its first element first, and back."""

    def __init__(self, op: tf.Operation, x: tf.Tensor, axis: tf.Tensor):
        self._reverse = op.get_attr("reverse")
        known = tf.get_static_value(axis)
        if known is not None and x.shape.rank is not None:
            places = list(range(x.shape.rank))
            places[0], places[int(known)] = places[int(known)], places[0]
            self._places: tf.Tensor | list[int] = places
        else:
            rank = tf.rank(x)
            place, axis = tf.range(rank), tf.cast(axis, tf.int32)
            axis = tf.where_v2(axis < 0, axis + rank, axis)
            self._places = tf.where_v2(tf.equal(place, axis), 0, tf.where_v2(tf.equal(place, 0), axis, place))

    def there(self, x: tf.Tensor) -> tf.Tensor:
        """The axis first and forwards."""
        moved = tf.transpose(x, self._places)
        return tf.reverse(moved, [0]) if self._reverse else moved

    def back(self, x: tf.Tensor) -> tf.Tensor:
        """The axis in its place and its direction."""
        return tf.transpose(tf.reverse(x, [0]) if self._reverse else x, self._places)


def _shift(x: tf.Tensor, stride: int) -> tf.Tensor:
    """Along the first axis, the element that lies `stride` further on; zeros at the end."""
    if x.shape.rank is not None and x.shape[0] is not None:
        size = tf.compat.dimension_value(x.shape[0])
        if size is not None:
            stride = min(stride, size)
            return tf.pad(x[stride:], [[0, stride]] + [[0, 0]] * (x.shape.rank - 1))
    step = tf.minimum(stride, tf.shape(x)[0])
    moved = tf.concat([x[step:], tf.zeros_like(x[:step])], 0)
    moved.set_shape(x.shape)
    return moved


def _strides(x: tf.Tensor) -> list[int]:
    """1, 2, 4, ... below the size of the first axis."""
    size = tf.compat.dimension_value(x.shape[0]) if x.shape.rank is not None else None
    last = _ANY_SIZE if size is None else size - 1
    return [1 << k for k in range(max(last, 0).bit_length())]


def backward_sums(factors: tf.Tensor, terms: tf.Tensor) -> tf.Tensor:
    """R with R_j = terms_j + factors_j R_{j+1} along the first axis, by doubling: W. Hillis, G. Steele (1986)."""
    for stride in _strides(terms):
        terms = terms + factors * _shift(terms, stride)
        factors = factors * _shift(factors, stride)
    return terms


@transpose("SegmentProd", answers=(0,), corrects=True)
def _segment_prod(op, dy):
    x, ids = op.inputs
    others = _backward_products(x, ids) * tf.reverse(_backward_products(tf.reverse(x, [0]), tf.reverse(ids, [0])), [0])
    return [tf.gather(dy, ids) * tf.math.conj(others), None]


@transpose("UnsortedSegmentProd", answers=(0,), corrects=True)
def _unsorted_segment_prod(op, dy):
    """As for sorted ids, in the order of the ids; what is in no segment (a negative id) has no influence."""
    x, ids, _ = op.inputs
    flat = tf.reshape(ids, [-1])
    rows = tf.reshape(x, tf.concat([[tf.size(ids)], tf.shape(x)[tf.rank(ids) :]], 0))
    order = tf.argsort(flat, stable=True)
    back = tf.math.invert_permutation(order)
    sorted_ids, sorted_rows = tf.gather(flat, order), tf.gather(rows, order)
    after = _backward_products(sorted_rows, sorted_ids)
    before = tf.reverse(_backward_products(tf.reverse(sorted_rows, [0]), tf.reverse(sorted_ids, [0])), [0])
    others = tf.gather(after * before, back)
    given = _spread(flat >= 0, tf.gather(dy, tf.maximum(flat, 0)))
    return [tf.reshape(given * tf.math.conj(others), tf.shape(x)), None, None]


def _spread(mask: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The rows of `values` where `mask` is true, zeros elsewhere."""
    shape = tf.concat([tf.shape(mask), tf.ones([tf.rank(values) - tf.rank(mask)], tf.int32)], 0)
    return tf.where_v2(tf.reshape(mask, shape), values, tf.zeros([], values.dtype))


def _backward_products(x: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """For each row the product of the rows behind it in its segment; rows of a segment lie together."""
    one = tf.ones([], x.dtype)

    def there(stride, values):
        """`values` where the row `stride` further on is of the same segment, else 1."""
        same = tf.equal(ids, _shift(ids + 1, stride) - 1) & (tf.range(tf.shape(ids)[0]) + stride < tf.shape(ids)[0])
        shape = tf.concat([tf.shape(same), tf.ones([tf.rank(x) - 1], tf.int32)], 0)
        return tf.where_v2(tf.reshape(same, shape), values, one)

    products = there(1, _shift(x, 1))
    for stride in _strides(ids):
        products = products * there(stride, _shift(products, stride))
    return products
