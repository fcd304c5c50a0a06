"""Where a derivative ends: which input of which op does not pass one on, and why."""

import enum
from collections.abc import Hashable

import tensorflow.compat.v1 as tf

from .. import _bodies, _tensors, _tf
from .._op_types import EXITS, STACK_POPS, writes_variable
from ._composites import composite
from ._registry import transpose


class Cut(enum.Enum):
    """Why a derivative is not passed on: by an op, by a call, or because no op leads from x to y at all."""

    # What the function means: there is nothing to pass on.
    STOP_GRADIENT = "stop_gradient"
    ZERO = "the derivative is zero wherever it exists"
    INTEGER = "from this op on the values are integers, booleans or strings"
    SHAPE = "only the shape is read, not the values"
    REPLACED = "a tf.custom_gradient stands for the derivative of what is inside"
    # A gap: a derivative may exist, and nobody computes it.
    NOT_DIFFERENTIABLE = "TensorFlow marks the op type NotDifferentiable"
    UNREGISTERED = "the op type has no registered gradient"
    UNANSWERED = "the op's gradient function leaves this input out"
    UNHEARD = "the op's gradient function leaves out an output that leads to ys"
    ASSIGNED = "an assignment, which passes no derivative to the variable"
    CUSTOM_LOST = "the op's custom gradient is not registered in this process"
    FAILS = "the op type's gradient function says that there is none"
    FUNCTION_CALL = "the call of a function that TensorFlow cannot differentiate"
    # What a user said.
    CUSTOM_NONE = "the custom gradient answers None for this input"
    CUSTOM_FAILS = "the custom gradient raises an error"
    STOPPED = "listed in stop_gradients"
    NO_BACK_PROP = "the loop was built with back_prop=False"
    # There is no path that an op could cut.
    INTEGER_X = "x itself holds integers, booleans or strings"
    OTHER_GRAPH = "x belongs to another graph than ys"
    ENCLOSED = "x lies inside a function body and ys outside of it"
    REVERSED = "x is computed from ys, not ys from x"
    BYPASSED = "x and ys are computed from the same tensor, ys not through x"
    NO_PATH = "no path leads from x to ys"

    @property
    def is_gap(self) -> bool:
        """True if a derivative exists that nobody computes: going on would make the result incomplete."""
        return self in _GAPS


_GAPS = frozenset({
    Cut.NOT_DIFFERENTIABLE, Cut.UNREGISTERED, Cut.UNANSWERED, Cut.UNHEARD, Cut.ASSIGNED, Cut.CUSTOM_LOST,
    Cut.FAILS, Cut.FUNCTION_CALL,
})  # fmt: skip

# Piecewise constant, or not a function of the values of its input (TensorFlow answers None or marks them).
_ZERO = frozenset({
    "Ceil", "EditDistance", "Floor", "FloorDiv", "GetSessionHandleV2", "OnesLike", "Rint", "Round", "Sign",
    "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayV3", "TruncateDiv", "ZerosLike",
})  # fmt: skip

_SHAPE = frozenset({"Rank", "Shape", "ShapeN", "Size"})

# Inputs that TensorFlow's gradient function answers with None although the derivative is not 0.
_UNANSWERED: dict[str, tuple[int, ...]] = {
    "Betainc": (0, 1),
    "MatrixDiagPartV3": (2,),
    "MatrixDiagV3": (4,),
    "MatrixSolveLs": (2,),
    "Polygamma": (0,),
    "QuantizeAndDequantizeV2": (1, 2),
    "QuantizeAndDequantizeV3": (1, 2),
    "ScaleAndTranslate": (2, 3),
    "SparseMatrixAdd": (2, 3),
}

# Inputs that are answered with None because the derivative is 0.
_WITHOUT_INFLUENCE = {"SparseAdd": (6,)}

BATCH_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_BATCH_NORM_GRADS = tuple(f"FusedBatchNormGrad{version}" for version in ("", "V2", "V3"))

# Op types of which an attribute, the width of their input or the loop they leave decides.
_JUDGED_SINGLY = EXITS | {"ResizeBicubic", *BATCH_NORMS, *_BATCH_NORM_GRADS}

# Outputs whose cotangents TensorFlow's gradient function does not hear, although they move.
UNHEARD: dict[str, tuple[int, ...]] = {"CTCLoss": (1,), "CTCLossV2": (1,), **dict.fromkeys(BATCH_NORMS, (1, 2))}


def cut_at(op: tf.Operation, index: int) -> Cut | None:
    """Why no derivative passes from the outputs of `op` to its input number `index`; None if one does.

    A transpose rule stands for the registered gradient of its op type, for the inputs that it answers for.
    """
    if op.type in STACK_POPS:
        return None  # what was pushed comes back as it was
    if not _tensors.is_differentiable(op.inputs[index]):
        return Cut.INTEGER
    if _leaves_without_back_prop(op):
        return Cut.NO_BACK_PROP
    if op.type == "StopGradient":
        return Cut.STOP_GRADIENT
    if op.type in _ZERO and not composite.rule_of(op):
        return Cut.ZERO
    if index == 0 and op.type.startswith("LookupTable"):  # the handle of a table is not that of a variable
        return Cut.ZERO
    if op.type in _SHAPE:
        return Cut.SHAPE
    if op.outputs and not any(map(_tensors.is_differentiable, op.outputs)):
        return Cut.INTEGER
    own = has_own_gradient(op)
    if not own and composite.rule_of(op):
        return None
    if not own and transpose.rule_of(op):
        if transpose.is_flat(op.type, index):
            return Cut.ZERO
        return None if transpose.answers(op.type, index) else Cut.UNANSWERED
    if own and not _tf.is_recompute(op) and index < _tf.results_of_custom_gradient(op):
        return Cut.REPLACED
    try:
        function = _tf.get_gradient_function(op)
    except LookupError:
        if _names_gradient(op):
            return Cut.CUSTOM_LOST
        if _bodies.is_call(op):
            return None
        return Cut.FUNCTION_CALL if _runs_a_function(op) else Cut.UNREGISTERED
    if function is None:
        return Cut.ASSIGNED if writes_variable(op.type) else Cut.NOT_DIFFERENTIABLE
    return None if own else _silent(op, index)


def _silent(op: tf.Operation, index: int) -> Cut | None:
    """What the None means that TensorFlow's gradient function answers for this input; None if it answers."""
    if index in _WITHOUT_INFLUENCE.get(op.type, ()):
        return Cut.ZERO
    if index in _UNANSWERED.get(op.type, ()):
        return Cut.UNANSWERED
    if op.type == "ResizeBicubic" and op.inputs[index].dtype not in (tf.float32, tf.float64):
        return Cut.UNANSWERED  # the kernel of its gradient has these two only
    if (op.type in BATCH_NORMS and index > 2) or (op.type in _BATCH_NORM_GRADS and index > 2):
        # In training these are not read, or are functions of x by which the gradient knows them.
        return Cut.ZERO if op.get_attr("is_training") else Cut.UNANSWERED
    return None


def _leaves_without_back_prop(op: tf.Operation) -> bool:
    """True for an Exit of a V1 loop that is said to be a constant to derivatives."""
    context = op._get_control_flow_context() if op.type in EXITS else None
    return context is not None and not context.back_prop


def judged_by(op: tf.Operation) -> Hashable:
    """What `cut_at` of a differentiable input depends on besides its index; equal for ops with the same answers."""
    op_type = op.type
    if op_type in _JUDGED_SINGLY or composite.depends(op_type) or transpose.depends(op_type) or has_own_gradient(op):
        return op
    return (op_type, *map(_tensors.is_differentiable, op.outputs))


def leads_on(op: tf.Operation, index: int) -> bool:
    """True if a derivative exists through this input, whether or not somebody computes it."""
    cut = cut_at(op, index)
    return cut is None or cut.is_gap


def has_own_gradient(op: tf.Operation) -> bool:
    """True if the gradient of this op is not that of its type or function: custom, an override, or given to Defun."""
    return op._gradient_function is not None or _names_gradient(op) or _bodies.declared_gradient(op) is not None


def _names_gradient(op: tf.Operation) -> bool:
    # An op that reads something has no large attributes, so this is far cheaper than the exception of get_attr.
    return len(op.inputs) > 0 and _tf.has_attribute(op, "_gradient_op_type")


def _runs_a_function(op: tf.Operation) -> bool:
    return any(value.HasField("func") for value in op.node_def.attr.values())
