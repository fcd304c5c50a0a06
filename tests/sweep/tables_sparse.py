"""Sparse tensors, CSR matrices, ragged tensors, tensor lists."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import D, N, P, built, raw

_I = np.int64([[0, 1], [1, 0], [1, 2]])
_J = np.int64([[0, 1], [0, 2], [1, 2]])
_SHAPE = np.int64([2, 3])

raw("SparseTensorDenseMatMul", a_indices=_I, a_values=N(3), a_shape=_SHAPE, b=N(3, 2))
raw("SparseTensorDenseMatMul", "both adjoint", a_indices=_I, a_values=N(3), a_shape=_SHAPE, b=N(4, 2), adjoint_a=True,
    adjoint_b=True)  # fmt: skip
raw("SparseTensorDenseAdd", a_indices=_I, a_values=N(3), a_shape=_SHAPE, b=N(2, 3))
raw("SparseAdd", a_indices=_I, a_values=N(3), a_shape=_SHAPE, b_indices=_J, b_values=N(3), b_shape=_SHAPE,
    thresh=np.float64(0))  # fmt: skip
raw("SparseReduceSum", input_indices=_I, input_values=N(3), input_shape=_SHAPE, reduction_axes=[1])
raw("SparseReorder", input_indices=_I[::-1].copy(), input_values=N(3), input_shape=_SHAPE)
raw("SparseSoftmax", sp_indices=_I, sp_values=N(3), sp_shape=_SHAPE)
raw("SparseSlice", indices=_I, values=N(3), shape=_SHAPE, start=np.int64([0, 1]), size=np.int64([2, 2]))
raw("SparseToDense", sparse_indices=_I, output_shape=_SHAPE, sparse_values=N(3), default_value=N())
raw("SparseToDense", "one value", sparse_indices=_I, output_shape=_SHAPE, sparse_values=N(), default_value=N())
raw("SparseToDense", "indices of rank 1", sparse_indices=np.int64([0, 2, 3]), output_shape=np.int64([4]),
    sparse_values=N(3), default_value=N())  # fmt: skip
raw("SparseFillEmptyRows", indices=np.int64([[0, 1], [2, 0], [2, 2]]), values=N(3), dense_shape=np.int64([4, 3]),
    default_value=N(), of=[1])  # fmt: skip
for _op in ["SparseSparseMaximum", "SparseSparseMinimum"]:
    raw(_op, a_indices=_I, a_values=D(3), a_shape=_SHAPE, b_indices=_J, b_values=P(3), b_shape=_SHAPE)
for _op in ["Mul", "Div", "Add"]:
    raw("SparseDenseCwise" + _op, sp_indices=_I, sp_values=N(3), sp_shape=_SHAPE, dense=P(2, 3))
    raw("SparseDenseCwise" + _op, "broadcast", sp_indices=_I, sp_values=N(3), sp_shape=_SHAPE, dense=P(2, 1))
raw("SparseConcat", indices=[_I, _J], values=[N(3), N(3)], shapes=[_SHAPE, _SHAPE], concat_dim=1)
raw("SparseConcat", "axis 0", indices=[_I, _J], values=[N(3), N(3)], shapes=[_SHAPE, _SHAPE], concat_dim=-2)


@built("SparseTensorToCSRSparseMatrix")
@built("CSRSparseMatrixToSparseTensor")
def _(rng):
    x = tf.constant(rng.standard_normal(3))
    m = tf.raw_ops.SparseTensorToCSRSparseMatrix(indices=_I, values=x, dense_shape=_SHAPE)
    return tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=m, type=x.dtype).values, x


def _csr(x):
    return tf.raw_ops.DenseToCSRSparseMatrix(dense_input=x, indices=_I)


def _dense(m, like):
    return tf.raw_ops.CSRSparseMatrixToDense(sparse_input=m, type=like.dtype)


def _draw(rng, *shape):
    return tf.constant(rng.uniform(0.5, 2, shape))


@built("DenseToCSRSparseMatrix")
@built("CSRSparseMatrixToDense")
def _(rng):
    x = _draw(rng, 2, 3)
    return _dense(_csr(x), x), x


@built("SparseMatrixMatMul")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 3, 2)
    return tf.raw_ops.SparseMatrixMatMul(a=_csr(x), b=b), [x, b]


@built("SparseMatrixMatMul", "transposed", coarse=False)
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 2, 2)
    return tf.raw_ops.SparseMatrixMatMul(a=_csr(x), b=b, transpose_a=True), [x, b]


@built("SparseMatrixMatMul", "adjoint")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 4, 2)
    return tf.raw_ops.SparseMatrixMatMul(a=_csr(x), b=b, adjoint_a=True, adjoint_b=True), [x, b]


@built("SparseMatrixMatMul", "output conjugated and transposed")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 3, 2)
    options = {"transpose_output": True, "conjugate_output": True}
    return tf.raw_ops.SparseMatrixMatMul(a=_csr(x), b=b, **options), [x, b]


@built("SparseMatrixAdd")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 2, 3)
    one, two = tf.constant(1, x.dtype), tf.constant(2, x.dtype)
    return _dense(tf.raw_ops.SparseMatrixAdd(a=_csr(x), b=_csr(b), alpha=one, beta=two), x), [x, b]


@built("SparseMatrixMul")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng)
    return _dense(tf.raw_ops.SparseMatrixMul(a=_csr(x), b=b), x), [x, b]


@built("SparseMatrixTranspose")
def _(rng):
    x = _draw(rng, 2, 3)
    return _dense(tf.raw_ops.SparseMatrixTranspose(input=_csr(x), type=x.dtype), x), x


@built("SparseMatrixTranspose", "conjugate")
def _(rng):
    x = _draw(rng, 2, 3)
    return _dense(tf.raw_ops.SparseMatrixTranspose(input=_csr(x), conjugate=True, type=x.dtype), x), x


@built("SparseMatrixSoftmax")
def _(rng):
    x = _draw(rng, 2, 3)
    return _dense(tf.raw_ops.SparseMatrixSoftmax(logits=_csr(x), type=x.dtype), x), x


@built("SparseMatrixSparseMatMul")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 2, 3)
    m = tf.raw_ops.SparseMatrixSparseMatMul(a=_csr(x), b=_csr(b), transpose_b=True, type=x.dtype)
    return _dense(m, x), [x, b]


@built("SparseMatrixSparseMatMul", "adjoint")
def _(rng):
    x, b = _draw(rng, 2, 3), _draw(rng, 2, 3)
    m = tf.raw_ops.SparseMatrixSparseMatMul(a=_csr(x), b=_csr(b), adjoint_a=True, type=x.dtype)
    return _dense(m, x), [x, b]


@built("RaggedTensorToTensor")
def _(rng):
    x, default = _draw(rng, 4), _draw(rng)
    y = tf.raw_ops.RaggedTensorToTensor(shape=[3, 3], values=x, default_value=default,
                                        row_partition_tensors=[np.int64([0, 1, 1, 4])],
                                        row_partition_types=["ROW_SPLITS"])  # fmt: skip
    return y, [x, default]


@built("RaggedGather")
def _(rng):
    x = _draw(rng, 4)
    found = tf.raw_ops.RaggedGather(params_nested_splits=[np.int64([0, 1, 4])], params_dense_values=x,
                                    indices=[1, 0, 1], OUTPUT_RAGGED_RANK=1)  # fmt: skip
    return found.output_dense_values, x


@built("RaggedTensorToSparse")
def _(rng):
    x = _draw(rng, 4)
    y = tf.raw_ops.RaggedTensorToSparse(rt_nested_splits=[np.int64([0, 1, 4])], rt_dense_values=x)
    return y.sparse_values, x


@built("RaggedTensorToVariant")
@built("RaggedTensorFromVariant")
def _(rng):
    x = _draw(rng, 4)
    v = tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[np.int64([0, 1, 4])], rt_dense_values=x, batched_input=True)
    found = tf.raw_ops.RaggedTensorFromVariant(encoded_ragged=v, input_ragged_rank=0, output_ragged_rank=1,
                                               Tvalues=x.dtype, Tsplits=tf.int64)  # fmt: skip
    return found.output_dense_values, x


@built("RaggedFillEmptyRows", since=(2, 17))
def _(rng):
    x, default = _draw(rng, 3), _draw(rng)
    found = tf.raw_ops.RaggedFillEmptyRows(value_rowids=np.int64([0, 2, 2]), values=x, nrows=np.int64(4),
                                           default_value=default)  # fmt: skip
    return found.output_values, [x, default]


def _list(x):
    return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[2])


def _stack(handle, like):
    return tf.raw_ops.TensorListStack(input_handle=handle, element_shape=[2], element_dtype=like.dtype)


@built("TensorListFromTensor")
@built("TensorListStack")
def _(rng):
    x = _draw(rng, 3, 2)
    return _stack(_list(x), x), x


@built("TensorListGetItem")
def _(rng):
    x = _draw(rng, 3, 2)
    get = tf.raw_ops.TensorListGetItem
    return get(input_handle=_list(x), index=1, element_shape=[2], element_dtype=x.dtype), x


@built("TensorListSetItem")
def _(rng):
    x, item = _draw(rng, 3, 2), _draw(rng, 2)
    return _stack(tf.raw_ops.TensorListSetItem(input_handle=_list(x), index=1, item=item), x), [x, item]


@built("TensorListSetItem", "a reserved list, only the item moves")
def _(rng):
    item = _draw(rng, 2)
    handle = tf.raw_ops.TensorListReserve(element_shape=[2], num_elements=3, element_dtype=item.dtype)
    return _stack(tf.raw_ops.TensorListSetItem(input_handle=handle, index=1, item=item), item), item


@built("TensorListPushBack")
def _(rng):
    x, item = _draw(rng, 3, 2), _draw(rng, 2)
    return _stack(tf.raw_ops.TensorListPushBack(input_handle=_list(x), tensor=item), x), [x, item]


@built("TensorListPopBack")
def _(rng):
    x = _draw(rng, 3, 2)
    found = tf.raw_ops.TensorListPopBack(input_handle=_list(x), element_shape=[2], element_dtype=x.dtype)
    return [_stack(found.output_handle, x), found.tensor], x


@built("TensorListResize")
def _(rng):
    x = _draw(rng, 3, 2)
    return _stack(tf.raw_ops.TensorListResize(input_handle=_list(x), size=2), x), x


@built("TensorListGather")
def _(rng):
    x = _draw(rng, 3, 2)
    gather = tf.raw_ops.TensorListGather
    return gather(input_handle=_list(x), indices=[2, 0, 2], element_shape=[2], element_dtype=x.dtype), x


@built("TensorListScatter")
def _(rng):
    x = _draw(rng, 3, 2)
    return _stack(tf.raw_ops.TensorListScatter(tensor=x, indices=[2, 0, 1], element_shape=[2]), x), x


@built("TensorListScatterV2")
def _(rng):
    x = _draw(rng, 3, 2)
    scatter = tf.raw_ops.TensorListScatterV2
    return _stack(scatter(tensor=x, indices=[2, 0, 1], element_shape=[2], num_elements=3), x), x


@built("TensorListScatterIntoExistingList")
def _(rng):
    x, new = _draw(rng, 3, 2), _draw(rng, 2, 2)
    scatter = tf.raw_ops.TensorListScatterIntoExistingList
    return _stack(scatter(input_handle=_list(x), tensor=new, indices=[2, 0]), x), [x, new]


@built("TensorListConcat")
def _(rng):
    x = _draw(rng, 3, 2)
    return tf.raw_ops.TensorListConcat(input_handle=_list(x), element_dtype=x.dtype, element_shape=[2]).tensor, x


@built("TensorListConcatV2")
def _(rng):
    x = _draw(rng, 3, 2)
    concat = tf.raw_ops.TensorListConcatV2
    return concat(input_handle=_list(x), element_shape=[2], leading_dims=np.int64([]), element_dtype=x.dtype)[0], x


@built("TensorListSplit")
def _(rng):
    x = _draw(rng, 6)
    return _stack(tf.raw_ops.TensorListSplit(tensor=x, element_shape=[2], lengths=np.int64([2, 2, 2])), x), x


@built("TensorListConcatLists")
def _(rng):
    x, y = _draw(rng, 3, 2), _draw(rng, 1, 2)
    joined = tf.raw_ops.TensorListConcatLists(input_a=_list(x), input_b=_list(y), element_dtype=x.dtype)
    return _stack(joined, x), [x, y]
