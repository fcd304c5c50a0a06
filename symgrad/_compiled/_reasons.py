"""Why an op stays outside of what XLA compiles."""

import enum
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._bodies import bodies
from .._op_types import (
    FUNCTIONAL,
    PLACEHOLDERS,
    RANDOM,
    STACK_POPS,
    SWITCHES,
    V1_CONTROL_FLOW,
    VARIABLE_READS,
    is_list,
    lives_one_run,
)
from ..errors import GraphMismatchError
from ._bounds import asks_a_stack, fits

# An op's reason, and what more there is to say.
Reason = tuple["Outside", str]


class Outside(enum.Enum):
    """Why an op stays outside; the value is the words of a `Finding`."""

    FED = "it is fed"
    STATE = "it has a state or an effect, which stays as it is"
    RANDOM = "XLA draws other numbers"
    NO_KERNEL = "XLA has no kernel for it, or not for its dtype"
    DIFFERS = "XLA computes it differently without saying so"
    GROWS = "it grows, and XLA keeps the first size and drops the rest"
    UNBOUNDED = "it keeps something of every iteration, and how many there are is not known while building, or is asked"
    SHAPE = "it takes a shape that an iteration kept, which XLA has to know when it compiles; static shapes help"
    ZEROS = "it makes zeros like a list that XLA does not know yet"
    ENDS = "it ends the process where a dimension is 0"
    FAILS = "XLA makes no branch of the gradient of a branch in a V1 loop"
    REFERENCE = "it takes a reference variable or a string"
    LARGE = "it is a large constant, which XLA would fold while compiling"
    DEVICE = "it is placed on another device than the CPU of this task"
    BODY = "a body or function that it runs cannot be compiled"
    TOGETHER = "it goes together with an op that stays"
    NEEDED = "an op that stays needs it"


# What says nothing against compiling the rest as a whole.
EXPECTED = frozenset({Outside.FED, Outside.LARGE, Outside.NEEDED, Outside.TOGETHER})
_V1_FLOW = V1_CONTROL_FLOW | {"ControlTrigger"}
# No word of a matrix that is singular or indefinite; singular and eigenvalues in double precision to 5e-8; checks that
# are dropped; NaN for infinity at poles, or infinity for NaN; another slope at a kink (selu); another one of equal
# elements (top_k); colours outside of 0 to 1; NaN where the slope of a square root at 0, or an empty range, meets a 0.
_DIFFER = frozenset({
    "AdjustHue", "ApproxTopK", "Assert", "Betainc", "CheckNumerics", "CheckNumericsV2", "Cholesky", "CholeskyGrad",
    "Digamma", "Erfinv", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsGradient",
    "FakeQuantWithMinMaxVarsPerChannel", "FakeQuantWithMinMaxVarsPerChannelGradient", "Igamma", "IgammaGradA",
    "Igammac", "Lgamma", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
    "MatrixTriangularSolve", "Ndtri", "Polygamma", "Qr", "SelfAdjointEigV2", "SeluGrad", "SqrtGrad", "Svd", "TopK",
    "TopKV2", "TridiagonalSolve", "Zeta",
})  # fmt: skip
# Random numbers of a given seed: in some programs XLA takes another generator for them.
_STATELESS_RANDOM = (
    "StatelessRandom", "StatelessTruncatedNormal", "StatelessParameterized", "StatelessMultinomial", "StatelessShuffle",
    "StatelessSampleDistorted",
)  # fmt: skip
# Of gradient ops in complex dtypes XLA takes some without their conjugate.
_COMPLEX = frozenset({tf.complex64.as_datatype_enum, tf.complex128.as_datatype_enum})
_TRANSFORMS = ("FFT", "FFT2D", "FFT3D", "FFTND")
_GROWING = ("dynamic_size", "resize_if_index_out_of_bounds")
# Bytes above which a constant becomes an argument: XLA folds constants while it compiles.
_LARGE = 2**16


def reason(op: tf.Operation) -> Reason | None:
    """Why an op of a graph stays outside, and a detail; None if it may go in."""
    if op.type in _V1_FLOW:
        if _takes_reference(op):
            return Outside.REFERENCE, ""
        return (Outside.FAILS, "") if _branches_by_stack(op) else None
    device = tf.DeviceSpec.from_string(op.device or "")
    if device.job or device.device_type not in (None, "CPU"):
        return Outside.DEVICE, op.device
    if op.type in PLACEHOLDERS:
        return Outside.FED, ""
    if op.type == "Const" and op.outputs[0].shape.num_elements() * op.outputs[0].dtype.size > _LARGE:
        return Outside.LARGE, ""
    if op.type in VARIABLE_READS and op._get_control_flow_context() is None:
        return Outside.STATE, ""
    return _of_any(op)


def _takes_reference(op: tf.Operation) -> bool:
    return any(t.dtype == tf.string or t.dtype._is_ref_dtype for t in (*op.inputs, *op.outputs))


def _branches_by_stack(op: tf.Operation) -> bool:
    """True for a branch that goes the way a stack says, as the gradient of a branch in a V1 loop does."""
    return op.type in SWITCHES and op.inputs[1].op.type in STACK_POPS


def _inside_a_body(op: tf.Operation) -> Reason | None:
    if op.type in PLACEHOLDERS or op.type in ("NoOp", "_Arg", "_Retval"):
        return None
    return (Outside.BODY, "V1 control flow in a function body") if op.type in _V1_FLOW else _of_any(op)


def _of_any(op: tf.Operation) -> Reason | None:
    if op.type == "ZerosLike" and op.inputs[0].dtype == tf.variant and not _is_empty_list(op.inputs[0]):
        return Outside.ZEROS, ""
    if op.type.endswith(_TRANSFORMS):
        return Outside.ENDS, ""
    if op.type in FUNCTIONAL:
        return _of_bodies(op)
    if _takes_reference(op):
        return Outside.REFERENCE, ""
    if op.type in RANDOM or op.type.startswith(_STATELESS_RANDOM):
        return Outside.RANDOM, ""
    if op.type in _DIFFER or _loses_conjugates(op):
        return Outside.DIFFERS, ""
    if any(_tf.has_attribute(op, name) and op.get_attr(name) for name in _GROWING):
        return Outside.GROWS, ""
    if asks_a_stack(op):
        return Outside.SHAPE, ""
    if _tf.is_stateful(op.type) and not _lives_inside(op.type):
        return Outside.STATE, ""
    return None if _has_kernel(op.node_def) else (Outside.NO_KERNEL, "")


def _is_empty_list(tensor: tf.Tensor) -> bool:
    """True for a list that nothing has been put into, in the graph itself, which is as good as zeros like it."""
    return tensor.op.type in ("EmptyTensorList", "TensorListReserve") and not isinstance(tensor.graph, _tf.FuncGraph)


def _lives_inside(op_type: str) -> bool:
    """True for what TensorFlow calls stateful and what is gone when the call is over, and for reads of variables."""
    return lives_one_run(op_type) or is_list(op_type) or op_type in VARIABLE_READS or op_type == "VariableShape"


def _loses_conjugates(op: tf.Operation) -> bool:
    return op.type.endswith("Grad") and any(types(value) & _COMPLEX for value in op.node_def.attr.values())


def _of_bodies(op: tf.Operation) -> Reason | None:
    try:
        inner = [inner for body in bodies(op) for inner in body.graph.get_operations()]
    except GraphMismatchError as error:
        return Outside.BODY, str(error)
    for one in inner:
        found = _inside_a_body(one) or (None if fits(one) else (Outside.UNBOUNDED, ""))
        if found is not None:
            return Outside.BODY, f"{one.type} {one.name!r}: {found[1] if found[0] is Outside.BODY else found[0].value}"
    return None


def _has_kernel(node: Any) -> bool:
    return any(
        all(types(node.attr[name]) <= allowed for name, allowed in constraints.items() if name in node.attr)
        for constraints in _tf.kernels_of_xla().get(node.op, ())
    )


def types(value: Any) -> set[int]:
    """The dtypes that an attribute tells, as numbers."""
    if value.WhichOneof("value") == "list":
        return set(value.list.type)
    return {value.type} if value.WhichOneof("value") == "type" else set()
