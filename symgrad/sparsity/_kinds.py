"""What an op type means to a reach: elementwise, handing on, or a product."""

import tensorflow.compat.v1 as tf

from .. import rules

_UNCHANGED = frozenset({
    "CheckNumerics", "CheckNumericsV2", "Enter", "Exit", "Identity", "IdentityN", "NextIteration", "PreventGradient",
    "Print", "RefEnter", "RefExit", "RefIdentity", "RefNextIteration", "Snapshot", "StopGradient",
})  # fmt: skip
# Each element of the (one) output depends on the elements of the inputs that broadcasting puts at its place.
_ELEMENTWISE = frozenset({
    "AccumulateNV2", "Add", "AddN", "AddV2", "Atan2", "BroadcastTo", "Cast", "Complex", "Conj", "Div", "DivNoNan",
    "EluGrad", "Imag", "InvGrad", "LeakyReluGrad", "Maximum", "Minimum", "Mul", "MulNoNan", "Neg", "Pow", "Real",
    "RealDiv", "ReciprocalGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad", "Select", "SelectV2", "SeluGrad", "SigmoidGrad",
    "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "SquaredDifference", "Sub", "TanhGrad", "Xdivy", "Xlog1py", "Xlogy",
    "ZerosLike",
})  # fmt: skip
# Products without a rule of their own; a factor is any floating input.
_PRODUCTS = frozenset({"SparseTensorDenseMatMul", "TridiagonalMatMul"})


def is_identity(op: tf.Operation) -> bool:
    """True if output k is input k."""
    return op.type in _UNCHANGED or _kind(op) == "identity"


def is_elementwise(op: tf.Operation) -> bool:
    """True if each element of the output depends on those at its place only."""
    row = rules.pushforward.find(op.type)
    return op.type in _ELEMENTWISE or (isinstance(row, rules.Row) and row.elementwise)


def how_it_enters(op: tf.Operation, index: int) -> str:
    """How an op depends on a floating input that does not move: "factor", "term", or "" where nobody says."""
    if op.type in _PRODUCTS:
        return "factor"
    row = rules.pushforward.find(op.type)
    if not isinstance(row, rules.Row) or row.kind not in ("linear", "multilinear") or index not in row.inputs(op):
        return ""
    return "term" if row.kind == "linear" else "factor"


def _kind(op: tf.Operation) -> str:
    row = rules.pushforward.find(op.type)
    return row.kind if isinstance(row, rules.Row) else ""
