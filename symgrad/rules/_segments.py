"""Rules of reductions by segments: an empty segment gives nothing, not 0/0."""

import tensorflow.compat.v1 as tf

from ._registry import transpose


@transpose("SegmentMean", answers=(0,), corrects=True)
def _mean(op, dy):
    x, ids = op.inputs
    counts = tf.math.segment_sum(tf.ones_like(ids, dtype=dy.dtype), ids)
    shape = tf.concat([tf.shape(counts), tf.ones([tf.rank(x) - 1], tf.int32)], 0)
    return [tf.gather(tf.math.divide_no_nan(dy, tf.reshape(counts, shape)), ids), None]


@transpose("SegmentMax", "SegmentMin", answers=(0,), corrects=True)
def _extremum(op, dy):
    """dy in equal parts to the elements that are the extremum; TensorFlow divides by 0 where there are none."""
    x, ids = op.inputs
    chosen = tf.equal(x, tf.gather(op.outputs[0], ids))
    parts = tf.math.divide_no_nan(dy, tf.math.segment_sum(tf.cast(chosen, dy.dtype), ids))
    return [tf.where_v2(chosen, tf.gather(parts, ids), tf.zeros([], dy.dtype)), None]


@transpose("UnsortedSegmentMax", "UnsortedSegmentMin", answers=(0,), corrects=True)
def _unsorted_extremum(op, dy):
    """The same; what is in no segment (a negative id) has no influence."""
    x, ids, count = op.inputs
    places = tf.maximum(ids, 0)
    rank = tf.rank(x) - tf.rank(ids)
    inside = tf.reshape(ids >= 0, tf.concat([tf.shape(ids), tf.ones([rank], tf.int32)], 0))
    chosen = tf.equal(x, tf.gather(op.outputs[0], places)) & inside
    parts = tf.math.divide_no_nan(dy, tf.math.unsorted_segment_sum(tf.cast(chosen, dy.dtype), ids, count))
    return [tf.where_v2(chosen, tf.gather(parts, places), tf.zeros([], dy.dtype)), None, None]


def _sparse_segments(op_type, function):
    @transpose(op_type, answers=(0,))
    def rule(op, t):
        """The forward op on t: dx[indices] += dy[segment_ids], weighted."""
        dy, indices, segments, _ = op.inputs
        return [function(t, indices, segments, num_segments=tf.shape(dy)[0]), None, None, None]

    @transpose(f"{op_type}V2", answers=(0,))
    def rows(op, t, _):
        """The same, t by the row: the op gives those rows only that have an index, and their numbers."""
        dy, indices, segments, _ = op.inputs
        where = tf.searchsorted(op.outputs[1], indices)
        return [function(t, where, segments, num_segments=tf.shape(dy)[0]), None, None, None]


_sparse_segments("SparseSegmentSumGrad", tf.sparse.segment_sum)
_sparse_segments("SparseSegmentMeanGrad", tf.sparse.segment_mean)
_sparse_segments("SparseSegmentSqrtNGrad", tf.sparse.segment_sqrt_n)
