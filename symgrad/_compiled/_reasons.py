"""Why an op stays outside of what XLA compiles."""

import enum
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES


class Outside(enum.Enum):
    """Why an op stays outside; the value is the words of a `Finding`."""

    FED = "it is fed"
    STATE = "it has a state or an effect, which stays as it is"
    RANDOM = "XLA may draw other numbers"
    NO_KERNEL = "XLA has no kernel for it, or not for its dtype"
    DIFFERS = "XLA computes it differently without saying so"
    V1_FLOW = "it belongs to a V1 loop or branch, which stays as a whole"
    LIST = "it holds or reads a list or an array, whose length XLA would have to know"
    VARIABLE = "it reads or carries a reference, a string or a resource"
    LARGE = "it is a large constant, which XLA would fold while compiling"
    DEVICE = "it is placed on another device than the CPU of this task"
    BODY = "a body or function that it calls cannot be compiled"
    NEEDED_OUTSIDE = "something that stays outside needs it"


V1_FLOW = ENTERS | EXITS | MERGES | NEXT_ITERATIONS | SWITCHES | {"LoopCond", "ControlTrigger"}
CALLS = frozenset({"StatelessWhile", "StatelessIf", "StatelessCase", "PartitionedCall"})
_NODES_OF_BODIES = frozenset({"Const", "_Arg", "_Retval", "Placeholder", "NoOp"})
_LISTS = ("TensorList", "EmptyTensorList", "TensorArray", "Stack")
# The beginnings of the names of op types that XLA computes differently. Of each, or of one of its family, a sweep found
# numbers that are finite in one and NaN or infinite in the other (at NaN, infinity or a pole), or another slope at a
# kink (SeluGrad at zero). Besides: no error at a singular or indefinite matrix; float64 singular and eigenvalues with
# 5e-8; checks dropped; results whose shape depends on values, for which XLA has bounds only.
_DIFFER = (
    "Max", "Min", "ArgMax", "ArgMin", "TopK", "InTopK", "Bucketize", "LowerBound", "UpperBound", "UnsortedSegmentM",
    "ClipByValue", "Relu", "LeakyRelu", "Elu", "Selu", "Erf", "Ndtri", "Digamma", "Polygamma", "Zeta", "Igamma",
    "Betainc", "Lgamma", "RandomGammaGrad", "SqrtGrad", "SoftmaxCrossEntropy", "SparseSoftmaxCrossEntropy",
    "FakeQuant", "Quantize", "Dequantize", "LRN", "FusedBatchNorm", "Depthwise", "Conv3D", "ExtractImagePatches",
    "Resize", "RGBToHSV", "HSVToRGB", "Adjust", "Svd", "SelfAdjointEig", "XlaSvd", "XlaSelfAdjointEig",
    "MatrixInverse", "MatrixSolve", "MatrixTriangularSolve", "TridiagonalSolve", "MatrixDeterminant",
    "LogMatrixDeterminant", "Cholesky", "Qr", "CheckNumerics", "Assert", "Where", "Unique",
)  # fmt: skip
# They differ at NaN only, which whole numbers do not have; shapes are computed with them.
_ORDERS = frozenset({"Maximum", "Minimum", "Max", "Min"})
_COMPLEX = frozenset({tf.complex64.as_datatype_enum, tf.complex128.as_datatype_enum})
_UNLIKE_NUMBERS = frozenset({tf.string, tf.resource})
# Bytes above which a constant becomes an argument.
_LARGE = 2**16


def reason(op: tf.Operation) -> tuple[Outside, str] | None:
    """Why an op of a graph stays outside, and a detail; None if it may go in."""
    tensors = (*op.inputs, *op.outputs)
    if op._get_control_flow_context() is not None or op.type in V1_FLOW:
        return Outside.V1_FLOW, ""
    if any(t.dtype.base_dtype in _UNLIKE_NUMBERS or t.dtype._is_ref_dtype for t in tensors):
        return Outside.VARIABLE, ""
    if any(t.dtype == tf.variant for t in tensors):
        return Outside.LIST, ""
    device = tf.DeviceSpec.from_string(op.device or "")
    if device.job or device.device_type not in (None, "CPU"):
        return Outside.DEVICE, op.device
    if op.type == "Const" and op.outputs[0].shape.num_elements() * op.outputs[0].dtype.size > _LARGE:
        return Outside.LARGE, ""
    return _reason_of_node(op.node_def, op.graph)


def _reason_of_node(node: Any, graph: tf.Graph) -> tuple[Outside, str] | None:
    kind = node.op
    if kind.startswith("Placeholder"):
        return Outside.FED, ""
    if "Random" in kind or "Multinomial" in kind or "TruncatedNormal" in kind or "StatelessGamma" in kind:
        return Outside.RANDOM, ""
    if _tf.is_stateful(kind):
        return Outside.STATE, ""
    if kind.startswith(_LISTS):
        return Outside.LIST, ""
    if _differs(node):
        return Outside.DIFFERS, ""
    if any(_types(value) & _COMPLEX for value in node.attr.values()):
        return Outside.DIFFERS, "gradients of complex numbers lack a conjugate in some kernels"
    if kind in CALLS:
        return _reason_of_bodies(node, graph)
    return None if _has_kernel(node) else (Outside.NO_KERNEL, "")


def _reason_of_bodies(node: Any, graph: tf.Graph) -> tuple[Outside, str] | None:
    for name in _called(node):
        body = _tf.function_in(graph, name)
        if body is None:
            return Outside.BODY, f"{name!r} is not in the graph"
        for inner in body.node_def:
            found = None if inner.op in _NODES_OF_BODIES else _reason_of_node(inner, graph)
            if found is not None:
                return Outside.BODY, f"{inner.op} {inner.name!r}: {found[0].value}"
    return None


def _differs(node: Any) -> bool:
    if node.op in _ORDERS and tf.as_dtype(node.attr["T"].type).is_integer:
        return False
    return node.op.startswith(_DIFFER) or _makes_whole(node)


def _makes_whole(node: Any) -> bool:
    """True for a cast of floating numbers to whole ones: of NaN and infinity XLA makes other numbers."""
    if node.op != "Cast":
        return False
    given, wanted = tf.as_dtype(node.attr["SrcT"].type), tf.as_dtype(node.attr["DstT"].type)
    return given.is_floating and not wanted.is_floating and wanted != tf.bool


def _has_kernel(node: Any) -> bool:
    return any(
        all(_types(node.attr[name]) <= allowed for name, allowed in constraints.items() if name in node.attr)
        for constraints in _tf.kernels_of_xla().get(node.op, ())
    )


def _types(value: Any) -> set[int]:
    if value.WhichOneof("value") == "list":
        return set(value.list.type)
    return {value.type} if value.WhichOneof("value") == "type" else set()


def _called(node: Any) -> Iterator[str]:
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)
