"""Whether a gradient function is linear in the incoming gradient, as far as the graph of what it built shows.

A double VJP differentiates a gradient function with respect to the incoming gradient u: that is J v only if the
function is J^T u. A user's own one may clip, square or add to u. Each tensor that it computes is found to be
independent of u, linear in u, not linear, or unknown. TensorFlow's registered gradients are trusted and not looked at.
"""

import enum
import logging
from collections.abc import Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _walk
from ..errors import NotLinearError
from ._registry import pushforward
from ._rows import Row

_LOG = logging.getLogger("symgrad")


class Dependence(enum.Enum):
    """How a tensor depends on the incoming gradient."""

    INDEPENDENT = "independent"
    LINEAR = "linear"
    NOT_LINEAR = "not linear"
    UNKNOWN = "unknown"


# Of the incoming gradient these ops read the shape, or whether it is finite.
_UNMOVED = frozenset({
    "IsFinite", "IsInf", "IsNan", "OnesLike", "Rank", "Shape", "ShapeN", "Size", "VariableShape", "ZerosLike",
})  # fmt: skip

_PASSED = frozenset({"CheckNumerics", "CheckNumericsV2", "Print", "PreventGradient"})

# Op types that are linear in one of these inputs while the others stay: quotients, solvers, gradient ops.
_LINEAR_IN: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Div", "DivNoNan", "RealDiv", "Xdivy", "Xlogy", "Xlog1py"), (0,)),
    "MulNoNan": (0, 1),
    **dict.fromkeys(("BandedTriangularSolve", "MatrixSolve", "MatrixTriangularSolve", "TridiagonalSolve"), (1,)),
    "TridiagonalMatMul": (3,),
    **dict.fromkeys(("EluGrad", "LeakyReluGrad", "Relu6Grad", "ReluGrad", "SeluGrad"), (0,)),
    **dict.fromkeys(("SoftplusGrad", "SoftsignGrad"), (0,)),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), (0,)),
    **dict.fromkeys(("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"), (1,)),
}

_SUMS = frozenset({"Add", "AddV2", "Sub"})
# Not linear, or not linear as far as derivatives go: what is constant by pieces or stopped has none.
_BENT = frozenset({
    "Atan2", "Ceil", "ClipByValue", "ComplexAbs", "Cumprod", "EuclideanNorm", "Floor", "FloorDiv", "FloorMod", "L2Loss",
    "LogSoftmax", "Max", "Maximum", "Min", "Minimum", "Pow", "Prod", "Rint", "Round", "Sign", "SquaredDifference",
    "StopGradient", "TopKV2",
})  # fmt: skip


def require_linear(op: tf.Operation, gradients: Sequence[tf.Tensor | None], incoming: Sequence[tf.Tensor]) -> None:
    """Raise NotLinearError if a gradient that the own gradient function of `op` built is not linear in `incoming`.

    What the graph does not show is let pass, with a line in the log: `symgrad.testing.check_linear` decides by numbers.
    """
    found = {id(u): Dependence.LINEAR for u in incoming}
    readers = _walk.readers(incoming)
    wanted = {id(part) for g in gradients for part in _parts(g)}
    culprit = None
    for reader in _walk.in_order(readers):
        kinds = [found.get(id(t), Dependence.INDEPENDENT) for t in reader.inputs]
        outputs = _through(reader, kinds)
        found.update((id(t), kind) for t, kind in zip(reader.outputs, outputs, strict=True))
        if culprit is None and Dependence.NOT_LINEAR in outputs and Dependence.NOT_LINEAR not in kinds:
            culprit = reader
    kinds = [found.get(w, Dependence.INDEPENDENT) for w in wanted]
    if Dependence.NOT_LINEAR in kinds and culprit is not None:
        raise NotLinearError(
            f"the gradient of {op.type} {op.name!r} is not linear in the incoming gradient (at {culprit.name!r}, "
            f"{culprit.type}), so that no J v follows from it. Clip or rescale gradients after they are computed, or "
            "give the op's derivative as it is"
        )
    _refuse_constants(op, gradients, found)
    if Dependence.UNKNOWN in kinds:
        _LOG.info(
            "The gradient of %s %r may be linear in the incoming gradient or not; symgrad.testing.check_linear tells.",
            op.type, op.name,
        )  # fmt: skip


def _refuse_constants(op, gradients, found) -> None:
    """A gradient that does not depend on the incoming one is linear only if it is zero."""
    for gradient in gradients:
        for part in _parts(gradient)[:1]:
            if found.get(id(part), Dependence.INDEPENDENT) is Dependence.INDEPENDENT and not is_zero(part):
                raise NotLinearError(
                    f"the gradient of {op.type} {op.name!r} does not depend on the incoming gradient and is not shown "
                    f"to be zero (at {part.op.name!r}, {part.op.type}), so that no J v follows from it"
                )


def _parts(gradient) -> list[tf.Tensor]:
    """The values of a gradient, which may be an IndexedSlices."""
    if gradient is None:
        return []
    return [gradient.values] if isinstance(gradient, tf.IndexedSlices) else [tf.convert_to_tensor(gradient)]


def _through(op: tf.Operation, kinds: Sequence[Dependence]) -> list[Dependence]:
    """How the outputs of an op depend on what its inputs depend on."""
    count = len(op.outputs)
    if op.type in _UNMOVED:
        return [Dependence.INDEPENDENT] * count
    rule = pushforward.find(op.type)
    if op.type in _PASSED or (isinstance(rule, Row) and rule.kind == "identity"):
        return list(kinds[:count])
    for worst in (Dependence.NOT_LINEAR, Dependence.UNKNOWN):
        if worst in kinds:
            return [worst] * count
    moving = [i for i, kind in enumerate(kinds) if kind is Dependence.LINEAR]
    return [_of_linear(op, rule, moving) if moving else Dependence.INDEPENDENT] * count


def _of_linear(op: tf.Operation, rule, moving: Sequence[int]) -> Dependence:
    if op.type in _LINEAR_IN:
        return Dependence.LINEAR if len(moving) == 1 and moving[0] in _LINEAR_IN[op.type] else Dependence.NOT_LINEAR
    kind = rule.kind if isinstance(rule, Row) else ""
    if kind == "multilinear":
        return Dependence.LINEAR if len(moving) == 1 and moving[0] in rule.inputs(op) else Dependence.NOT_LINEAR
    if kind == "linear" or op.type in _SUMS:
        others = [i for i in rule.inputs(op) if i not in moving]
        together = set(moving) <= set(rule.inputs(op)) and all(is_zero(op.inputs[i]) for i in others)
        return Dependence.LINEAR if together else Dependence.NOT_LINEAR
    known = kind == "symmetric" or op.type in _BENT
    return Dependence.NOT_LINEAR if known or not _has_numbers(op) else Dependence.UNKNOWN


def _has_numbers(op: tf.Operation) -> bool:
    """False for comparisons and the like, which are not linear whatever they are."""
    return not op.outputs or any(t.dtype.is_floating or t.dtype.is_complex for t in op.outputs)


def is_zero(tensor: tf.Tensor, depth: int = 20) -> bool:
    """True if the graph shows that all elements of `tensor` are zero."""
    op = tensor.op
    if op.type == "ZerosLike":
        return True
    if op.type == "Const":
        value = tf.get_static_value(tensor)
        return value is not None and value.dtype.kind in "fciuV" and not np.any(value)
    rule = pushforward.find(op.type)
    if depth == 0 or not isinstance(rule, Row) or rule.kind not in ("identity", "linear", "multilinear"):
        return False
    zeros = (is_zero(op.inputs[i], depth - 1) for i in rule.inputs(op))
    return any(zeros) if rule.kind == "multilinear" else all(zeros)
