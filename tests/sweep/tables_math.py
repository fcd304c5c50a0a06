"""Elementwise arithmetic, reductions, complex numbers and Fourier transforms."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import NO_ORDER, ROADS, D, N, P, U, X, Z, elementwise, raw, row

elementwise("Asinh Atan BesselI0 BesselI0e BesselI1 BesselI1e Cos Cosh Dawsn Erf Erfc Exp Expm1 Neg Sigmoid Sin Sinh")
elementwise("Spence Lgamma Digamma Log Log1p Reciprocal Inv Rsqrt Sqrt Expint Ndtri", U)
elementwise("FresnelCos FresnelSin", U, options={"special": dict.fromkeys(("inf", "-inf"), "the slope has no limit")})
elementwise("BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1", P)
elementwise("Square Tan Tanh Abs", N)
elementwise("Acos Asin Atanh Erfinv", U)
raw("Acosh", x=X(lambda rng, s: rng.uniform(1.5, 3, s), (2, 3)))
elementwise("Elu LeakyRelu Relu Relu6 Selu Softplus Softsign", D, "features")
elementwise("Ceil Floor Rint Round Sign", P, options={"check": "zero"})
elementwise("Sin Exp Sqrt Tanh Reciprocal Square Sigmoid", Z, variant="complex")

for _op in ["Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Atan2", "FloorMod"]:
    raw(_op, x=D(2, 3), y=P(3)) if _op != "Atan2" else raw(_op, y=D(2, 3), x=P(3))
for _op in ["Div", "RealDiv", "DivNoNan", "Xdivy", "Xlogy", "Xlog1py", "Pow", "MulNoNan"]:
    raw(_op, x=P(2, 3), y=P(3))
for _op in ["Maximum", "Minimum"]:
    raw(_op, x=D(2, 3), y=P(3))
for _op in ["Mul", "RealDiv", "Pow", "Sub", "MulNoNan", "DivNoNan", "Xdivy", "Xlogy", "Xlog1py"]:
    raw(_op, "complex", x=Z(2, 3), y=Z(3))
raw("FloorDiv", x=P(2, 3), y=P(3), options={"check": "zero"})
raw("TruncateDiv", x=np.float64([3.3, 4.1]), y=P(2), options={"check": "zero"})
raw("NextAfter", x1=N(2, 3), x2=N(3),
    options={"special": dict.fromkeys(("inf in x0", "-inf in x0"), "the largest number stands there")})  # fmt: skip
raw("Polygamma", a=np.full([3], 2.0), x=P(3))
raw("Polygamma", "order", a=P(3), x=P(3), options={"errors": dict.fromkeys(ROADS, "the order is a whole number")})
raw("Zeta", "q", x=np.full([3], 2.5), q=P(3))
raw("Zeta", "x", x=X(lambda rng, s: rng.uniform(2, 3, s), (3,)), q=np.full([3], 1.5))
raw("Betainc", "x", a=np.full([3], 2.0), b=np.full([3], 1.5), x=U(3))
raw("Betainc", "a", a=P(3), b=np.full([3], 1.5), x=np.full([3], 0.4),
    options={"errors": dict.fromkeys(ROADS, "TensorFlow leaves a and b out")})  # fmt: skip
raw("Igamma", "x", a=np.full([3], 2.0), x=P(3))
raw("Igamma", "a", a=P(3), x=np.full([3], 1.2))
raw("Igammac", a=P(3), x=P(3))
raw("ClipByValue", t=D(3, 4), clip_value_min=np.float64(-0.5), clip_value_max=np.float64(1.1),
    options={"complex_errors": NO_ORDER})  # fmt: skip
raw("ClipByValue", "bounds", t=D(3, 4), clip_value_min=X(lambda rng, s: rng.uniform(-0.56, -0.54, s), ()),
    clip_value_max=X(lambda rng, s: rng.uniform(1.09, 1.11, s), ()),
    options={"complex_errors": NO_ORDER})  # fmt: skip
raw("AddN", inputs=[N(2), N(2), N(2)])
raw("AccumulateNV2", inputs=[N(2), N(2)], shape=[2])
raw("Select", condition=[True, False], x=N(2, 3), y=N(2, 3))
raw("SelectV2", condition=[[True], [False]], t=N(2, 3), e=N(3))
raw("Cross", a=N(2, 3), b=N(2, 3))
raw("CheckNumerics", tensor=N(2), message="")
raw("CheckNumericsV2", tensor=N(2), message="")
raw("EnsureShape", input=N(2), shape=[2])
raw("Identity", input=N(2))
raw("IdentityN", input=[N(2), N(3)])
raw("Snapshot", input=N(2))
raw("PlaceholderWithDefault", input=N(2), shape=[2])
raw("Print", input=N(2), data=[])
raw("DebugIdentityV2", input=N(2))
raw("DebugGradientIdentity", input=N(2), options={"errors": dict.fromkeys(ROADS, "only the debugger makes it")})
raw("PreventGradient", input=N(2), message="on purpose",
    options={"errors": dict.fromkeys(ROADS, "the op is there to forbid it")})  # fmt: skip
raw("StopGradient", input=N(2), options={"errors": dict.fromkeys(ROADS, "it says so")})
raw("L2Loss", t=N(2, 3))

for _op in ["Sum", "Mean", "EuclideanNorm"]:
    raw(_op, input=N(2, 3), axis=[1])
raw("Prod", input=P(2, 3), axis=[1])
raw("Max", input=D(2, 3), axis=[1])
raw("Min", input=D(2, 3), axis=[1])
raw("Cumsum", x=N(2, 3), axis=1, exclusive=True)
raw("Cumprod", x=P(2, 3), axis=1, reverse=True)
raw("CumulativeLogsumexp", x=N(2, 3), axis=1)
raw("Cumprod", "exclusive", x=N(3, 2), axis=0, exclusive=True)
raw("Sum", "complex", input=Z(2, 3), axis=[1])
raw("Prod", "complex", input=Z(2, 3), axis=[1])
raw("Mean", "complex", input=Z(2, 3), axis=[1])

raw("Cast", x=N(2, 3), DstT=tf.float32, options={"coarse": True})
raw("Cast", "to complex", x=N(2, 3), DstT=tf.complex128)
raw("Bitcast", input=N(2, 3), type=tf.float64, options={"errors": dict.fromkeys(ROADS, "bits are not numbers")})
raw("Complex", real=N(2), imag=N(2), Tout=tf.complex128)
elementwise("ComplexAbs", Z, Tout=tf.float64)
elementwise("Real Imag Angle", Z, "input", Tout=tf.float64)
raw("Conj", input=Z(2, 3))
for _op in ["FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"]:
    raw(_op, input=Z(2, 2, 4))
_UNSET = {"special": dict.fromkeys(("no rows", "no columns"), "TensorFlow leaves the output as the memory was")}
for _rank in (1, 2, 3):
    _name = "" if _rank == 1 else f"{_rank}D"
    raw("RFFT" + _name, input=N(2, 2, 6), fft_length=[2, 2, 6][-_rank:], Tcomplex=tf.complex128, options=_UNSET)
    raw("RFFT" + _name, "cropped", input=N(3, 3, 5), fft_length=[2, 3, 4][-_rank:], Tcomplex=tf.complex128,
        options=_UNSET)  # fmt: skip
    raw("IRFFT" + _name, input=Z(2, 2, 4), fft_length=[2, 2, 6][-_rank:], Treal=tf.float64,
        options=_UNSET)  # fmt: skip


def _sample(op, argument, **others):
    def build(rng):
        alpha = tf.constant(rng.uniform(1, 2, 3))
        return getattr(tf.raw_ops, op)(**{argument: alpha}, **others), alpha

    row(op, build, check="adjoint")


_sample("RandomGamma", "alpha", shape=[2], seed=1, seed2=2)
_sample("StatelessRandomGammaV2", "alpha", shape=[2, 3], seed=[1, 2])
_sample("StatelessRandomGammaV3", "alpha", shape=[2, 3], key=np.uint64([1]), counter=np.uint64([0, 0]), alg=1)
raw("StatelessParameterizedTruncatedNormal", shape=[3], seed=[1, 2], means=N(3), stddevs=P(3),
    minvals=X(lambda rng, s: rng.uniform(-2, -1, s), (3,)), maxvals=X(lambda rng, s: rng.uniform(1, 2, s), (3,)),
    options={"check": "adjoint"})  # fmt: skip

# Gradient ops, which are forward ops of a second derivative.
for _op, _y in {"TanhGrad": U, "SigmoidGrad": U, "SqrtGrad": P, "RsqrtGrad": P, "InvGrad": P,
                "ReciprocalGrad": P}.items():  # fmt: skip
    raw(_op, y=_y(2, 3), dy=N(2, 3))
for _op in ["ReluGrad", "Relu6Grad", "SoftplusGrad", "LeakyReluGrad", "SoftsignGrad"]:
    raw(_op, gradients=N(2, 3), features=D(2, 3))
for _op in ["EluGrad", "SeluGrad"]:
    raw(_op, gradients=N(2, 3), outputs=D(2, 3))
raw("IgammaGradA", a=P(3), x=P(3), options={"errors": dict.fromkeys(ROADS, "TensorFlow has no gradient of it")})
