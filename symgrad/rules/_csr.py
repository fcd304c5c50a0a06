"""Sums and multiples of sparse matrices (CSR), for which TensorFlow has no kernel on a CPU."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from ..errors import MissingRuleError

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
    first, *others = map(_entries, terms)
    for other in others:
        first = tf.sparse.add(first, other)
    return _matrix(first)


def _entries(matrix: tf.Tensor) -> tf.SparseTensor:
    dtype = tf.as_dtype(matrix.op.get_attr("T" if matrix.op.type in _DENSE_TO else "type"))
    return tf.SparseTensor(*tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix, type=dtype))


def _matrix(entries: tf.SparseTensor) -> tf.Tensor:
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=entries.indices, values=entries.values, dense_shape=entries.dense_shape
    )


def variant_sum(terms: Sequence[tf.Tensor]) -> tf.Tensor:
    """The sum of what variants hold: lists, optionals or sparse matrices."""
    if len(terms) == 1:
        return terms[0]
    return matrix_sum(terms) if is_matrix(terms[0]) else tf.add_n(terms)


def variant_multiple(tensor: tf.Tensor, factor: float) -> tf.Tensor:
    """What a variant holds, times a number.

    Raises:
      MissingRuleError: it is no sparse matrix.
    """
    if not is_matrix(tensor):
        raise MissingRuleError(
            f"{tensor.name}, which {tensor.op.type} makes, is a variant that cannot be multiplied by {factor:g}, as a "
            f"higher derivative asks for; give a linear rule for the op, or take derivatives of first order"
        )
    entries = _entries(tensor)
    return _matrix(tf.SparseTensor(entries.indices, entries.values * factor, entries.dense_shape))


def adds_matrices(op: tf.Operation) -> bool:
    """True for what `tf.gradients` makes to add gradients that are sparse matrices: an AddN that no session runs."""
    return op.type == "AddN" and all(map(is_matrix, op.inputs))


def replace_sum(op: tf.Operation) -> None:
    """Let what reads a sum of sparse matrices read one that can be computed, made here."""
    readers = [(reader, i) for reader in op.outputs[0].consumers() for i, t in enumerate(reader.inputs) if t.op is op]
    found = matrix_sum(list(op.inputs))
    for reader, index in readers:
        reader._update_input(index, found)
