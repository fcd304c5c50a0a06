"""Rules of arithmetic, reductions, Fourier transforms and linear algebra."""

import math

import tensorflow.compat.v1 as tf

from .. import _tf
from ._composites import composite
from ._conjugates import is_complex
from ._registry import transpose
from ._rows import by_input, identity, linear, multilinear, reapply, symmetric

identity("DebugIdentityV2", "DeepCopy", "EnsureShape", "Identity", "IdentityN", "PlaceholderWithDefault")
identity("ReadVariableOp", "RefIdentity", "Snapshot")

# Elementwise and real, or holomorphic.
symmetric(
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e",
    "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Cos", "Cosh",
    "Dawsn", "Digamma", "Elu", "Erf", "Erfc", "Erfinv", "Exp", "Expint", "Expm1", "FresnelCos", "FresnelSin", "Inv",
    "LeakyRelu", "Lgamma", "Log", "Log1p", "Ndtri", "Reciprocal", "Relu", "Relu6", "Rsqrt", "Selu", "Sigmoid", "Sin",
    "Sinh", "Softplus", "Softsign", "Spence", "Sqrt", "Square", "Tan", "Tanh",
    elementwise=True,
)  # fmt: skip
symmetric("Softmax")  # diag(s) - s s^T


@transpose("Sqrt", corrects=True)
def _sqrt(op, dy):
    """Where dy is 0, also the infinite slope at 0 gives 0: of what a sum leaves out, nothing is heard."""
    return tf.math.multiply_no_nan(0.5 / tf.math.conj(op.outputs[0]), dy)


@transpose("BesselI1", corrects=True)
def _bessel_i1(op, dy):
    """I0(x) - I1(x) / x, and 1/2 at 0, where TensorFlow has 1 (2.15 to 2.21)."""
    x, zero = op.inputs[0], tf.equal(op.inputs[0], 0)
    slope = tf.math.special.bessel_i0(x) - op.outputs[0] / tf.where_v2(zero, tf.ones([], x.dtype), x)
    return dy * tf.where_v2(zero, tf.constant(0.5, x.dtype), slope)


@transpose("Angle", "Atan", "Dawsn", "Erfc", corrects=True)
def _level(op, dy):
    """Constant at infinity; TensorFlow's gradients are inf/inf or 0 inf there, at the first or at the second order."""
    x, far = op.inputs[0], tf.math.is_inf(tf.abs(op.inputs[0]))
    near = reapply(op, [tf.where_v2(far, tf.ones([], x.dtype), x)])[0].op
    found = _tf.gradient_registry.lookup(op.type)(near, tf.where_v2(far, tf.zeros([], dy.dtype), dy))
    return tf.where_v2(far, tf.zeros([], x.dtype), found)


def _level_in_two(function):
    """The same of a function of two real numbers: no slope where one is infinite and the value is finite."""

    def rule(op, x, y):
        far = tf.math.is_finite(op.outputs[0]) & (tf.math.is_inf(x) | tf.math.is_inf(y))
        inside = tf.constant(1.5, x.dtype)
        return tf.where_v2(far, op.outputs[0], function(op, tf.where_v2(far, inside, x), tf.where_v2(far, inside, y)))

    return rule


def _has_open_exponent(op):
    return not is_complex(op) and op.inputs[1].op.type != "Const"


def _is_half(op):
    return op.inputs[0].dtype.base_dtype in (tf.float16, tf.bfloat16)


# TensorFlow's gradient builds a polygamma, which there is for single and double precision only.
@transpose("Digamma", when=_is_half, corrects=True)
def _digamma(op, dy):
    x = tf.cast(op.inputs[0], tf.float32)
    return dy * tf.cast(tf.math.polygamma(tf.ones_like(x), x), dy.dtype)


_itself = _level_in_two(lambda op, x, y: reapply(op, [x, y], shaped=False)[0])
composite("Atan2", "Igamma", "Igammac", corrects=True)(_itself)
composite("Pow", when=_has_open_exponent, corrects=True)(_itself)


linear("AccumulateNV2", "AddN", "Cast", "Complex", "Conj", "Cumsum", "Imag", "Mean", "Neg", "Real", "Sum")
linear("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D", "RFFT", "RFFT2D", "RFFT3D")
linear("SegmentMean", "SegmentSum", "UnsortedSegmentSum")
linear("SparseSegmentMean", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN")
linear("SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumWithNumSegments")
linear("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", "SparseSegmentSumGrad", moves=0)
linear("SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2", "SparseSegmentSumGradV2", moves=0)

multilinear("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Cross", "Einsum", "MatMul", "Mul", "SparseMatMul")

by_input("Add", "AddV2")(lambda op, dx: dx, lambda op, dy: dy)
by_input("Sub")(lambda op, dx: dx, lambda op, dy: -dy)
by_input("Div", "RealDiv")(
    lambda op, dx: dx / op.inputs[1],
    lambda op, dy: -dy * (op.outputs[0] / op.inputs[1]),
)
# dy (1 - y^2) and dy y (1 - y), which second derivatives of recurrent nets are full of.
by_input("TanhGrad")(
    lambda op, dy: -2.0 * op.inputs[1] * op.inputs[0] * dy,
    lambda op, ddy: tf.raw_ops.TanhGrad(y=op.inputs[0], dy=ddy),
)
by_input("SigmoidGrad")(
    lambda op, dy: op.inputs[1] * (dy - 2.0 * op.inputs[0] * dy),
    lambda op, ddy: tf.raw_ops.SigmoidGrad(y=op.inputs[0], dy=ddy),
)
# Of two equal numbers the first one counts, as in TensorFlow's gradient.
by_input("Maximum")(
    lambda op, dx: _where(op.inputs[0] >= op.inputs[1], dx),
    lambda op, dy: _where(op.inputs[0] < op.inputs[1], dy),
)
by_input("Minimum")(
    lambda op, dx: _where(op.inputs[0] <= op.inputs[1], dx),
    lambda op, dy: _where(op.inputs[0] > op.inputs[1], dy),
)


def _where(chosen: tf.Tensor, tangent: tf.Tensor) -> tf.Tensor:
    return tf.where_v2(chosen, tangent, tf.zeros([], tangent.dtype))


# By reciprocals, of which no derivative is 0 inf where x is infinite.
@composite("SoftsignGrad")
def _softsign_grad(op, dy, x):
    return dy * tf.square(tf.math.reciprocal(1 + tf.abs(x)))


@composite("SoftplusGrad", corrects=True)
def _softplus_grad(op, dy, x):
    return dy * tf.sigmoid(x)


# TensorFlow's gradients of these four do not conjugate, and those of the first three are 0 in x where x is 0 (2.15 to
# 2.21): there they are f(y), unless that is not finite.
def _but_at_zero(function):
    def rule(op, x, y):
        slope = function(y)
        lost = tf.equal(x, 0) & ~tf.math.is_finite(tf.abs(slope))
        return x * function(tf.where_v2(lost, tf.ones([], y.dtype), y))

    return rule


composite("Xdivy", corrects=True)(_but_at_zero(tf.math.reciprocal))
composite("Xlogy", corrects=True)(_but_at_zero(tf.log))
composite("Xlog1py", corrects=True)(_but_at_zero(tf.math.log1p))
composite("MulNoNan", when=is_complex, corrects=True)(lambda op, x, y: x * y)

transpose("Snapshot")(lambda op, dy: dy)

_SHIFT = 12
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_ODD = tuple(range(1, 2 * len(_BERNOULLI), 2))
# B_2k / (2k)!
_WEIGHTS = tuple(number / math.factorial(n + 1) for number, n in zip(_BERNOULLI, _ODD, strict=True))


@composite("Zeta", corrects=True)
@_level_in_two
def _zeta(op, s, q):
    """Hurwitz's zeta function by the Euler-Maclaurin formula, which has a derivative in s as well.

    sum_{n<N} (n+q)^-s + a^(1-s) / (s-1) + a^-s / 2 + sum_k B_2k / (2k)! s (s+1) ... (s+2k-2) a^(-s-2k+1), a = N + q.
    With N = 12 and ten terms the rest is below 1e-16 for the s at which the function is not 1 to all digits.

    Reference: F. Johansson (2015), Rigorous high-precision computation of the Hurwitz zeta function and its
    derivatives, Numerical Algorithms 69.
    """
    a = q + _SHIFT
    s_, q_, a_ = s[..., None], q[..., None], a[..., None]  # the terms lie along a last axis
    first = tf.reduce_sum(tf.pow(q_ + tf.range(_SHIFT, dtype=q.dtype), -s_), -1)
    rising = tf.cumprod(s_ + tf.range(_ODD[-1], dtype=s.dtype), -1)[..., ::2]
    odd, weights = tf.constant(_ODD, s.dtype), tf.constant(_WEIGHTS, s.dtype)
    rest = tf.reduce_sum(weights * rising * tf.pow(a_, -s_ - odd), -1)
    return first + tf.pow(a, 1 - s) / (s - 1) + tf.pow(a, -s) / 2 + rest


# The raw ops crop what is longer than fft_length; TensorFlow's gradients take it that nothing was cropped.
@composite("RFFT", "RFFT2D", corrects=True)
def _rfft(op, x, length):
    x = _cropped(x, tf.unstack(length, 1 if op.type == "RFFT" else 2))
    return getattr(tf.raw_ops, op.type)(input=x, fft_length=length, Tcomplex=op.get_attr("Tcomplex"))


@composite("IRFFT", "IRFFT2D", corrects=True)
def _irfft(op, x, length):
    *outer, last = tf.unstack(length, 1 if op.type == "IRFFT" else 2)
    x = _cropped(x, [*outer, last // 2 + 1])
    return getattr(tf.raw_ops, op.type)(input=x, fft_length=length, Treal=op.get_attr("Treal"))


@composite("RFFT3D")
def _rfft3d(op, x, length):
    """A real transform along the last axis, then complex ones along the other two."""
    x = _cropped(x, tf.unstack(length, 3))
    half = tf.raw_ops.RFFT(input=x, fft_length=length[2:], Tcomplex=op.get_attr("Tcomplex"))
    return _fft_of_outer_axes(half, tf.fft2d)


@composite("IRFFT3D")
def _irfft3d(op, x, length):
    *outer, last = tf.unstack(length, 3)
    x = _fft_of_outer_axes(_cropped(x, [*outer, last // 2 + 1]), tf.ifft2d)
    return tf.raw_ops.IRFFT(input=x, fft_length=length[2:], Treal=op.get_attr("Treal"))


def _cropped(x, lengths):
    """The front of the last axes."""
    fronts = [slice(None, n) for n in lengths]
    index = (..., *fronts)
    return x[index]


def _fft_of_outer_axes(x, transform):
    """`transform` over the axes -3 and -2."""
    rank = tf.rank(x)
    there = tf.concat([tf.range(rank - 3), [rank - 1, rank - 3, rank - 2]], 0)
    back = tf.concat([tf.range(rank - 3), [rank - 2, rank - 1, rank - 3]], 0)
    return tf.transpose(transform(tf.transpose(x, there)), back)
