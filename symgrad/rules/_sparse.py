"""Rules of sparse tensors and CSR matrices."""

import tensorflow.compat.v1 as tf

from ._composites import composite
from ._registry import transpose
from ._rows import linear, multilinear

linear("SparseConcat", "SparseFillEmptyRows", "SparseReduceSum", "SparseReorder", "SparseSlice", "SparseTensorDenseAdd")
linear("SparseAddGrad", "SparseDenseCwiseAdd", "SparseSliceGrad", "SparseToDense")
multilinear("SparseDenseCwiseMul", "SparseTensorDenseMatMul")

linear("CSRSparseMatrixToDense", "CSRSparseMatrixToSparseTensor", "DenseToCSRSparseMatrix", "SparseMatrixTranspose")
linear("SparseTensorToCSRSparseMatrix")
multilinear("SparseMatrixMatMul", "SparseMatrixMul", "SparseMatrixSparseMatMul")


def _keys(indices: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """One number for each index vector, in the order of the rows of a dense tensor."""
    strides = tf.math.cumprod(shape, exclusive=True, reverse=True)
    return tf.reduce_sum(indices * strides, -1)


def _bounds(*indices: tf.Tensor) -> tf.Tensor:
    """A shape that holds all the indices."""
    return tf.maximum(tf.reduce_max(tf.concat(indices, 0), 0), 0) + 1


@transpose("SparseAddGrad", answers=(0,))
def _sparse_add_grad(op, ta, tb):
    """The sum of ta and tb, at the indices that the sum kept."""
    _, a, b, kept = op.inputs
    shape = _bounds(a, b)
    found = tf.raw_ops.SparseAdd(
        a_indices=a, a_values=ta, a_shape=shape, b_indices=b, b_values=tb, b_shape=shape,
        thresh=tf.zeros([], ta.dtype.real_dtype),
    )  # fmt: skip
    where = tf.searchsorted(_keys(found.sum_indices, shape), _keys(kept, shape))
    return [tf.gather(found.sum_values, where), None, None, None]


def _fill_empty_rows(op, t, td):
    """Values where they went, the default where a row was empty."""
    where, dy = op.inputs
    filled = tf.fill(tf.shape(dy)[:1], td)
    return [None, tf.tensor_scatter_nd_update(filled, where[:, None], t)]


transpose("SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad", answers=(1,))(_fill_empty_rows)


@transpose("SparseSliceGrad", answers=(0,))
def _sparse_slice_grad(op, t):
    """The slice of t: the smallest box around what was cut out holds just that."""
    _, indices, start, cut = op.inputs
    size = tf.maximum(tf.reduce_max(cut, 0), -1) + 1
    shape = tf.maximum(_bounds(indices), start + size)
    found = tf.raw_ops.SparseSlice(indices=indices, values=t, shape=shape, start=start, size=size)
    return [found.output_values, None, None, None]


@composite("SparseDenseCwiseAdd")
def _sparse_dense_add(op, indices, values, shape, dense):
    return values + tf.gather_nd(tf.broadcast_to(dense, shape), indices)


@composite("SparseDenseCwiseDiv", corrects=True)
def _sparse_dense_div(op, indices, values, shape, dense):
    """By reciprocals, of which no derivative is 0 inf where `dense` is infinite."""
    return values * tf.gather_nd(tf.broadcast_to(tf.math.reciprocal(dense), shape), indices)


@composite("SparseSparseMaximum")
def _sparse_maximum(op, *inputs):
    return _pointwise(op, tf.maximum, *inputs)


@composite("SparseSparseMinimum")
def _sparse_minimum(op, *inputs):
    return _pointwise(op, tf.minimum, *inputs)


def _pointwise(op, function, a, a_values, shape, b, b_values, _):
    """Both operands on the union of their indices, zeros where one has none."""
    union = _keys(op.outputs[0], shape)

    def spread(indices, values):
        where = tf.searchsorted(union, _keys(indices, shape), out_type=tf.int64)
        return tf.scatter_nd(where[:, None], values, tf.shape(union, out_type=tf.int64))

    return [None, function(spread(a, a_values), spread(b, b_values))]


@composite("SparseToDense")
def _sparse_to_dense(op, indices, shape, values, default):
    """TensorFlow's gradient takes indices of rank 2 and a vector of values only; the op takes scalars too."""
    where = tf.reshape(indices, tf.stack([-1, tf.size(shape)]))
    values = tf.broadcast_to(values, tf.shape(where)[:1])
    return default + tf.scatter_nd(where, values - default, shape)


@composite("SparseConcat")
def _sparse_concat(op, *inputs):
    """All the values in the order in which the op leaves them, which it shows on their numbers."""
    n = len(inputs) // 3
    indices, values, shapes = inputs[:n], inputs[n : 2 * n], inputs[2 * n :]
    joined = tf.concat(values, 0)
    sizes = [tf.size(v, out_type=tf.int64) for v in values]
    numbers = tf.split(tf.range(tf.size(joined, out_type=tf.int64)), tf.stack(sizes))
    order = tf.raw_ops.SparseConcat(
        indices=list(indices), values=numbers, shapes=list(shapes), concat_dim=op.get_attr("concat_dim")
    ).output_values
    return [None, tf.gather(joined, order), None]
