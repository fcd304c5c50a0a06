"""Arithmetic operations of each op type as closed formulas of its shapes.

A multiply-add is two operations. A library function (exp, log, sqrt, sin, tanh, erf, pow) is one; what is composed of
several counts each of them, so a sigmoid 1 / (1 + exp(-x)) is four. Where TensorFlow registers the same statistic for
its profiler, the formulas agree with it. Operations count alike whatever the dtype.
"""

from collections.abc import Callable, Hashable
from functools import partial
from math import isqrt, prod
from typing import Any

from .._model._query import data_inputs
from ._flops_of_lstms import LSTMS
from ._flops_of_matrices import MATRICES
from ._operands import Operands, UnknownShape


def flops(op_type: str, operands: Operands) -> int | None:
    """Operations of one run of an op; None where the type has no formula.

    Raises:
      UnknownShape: it has one, but a shape that goes into it is not known.
    """
    if op_type in FREE or op_type.startswith(_FREE_PREFIXES):
        return 0
    if op_type in PER_ELEMENT:
        return PER_ELEMENT[op_type] * prod(operands.output())
    formula = _FORMULAS.get(op_type)
    return None if formula is None else formula(operands)


def _table(rows: dict[int, str]) -> dict[str, int]:
    return {name: count for count, names in rows.items() for name in names.split()}


# Operations per element of the first output. All of these may write into the memory of an input of the same size.
PER_ELEMENT = _table(
    {
        1: """Abs Acos Acosh Add AddV2 Asin Asinh Atan Atan2 Atanh BiasAdd BiasAddV1 Ceil ComplexAbs Cos Cosh Digamma
        Div DivNoNan Equal Erf Erfc Exp Floor FloorDiv FloorMod Greater GreaterEqual Igamma Igammac Inv IsFinite IsInf
        IsNan LeakyRelu LeakyReluGrad Less LessEqual Lgamma Log LogicalAnd LogicalNot LogicalOr Maximum Minimum Mod Mul
        MulNoNan Ndtri Neg NotEqual Pow RealDiv Reciprocal Relu ReluGrad Rint Round Sign Sin Sinh Sqrt Square Sub Tan
        Tanh TruncateDiv TruncateMod Zeta Polygamma BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift""",
        2: "ClipByValue Elu EluGrad Expm1 Log1p Relu6 Relu6Grad Rsqrt Softsign SqrtGrad SquaredDifference Xdivy Xlogy",
        3: "InvGrad ReciprocalGrad Selu SeluGrad SigmoidGrad Softplus TanhGrad Xlog1py",
        4: "RsqrtGrad Sigmoid SoftplusGrad SoftsignGrad",
        5: "LogSoftmax Softmax",
    }
)

# They move, route, compare shapes, draw random numbers or keep state, and compute nothing with the elements.
FREE = frozenset(
    _table(
        {
            0: """Assert
            Assign AssignVariableOp BatchToSpaceND Bitcast BroadcastArgs BroadcastGradientArgs BroadcastTo Cast
            CheckNumerics Complex Concat ConcatOffset ConcatV2 Conj Const ConjugateTranspose ControlTrigger DeepCopy
            DepthToSpace DestroyTemporaryVariable Diag DiagPart DynamicPartition DynamicStitch Empty EnsureShape
            Enter Exit ExpandDims Fill Gather GatherNd GatherV2 HashTableV2 HostConst Identity IdentityN Imag
            ImmutableConst InvertPermutation IsVariableInitialized IteratorGetNext IteratorV2 LinSpace LoopCond
            MakeIterator MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2
            MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 Merge MergeV2Checkpoints MirrorPad
            NextIteration NoOp OneHot OnesLike Pack Pad PadV2 ParallelConcat ParseExample ParseExampleV2 Placeholder
            PlaceholderV2 PlaceholderWithDefault PreventGradient Print PrintV2 Range Rank ReadFile ReadVariableOp
            Real RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSwitch Reshape ResourceGather
            ResourceGatherNd RestoreV2 Reverse ReverseSequence ReverseV2 Roll SaveV2 ScatterNd Select SelectV2 Shape
            ShapeN ShardedFilename Size Slice Snapshot SpaceToBatchND SpaceToDepth SparseToDense Split SplitV
            Squeeze StopGradient StridedSlice StridedSliceGrad StringJoin StringFormat Switch TemporaryVariable
            TensorScatterUpdate Tile Timestamp Transpose Unpack Unique UniqueV2 VarHandleOp VarIsInitializedOp
            Variable VariableShape VariableV2 Where ZerosLike _Arg _Retval ScatterUpdate ResourceScatterUpdate
            LookupTableFindV2 LookupTableImportV2 EmptyTensorList AccumulatorV2 MutableHashTableV2 AnonymousIterator
            AnonymousIteratorV2 TensorShape"""
        }
    )
)
_FREE_PREFIXES = (
    "Random", "StatelessRandom", "StatelessTruncatedNormal", "TruncatedNormal", "ParameterizedTruncatedNormal", "Stack",
    "TensorArray", "TensorList", "Summary", "ScalarSummary", "HistogramSummary", "MergeSummary", "Queue", "FIFOQueue",
    "ReaderRead", "Dataset", "Decode", "Encode", "Multinomial", "Optional",
)  # fmt: skip


def _reduction(operands: Operands) -> int:
    """A sum of k elements is k - 1 additions."""
    return prod(operands.input(0)) - prod(operands.output())


def _mean(operands: Operands) -> int:
    return prod(operands.input(0))


def _matmul(operands: Operands) -> int:
    """2 m k n. With a of m k, b of k n and c of m n elements, k = sqrt(m k k n / m n) whatever is transposed."""
    a, b, c = operands.input(0), operands.input(1), operands.output()
    matrix = c[-2] * c[-1]
    return 2 * prod(c) * isqrt(prod(a[-2:]) * prod(b[-2:]) // matrix) if matrix else 0


def _convolution(images: int | None, kernel: int | None) -> Callable[[Operands], int]:
    """2 * elements of the convolved image * elements of the filter / output channels; None stands for the output."""

    def formula(operands: Operands) -> int:
        image = operands.output() if images is None else operands.input(images)
        filters = operands.output() if kernel is None else operands.input(kernel)
        return 2 * prod(image) * prod(filters[:-1])

    return formula


def _depthwise(images: int | None, kernel: int | None) -> Callable[[Operands], int]:
    """As a convolution in which each output channel reads a single input channel."""

    def formula(operands: Operands) -> int:
        image = operands.output() if images is None else operands.input(images)
        filters = operands.output() if kernel is None else operands.input(kernel)
        return 2 * prod(image) * prod(filters[:2])

    return formula


def _pool(image: int | None, *, per_element: int = 1, more: int = 0) -> Callable[[Operands], int]:
    def formula(operands: Operands) -> int:
        count = prod(operands.output() if image is None else operands.input(image))
        return count * (per_element * prod(operands.attribute("ksize")) + more)

    return formula


def _batch_norm(operands: Operands) -> int:
    """N elements, C channels. Mean N, variance 3 N, (x - mean) * scale + offset 3 N; 1/sqrt(v + e) * scale 4 C."""
    count, channels = prod(operands.output()), prod(operands.input(1))
    if operands.attribute("is_training"):
        return 7 * count + 6 * channels
    return 3 * count + 4 * channels


def _batch_norm_grad(operands: Operands) -> int:
    """Offset N, scale 4 N with the normalised x, x 4 N: scale / std * (dy - mean dy - x mean(dy x)); 6 C."""
    return 9 * prod(operands.output()) + 6 * prod(operands.input(2))


def _add_n(operands: Operands) -> int:
    return (len(operands.inputs) - 1) * prod(operands.output())


def _l2_loss(operands: Operands) -> int:
    return 3 * prod(operands.input(0)) - 1


def _cross_entropy(operands: Operands) -> int:
    """Shifted logits 2 n, exp n, their sum n, loss 3 n, gradient 2 n; a log for each row."""
    return 9 * prod(operands.output(1)) + prod(operands.output(0))


def _sparse_cross_entropy(operands: Operands) -> int:
    """As with dense labels, but only one class of each row takes part in the loss and the difference."""
    return 5 * prod(operands.output(1)) + 3 * prod(operands.output(0))


def _of_input(index: int, per_element: int = 1) -> Callable[[Operands], int]:
    return lambda operands: per_element * prod(operands.input(index))


def _einsum(operands: Operands) -> int:
    """A multiplication and, where an index is summed over, an addition for every combination of the indices."""
    left, _, right = operands.attribute("equation").replace(" ", "").partition("->")
    if "." in left:
        raise UnknownShape
    size: dict[str, int] = {}
    terms = left.split(",")
    for i, term in enumerate(terms):
        size.update(zip(term, operands.input(i), strict=False))
    every = prod(size.values())
    summed = set(size) - set(right)
    return every * (len(terms) - 1 + bool(summed))


# Resizing, for each pixel and channel of the large end; the weights, one for each row and column, are left out.
# Bilinear: a + (b - a) t three times. Its gradient: to each of four neighbours g times two weights is added.
# Bicubic: four rows and then their results, each a product of four with four weights. Its gradient: sixteen neighbours.
_RESIZING = {
    "ResizeBicubic": (None, 35),
    "ResizeBicubicGrad": (0, 48),
    "ResizeBilinear": (None, 9),
    "ResizeBilinearGrad": (0, 12),
    "ResizeNearestNeighbor": (None, 0),
    "ResizeNearestNeighborGrad": (0, 1),
}


def _of_output(per_element: int) -> Callable[[Operands], int]:
    return lambda operands: per_element * prod(operands.output())


_FORMULAS: dict[str, Callable[[Operands], int]] = {
    **dict.fromkeys(("All", "Any", "ArgMax", "ArgMin", "BiasAddGrad", "Max", "Min", "Prod", "Sum"), _reduction),
    "Mean": _mean,
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul", "SparseMatMul"), _matmul),
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution(None, 1)),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _convolution(2, 1)),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _convolution(2, None)),
    "DepthwiseConv2dNative": _depthwise(None, 1),
    "DepthwiseConv2dNativeBackpropInput": _depthwise(2, 1),
    "DepthwiseConv2dNativeBackpropFilter": _depthwise(2, None),
    **dict.fromkeys(("AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D"), _pool(None)),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), _pool(1, per_element=2)),
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), _pool(1, more=1)),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _batch_norm),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), _batch_norm_grad),
    **dict.fromkeys(("AccumulateNV2", "AddN"), _add_n),
    "L2Loss": _l2_loss,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "Einsum": _einsum,
    **LSTMS,
    **MATRICES,
    **{kind: _of_output(n) if at is None else _of_input(at, n) for kind, (at, n) in _RESIZING.items()},
    **dict.fromkeys(
        ("Cumprod", "Cumsum", "SegmentMean", "SegmentSum", "SparseSegmentSum", "UnsortedSegmentSum"), _of_input(0)
    ),
    **dict.fromkeys(("AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp"), _of_input(1)),
    **dict.fromkeys(("ResourceScatterAdd", "ResourceScatterSub", "ScatterAdd", "ScatterSub"), _of_input(2)),
    # v -= lr g
    **dict.fromkeys(("ApplyGradientDescent", "ResourceApplyGradientDescent"), _of_input(2, 2)),
    # a = momentum a + g; v -= lr a
    **dict.fromkeys(("ApplyMomentum", "ResourceApplyKerasMomentum", "ResourceApplyMomentum"), _of_input(3, 4)),
    # a += g g; v -= lr g / sqrt(a)
    **dict.fromkeys(("ApplyAdagrad", "ResourceApplyAdagrad"), _of_input(3, 6)),
    **dict.fromkeys(("ApplyAdagradV2", "ResourceApplyAdagradV2"), _of_input(4, 7)),
    # s += (g g - s)(1 - rho); m = momentum m + lr g / sqrt(s + e); v -= m
    **dict.fromkeys(("ApplyRMSProp", "ResourceApplyRMSProp"), _of_input(7, 11)),
    # m += (g - m)(1 - b1); s += (g g - s)(1 - b2); v -= rate m / (sqrt(s) + e)
    **dict.fromkeys(("ApplyAdam", "ResourceApplyAdam"), _of_input(9, 12)),
}


def of_graph(
    graph: Any, outputs: dict, *, attribute: Callable[[Hashable, str], Any], known: dict[Any, int]
) -> tuple[dict, dict, list]:
    """Operations of one run of every op.

    Args:
      graph: a graph from `build`.
      outputs: (dtype, shape) of every output of every op.
      attribute: fetches an attribute of an op.
      known: operations of ops for which there is no need of a formula.

    Returns:
      Name to operations; type to the number of ops without a formula; names of the ops whose shapes are not known.
    """
    found = dict(known)
    without: dict[str, int] = {}
    unknown = []
    for name, inputs in data_inputs(graph).items():
        if name in known:
            continue
        node = graph.nodes[name]
        shapes = [outputs[a][k][1] if k < len(outputs[a]) else None for _, a, k in inputs]
        operands = Operands(shapes, [shape for _, shape in outputs[name]], partial(attribute, name))
        try:
            count = flops(node["type"], operands)
        except (UnknownShape, LookupError, TypeError, ValueError, IndexError):
            unknown.append(name)
            continue
        if count is None:
            without[node["type"]] = without.get(node["type"], 0) + 1
        else:
            found[name] = max(count, 0)
    return found, dict(sorted(without.items())), unknown
