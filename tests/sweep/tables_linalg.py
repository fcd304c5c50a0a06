"""Matrices."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import N, S, X, Z, built, raw

raw("MatMul", a=N(2, 3), b=N(4, 3), transpose_b=True)
raw("MatMul", "complex", a=Z(2, 3), b=Z(3, 2))
for _op in ["BatchMatMul", "BatchMatMulV2"]:
    raw(_op, x=N(2, 3, 2), y=N(2, 3, 2), adj_x=True)
raw("BatchMatMulV2", "broadcast, complex", x=Z(2, 2, 3), y=Z(3, 2))
raw("BatchMatMulV3", x=N(2, 2, 3), y=N(2, 3, 2), Tout=tf.float64)
raw("Einsum", inputs=[N(2, 3, 4), N(4, 3)], equation="bij,jk->bik")
raw("Einsum", "complex", inputs=[Z(2, 3), Z(3, 2)], equation="ij,jk->ik")
raw("BatchMatMulV2", "both adjoint", x=N(3, 2), y=N(4, 3), adj_x=True, adj_y=True)
raw("SparseMatMul", a=N(2, 3), b=N(3, 2), dtype=tf.float32)
raw(
    "MatrixDeterminant",
    input=S(2, 3, 3),
    options={
        "special": dict.fromkeys(("zeros", "negative zeros", "ties"), "an error in the session: it inverts the matrix")
    },
)
raw("LogMatrixDeterminant", input=S(2, 3, 3))
raw("MatrixInverse", input=S(2, 3, 3))
raw("MatrixInverse", "complex", input=Z(3, 3))
raw("MatrixSolve", matrix=S(3, 3), rhs=N(3, 2))
raw("MatrixSolve", "complex", matrix=Z(3, 3), rhs=Z(3, 2))
raw("MatrixSolveLs", matrix=N(4, 2), rhs=N(4, 2), l2_regularizer=np.float64(0.1))
raw("MatrixSolveLs", "underdetermined", matrix=N(2, 4), rhs=N(2, 2), l2_regularizer=np.float64(0.1))
raw("MatrixTriangularSolve", matrix=S(3, 3), rhs=N(3, 2))
raw("MatrixTriangularSolve", "adjoint", matrix=S(3, 3), rhs=N(3, 2), adjoint=True, lower=False)
raw("MatrixSolve", "adjoint", matrix=S(3, 3), rhs=N(3, 2), adjoint=True)
raw("MatrixInverse", "adjoint", input=S(3, 3), adjoint=True)
raw("BandedTriangularSolve", matrix=X(lambda rng, s: rng.uniform(1, 2, s), (2, 4)), rhs=N(4, 2))
raw("BandedTriangularSolve", "adjoint", matrix=X(lambda rng, s: rng.uniform(1, 2, s), (2, 4)), rhs=N(4, 2),
    lower=False, adjoint=True)  # fmt: skip
raw("MatrixSquareRoot", input=S(3, 3))
raw("Qr", input=N(4, 3))
raw("Qr", "complex", input=Z(3, 3), of=[1],
    options={"check": "adjoint"})  # fmt: skip
raw("SelfAdjointEigV2", "values", input=S(3, 3), compute_v=False, of=[0])
raw("Svd", "values", input=N(4, 3), compute_uv=False, of=[0])
raw("TridiagonalMatMul", superdiag=N(1, 4), maindiag=N(1, 4), subdiag=N(1, 4), rhs=N(4, 2))


@built("Cholesky")
def _(rng):
    m = rng.standard_normal((3, 3))
    x = tf.constant(m @ m.conj().T + 3 * np.eye(3))
    return tf.raw_ops.Cholesky(input=(x + tf.linalg.adjoint(x)) / 2), x  # the op reads one triangle


@built("SelfAdjointEigV2", "vectors")
def _(rng):
    m = rng.standard_normal((3, 3))
    x = tf.constant(m @ m.T)
    e, v = tf.linalg.eigh((x + tf.linalg.adjoint(x)) / 2)
    return [e, v * tf.math.conj(v)], x  # the sign or phase of a vector is free


@built("Svd", "vectors")
def _(rng):
    x = tf.constant(rng.standard_normal((4, 3)))
    s, u, v = tf.linalg.svd(x)
    return [s, u * tf.math.conj(u), u @ tf.linalg.adjoint(v)], x


@built("Eig")
def _(rng):
    x = tf.constant(np.diag([1.0, 2.0, 4.0]) + 0.1 * rng.standard_normal((3, 3)) + 0j)
    return tf.raw_ops.Eig(input=x, Tout=tf.complex128)[0], x


@built("TridiagonalSolve")
def _(rng):
    d = tf.constant(rng.uniform(0.1, 0.5, (3, 4)) + np.array([[0.0], [3.0], [0.0]]))
    rhs = tf.constant(rng.standard_normal((4, 2)))
    return tf.raw_ops.TridiagonalSolve(diagonals=d, rhs=rhs), [d, rhs]
