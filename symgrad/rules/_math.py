"""Pushforward rules of arithmetic, reductions and linear algebra."""

import tensorflow.compat.v1 as tf

from . import _rows
from ._rows import by_input, linear, multilinear, symmetric

_rows.alike("Identity", "RefIdentity", "IdentityN", "ReadVariableOp", "Snapshot", "DeepCopy", "EnsureShape")

# Elementwise and real, or holomorphic.
symmetric(
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e",
    "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Cos", "Cosh",
    "Dawsn", "Digamma", "Elu", "Erf", "Erfc", "Erfinv", "Exp", "Expint", "Expm1", "FresnelCos", "FresnelSin", "Inv",
    "LeakyRelu", "Lgamma", "Log", "Log1p", "Ndtri", "Reciprocal", "Relu", "Relu6", "Rsqrt", "Selu", "Sigmoid", "Sin",
    "Sinh", "Softplus", "Softsign", "Spence", "Sqrt", "Square", "Tan", "Tanh",
)  # fmt: skip
symmetric("Softmax")  # diag(s) - s s^T

linear("AccumulateNV2", "AddN", "Cast", "Complex", "Conj", "Cumsum", "Imag", "Mean", "Neg", "Real", "Sum", moves=None)
linear("SegmentMean", "SegmentSum", "UnsortedSegmentSum", moves=0)
linear("SparseSegmentMean", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN", moves=0)
linear("SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumWithNumSegments", moves=0)

multilinear("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Cross", "Einsum", "MatMul", "Mul", "SparseMatMul")
multilinear("SparseTensorDenseMatMul", moves=(1, 3))
multilinear("MulNoNan", moves=(0,))  # in x; the 0 * inf of y is kept from the double VJP

by_input("Add", "AddV2")(lambda op, dx: dx, lambda op, dy: dy)
by_input("Sub")(lambda op, dx: dx, lambda op, dy: -dy)
by_input("Div", "RealDiv")(
    lambda op, dx: dx / op.inputs[1],
    lambda op, dy: -dy * (op.outputs[0] / op.inputs[1]),
)
by_input("SquaredDifference")(
    lambda op, dx: 2 * dx * (op.inputs[0] - op.inputs[1]),
    lambda op, dy: 2 * dy * (op.inputs[1] - op.inputs[0]),
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
