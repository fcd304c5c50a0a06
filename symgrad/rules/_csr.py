"""Sums of sparse matrices (CSR), for which TensorFlow has no kernel on a CPU."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

_DENSE_TO = frozenset({"DenseToCSRSparseMatrix", "SparseTensorToCSRSparseMatrix", "SparseMatrixAdd", "SparseMatrixMul"})
_MADE = frozenset({
    "SparseMatrixSoftmax", "SparseMatrixSoftmaxGrad", "SparseMatrixSparseCholesky", "SparseMatrixSparseMatMul",
    "SparseMatrixTranspose", "SparseMatrixZeros",
})  # fmt: skip


def is_matrix(tensor: tf.Tensor) -> bool:
    """True for what an op makes that gives sparse matrices."""
    return tensor.op.type in _DENSE_TO or tensor.op.type in _MADE


def matrix_sum(terms: Sequence[tf.Tensor]) -> tf.Tensor:
    """The sum of sparse matrices of one shape."""
    maker = terms[0].op
    dtype = tf.as_dtype(maker.get_attr("T" if maker.type in _DENSE_TO else "type"))
    parts = [tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=term, type=dtype) for term in terms]
    joined = tf.SparseTensor(*parts[0])
    for part in parts[1:]:
        joined = tf.sparse.add(joined, tf.SparseTensor(*part))
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=joined.indices, values=joined.values, dense_shape=joined.dense_shape
    )


def adds_matrices(op: tf.Operation) -> bool:
    """True for what `tf.gradients` makes to add gradients that are sparse matrices: an AddN that no session runs."""
    return op.type == "AddN" and all(map(is_matrix, op.inputs))


def replace_sum(op: tf.Operation) -> None:
    """Let what reads a sum of sparse matrices read one that can be computed, made here."""
    readers = [(reader, i) for reader in op.outputs[0].consumers() for i, t in enumerate(reader.inputs) if t.op is op]
    found = matrix_sum(list(op.inputs))
    for reader, index in readers:
        reader._update_input(index, found)
