"""How a value that is not finite comes about, and what is done against it."""

import enum

import tensorflow.compat.v1 as tf


class Birth(enum.Enum):
    """How a value that is not finite came about."""

    NAN = "finite values in, NaN out"
    INFINITY = "finite values in, an infinity out"
    MIXED = "infinities in, NaN out"
    FED = "what was fed is not finite"
    VARIABLE = "the variable holds values that are not finite"
    CONSTANT = "the constant is not finite"
    ELSEWHERE = "not finite in the session, but finite in a run of the graph as it is written"
    UNTRACED = "not finite, and the ops on the way to it do not show where it began"


_DOUBLE_WHERE = (
    "Under a tf.where replace the argument itself too, tf.where(ok, f(tf.where(ok, x, 1.0)), 0.0): the gradient of the "
    "branch that is not taken is computed as well, and 0 times infinity is NaN"
)
_ROOT = "The slope of a root at 0 is infinite: add an epsilon under it, sqrt(x + 1e-12). " + _DOUBLE_WHERE
_NORM = (
    "The norm has no gradient at 0: add an epsilon under the root, sqrt(reduce_sum(x ** 2) + 1e-12), or double where: "
    "tf.where(ok, tf.sqrt(tf.where(ok, s, 1.0)), 0.0)"
)
_LOG = "Keep the argument off 0: log(x + 1e-12) or log(maximum(x, 1e-12)). " + _DOUBLE_WHERE
_CROSS_ENTROPY = (
    "A softmax that is 0 has no logarithm: use tf.nn.log_softmax or tf.nn.softmax_cross_entropy_with_logits"
)
_EXP = "Clip the argument, or subtract its maximum first (tf.reduce_logsumexp, tf.nn.softmax, tf.nn.softplus do)"
_DIVISION = "Keep the divisor off 0: x / (y + 1e-12), or tf.math.divide_no_nan(x, y). " + _DOUBLE_WHERE
_POWER = (
    "A power needs a positive base where the exponent is no integer, and off 0 where it is below 1. " + _DOUBLE_WHERE
)
_HALF = "float16 ends at 65504: keep this op in float32, or scale the loss down"
_OVERFLOW = "Look at the size of its inputs: scale or clip them, or lower the learning rate"

_ADVICE = {
    "Acos": "Keep the argument inside of (-1, 1)", "Asin": "Keep the argument inside of (-1, 1)",
    "Atanh": "Keep the argument inside of (-1, 1)", "Acosh": "Keep the argument above 1",
    "Div": _DIVISION, "RealDiv": _DIVISION, "Reciprocal": _DIVISION, "Inv": _DIVISION, "Xdivy": _DIVISION,
    "Exp": _EXP, "Expm1": _EXP, "Sinh": _EXP, "Cosh": _EXP,
    "Log": _LOG, "Log1p": "Keep the argument above -1. " + _DOUBLE_WHERE, "Xlogy": _LOG,
    "Pow": _POWER, "Rsqrt": _ROOT, "Sqrt": _ROOT,
}  # fmt: skip
GIVEN_ADVICE = {
    Birth.FED: "Look at the data",
    Birth.VARIABLE: "An update has spoilt it: ask for the origin in the step before, with the values from then",
    Birth.ELSEWHERE: (
        "An optimisation of the graph, another device, or random numbers inside of a loop or function made the "
        "difference: try a session with disable_meta_optimizer in its rewrite_options"
    ),
}
_SUMS = frozenset({"Sum", "Maximum", "AddV2", "Add", "Mean"})
_SQUARES = frozenset({"Square", "Mul", "Pow", "L2Loss", "Conj"})
_PASSING = frozenset({"Identity", "Reshape", "Clip", "Cast", "GatherNd", "Select", "SelectV2", "StridedSlice"})


def advice(op_type: str, forward: tf.Operation | None, *, half: bool) -> str:
    """What is known to help against what an op does.

    Args:
      op_type: its type.
      forward: the op itself, or of a backward op the op whose gradient it is part of; None if it is not known.
      half: whether its values are float16.
    """
    kind = forward.type if forward is not None else op_type.removesuffix("Grad")
    if half and kind not in ("Log", "Sqrt", "RealDiv", "Div", "Reciprocal"):
        return _HALF + (f". {_ADVICE[kind]}" if kind in _ADVICE else "")
    if kind == "Sqrt" and forward is not None and _reads(forward, _SUMS) and _reads(forward, _SQUARES, depth=2):
        return _NORM
    if kind == "Log" and forward is not None and _reads(forward, frozenset({"Softmax"}), depth=3):
        return _CROSS_ENTROPY
    return _ADVICE.get(kind, _OVERFLOW)


def _reads(op: tf.Operation, types: frozenset[str], depth: int = 1) -> bool:
    """True if an op of these types is among the nearest that `op` reads; ops that only move values do not count."""
    level = {op}
    while depth and level:
        above = {t.op for each in level for t in each.inputs}
        if any(each.type in types for each in above):
            return True
        depth -= not any(each.type in _PASSING for each in above)
        level = above if len(above) < 32 else set()
    return False
