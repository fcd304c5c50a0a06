"""Transpose rules of ops whose gradients in TensorFlow take complex numbers for real ones (2.15 to 2.21).

The convention is TensorFlow's own: g is right if Re <g, dx> = Re <dy, df> for every dx, <a, b> = sum conj(a) b.
"""

import tensorflow.compat.v1 as tf

from .. import _tf
from ._composites import composite
from ._registry import transpose
from ._rows import by_input


def is_complex(op: tf.Operation) -> bool:
    """True for an op with a complex output."""
    return op.outputs[0].dtype.is_complex


def _real(x: tf.Tensor) -> tf.Tensor:
    """The real part, in the dtype of x."""
    return tf.cast(tf.math.real(x), x.dtype)


def _matrices(x: tf.Tensor) -> tf.Tensor:
    return x[..., tf.newaxis, tf.newaxis]


@transpose("MatrixDeterminant", when=is_complex, corrects=True)
def _determinant(op, dy):
    return _matrices(dy * tf.math.conj(op.outputs[0])) * tf.linalg.inv(op.inputs[0], adjoint=True)


@transpose("LogMatrixDeterminant", when=is_complex, corrects=True)
def _log_determinant(op, d_sign, d_log):
    """d log = Re tr(A^-1 dA), d sign = i sign Im tr(A^-1 dA)."""
    turned = tf.math.imag(d_sign * tf.math.conj(op.outputs[0]))
    weight = tf.complex(tf.math.real(d_log), turned)
    return _matrices(weight) * tf.linalg.inv(op.inputs[0], adjoint=True)


@transpose("Svd", when=is_complex, corrects=True)
def _svd(op, d_values, d_left, d_right):
    """The singular values are real, so the imaginary part of d_values has no say; of the rest TensorFlow is right."""
    return [_tf.gradient_registry.lookup(op.type)(op, _real(d_values), d_left, d_right)]


def _may_be_overdetermined(op):
    rows, columns = op.inputs[0].shape[-2:].as_list() if op.inputs[0].shape.rank else (None, None)
    return is_complex(op) and op.get_attr("fast") and (rows is None or columns is None or rows >= columns)


@composite("MatrixSolveLs", when=_may_be_overdetermined, corrects=True)
def _least_squares(op, a, b, regularizer):
    """(A^H A + l I)^-1 A^H B, for which TensorFlow transposes where the adjoint is to be taken.

    Of fewer rows than columns it is A^H (A A^H + l I)^-1 B.
    """

    def shifted(gram):
        return gram + tf.cast(regularizer, a.dtype) * tf.linalg.eye(tf.shape(gram)[-1], dtype=a.dtype)

    def overdetermined():
        return tf.linalg.solve(shifted(tf.matmul(a, a, adjoint_a=True)), tf.matmul(a, b, adjoint_a=True))

    def underdetermined():
        return tf.matmul(a, tf.linalg.solve(shifted(tf.matmul(a, a, adjoint_b=True)), b), adjoint_a=True)

    if a.shape.rank and a.shape[-2:].is_fully_defined():
        return overdetermined()
    return tf.cond(tf.shape(a)[-2] >= tf.shape(a)[-1], overdetermined, underdetermined)


@transpose("MatrixSquareRoot", when=is_complex, corrects=True)
def _square_root(op, dy):
    """S^H G + G S^H = dy, as one linear system: the rows of G one after the other."""
    root = op.outputs[0]
    size = tf.shape(root)[-1]
    eye = tf.linalg.eye(size, dtype=root.dtype)
    outer = tf.shape(root)[:-2]

    def kron(a, b):
        product = a[..., :, tf.newaxis, :, tf.newaxis] * b[..., tf.newaxis, :, tf.newaxis, :]
        return tf.reshape(product, tf.concat([outer, [size * size, size * size]], 0))

    system = kron(tf.linalg.adjoint(root), eye) + kron(eye, tf.math.conj(root))
    given = tf.reshape(dy, tf.concat([outer, [size * size, 1]], 0))
    return tf.reshape(tf.linalg.solve(system, given), tf.shape(root))


@transpose("TridiagonalSolve", when=is_complex, corrects=True)
def _tridiagonal_solve(op, dy):
    """g = A^-H dy for the right side; its products -g x^H at the three diagonals for them."""
    diagonals, x = op.inputs[0], op.outputs[0]
    upper, main, lower = (diagonals[..., k, :] for k in range(3))
    adjoint = tf.stack([_earlier(lower), main, _later(upper)], -2)
    options = {name: op.get_attr(name) for name in ("partial_pivoting", "perturb_singular")}
    by_rhs = tf.raw_ops.TridiagonalSolve(diagonals=tf.math.conj(adjoint), rhs=dy, **options)
    parts = [tf.reduce_sum(by_rhs * tf.math.conj(other), -1) for other in (_rows_on(x), x, _rows_back(x))]
    return -tf.stack(parts, -2), by_rhs


def _earlier(diagonal):
    """One place to the left along the last axis."""
    return tf.concat([diagonal[..., 1:], tf.zeros_like(diagonal[..., :1])], -1)


def _later(diagonal):
    return tf.concat([tf.zeros_like(diagonal[..., :1]), diagonal[..., :-1]], -1)


def _rows_on(x):
    """Row i + 1 in the place of row i, zeros in the last."""
    return tf.concat([x[..., 1:, :], tf.zeros_like(x[..., :1, :])], -2)


def _rows_back(x):
    return tf.concat([tf.zeros_like(x[..., :1, :]), x[..., :-1, :]], -2)


@transpose("EuclideanNorm", answers=(0,), when=is_complex, corrects=True)
def _euclidean_norm(op, dy):
    """The norm is real, so the imaginary part of dy has no say."""
    x, axes = op.inputs
    norm = op.outputs[0]
    if not op.get_attr("keep_dims"):
        places = tf.range(tf.rank(x))
        axes = tf.reshape(axes, [-1])
        axes = tf.where_v2(axes < 0, axes + tf.cast(tf.rank(x), axes.dtype), axes)
        reduced = tf.reduce_any(tf.equal(places[:, tf.newaxis], tf.cast(axes, tf.int32)), 1)
        shape = tf.where_v2(reduced, 1, tf.shape(x))
        norm, dy = tf.reshape(norm, shape), tf.reshape(dy, shape)
    return [tf.math.divide_no_nan(x * _real(dy), norm + tf.zeros_like(x)), None]


@composite("SquaredDifference", when=is_complex, corrects=True)
def _squared_difference(op, x, y):
    """Of complex numbers it is |x - y|^2."""
    return (x - y) * tf.math.conj(x - y)


by_input("SquaredDifference")(
    lambda op, dx: _along_difference(dx, op.inputs[0] - op.inputs[1]),
    lambda op, dy: _along_difference(dy, op.inputs[1] - op.inputs[0]),
)


def _along_difference(tangent: tf.Tensor, difference: tf.Tensor) -> tf.Tensor:
    if not tangent.dtype.is_complex:
        return 2 * tangent * difference
    return 2 * _real(tf.math.conj(tangent) * difference)


@composite("Sign", when=is_complex, corrects=True)
def _sign(op, x):
    """x / |x|, of which TensorFlow takes it that it is constant."""
    return tf.math.divide_no_nan(x, tf.cast(tf.abs(x), x.dtype))
