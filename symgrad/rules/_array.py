"""Rules of ops that move elements about: mostly the op itself on the tangents."""

import tensorflow.compat.v1 as tf

from ._composites import composite
from ._registry import pushforward, transpose
from ._rows import linear

linear(
    "BatchToSpace", "BatchToSpaceND", "BroadcastTo", "Concat", "ConcatV2", "ConjugateTranspose", "DepthToSpace", "Diag",
    "DiagPart", "DynamicPartition", "DynamicStitch", "ExpandDims", "ExtractImagePatches", "ExtractVolumePatches",
    "Fill", "Gather", "GatherNd", "GatherV2", "MatrixBandPart", "MatrixDiag", "MatrixDiagPart", "MatrixDiagPartV2",
    "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3",
    "MirrorPad", "MirrorPadGrad", "Pack", "Pad", "PadV2", "ParallelConcat", "ParallelDynamicStitch", "Reshape",
    "Reverse", "ReverseSequence", "ReverseV2", "Roll", "ScatterNd", "ScatterNdNonAliasingAdd", "Select", "SelectV2",
    "Slice", "SpaceToBatch", "SpaceToBatchND", "SpaceToDepth", "Split", "SplitV", "Squeeze", "StridedSlice",
    "StridedSliceGrad", "TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate", "TensorStridedSliceUpdate",
    "Tile", "Transpose", "Unpack",
)  # fmt: skip

# Lists of tensors, and optionals: a list of tangents stands for the tangent of a list.
linear(
    "TensorListConcat", "TensorListConcatLists", "TensorListConcatV2", "TensorListFromTensor", "TensorListGather",
    "TensorListGetItem", "TensorListPopBack", "TensorListPushBack", "TensorListResize", "TensorListScatter",
    "TensorListScatterIntoExistingList", "TensorListScatterV2", "TensorListSetItem", "TensorListSplit",
    "TensorListStack",
)  # fmt: skip
linear("OptionalFromValue", "OptionalGetValue")


@pushforward("ResourceGather")
def _resource_gather(op, dv, _):
    return tf.gather(dv, op.inputs[1], batch_dims=op.get_attr("batch_dims"))


@pushforward("ResourceGatherNd")
def _resource_gather_nd(op, dv, _):
    return tf.gather_nd(dv, op.inputs[1])


@composite("PadV2", corrects=True)
def _pad(op, x, paddings, value):
    """TensorFlow's gradient leaves the padding value out."""
    return tf.pad(x - value, paddings) + value


# TensorFlow's gradients of these three align the diagonals as version 3 does, not as version 2 (2.15 to 2.21).
@transpose("MatrixDiagPartV2", answers=(0,), corrects=True)
def _matrix_diag_part(op, dy):
    x, k, _ = op.inputs
    return [tf.raw_ops.MatrixSetDiagV2(input=tf.zeros_like(x), diagonal=dy, k=k), None, None]


@transpose("MatrixDiagV2", answers=(0,), corrects=True)
def _matrix_diag(op, dy):
    return [_diagonals(dy, op.inputs[1]), None, None, None, None]


@transpose("MatrixSetDiagV2", corrects=True)
def _matrix_set_diag(op, dy):
    _, diagonal, k = op.inputs
    rest = tf.raw_ops.MatrixSetDiagV2(input=dy, diagonal=tf.zeros_like(diagonal), k=k)
    return [rest, _diagonals(dy, k), None]


def _diagonals(x, k):
    return tf.raw_ops.MatrixDiagPartV2(input=x, k=k, padding_value=tf.zeros([], x.dtype))


@transpose("DynamicStitch", "ParallelDynamicStitch", corrects=True)
def _dynamic_stitch(op, dy):
    """Of several elements for one place the last one counts; TensorFlow's gradient gives dy to all of them."""
    count = len(op.inputs) // 2
    indices = op.inputs[:count]
    ends = tf.cumsum(tf.stack([tf.size(i) for i in indices]))
    numbers = [tf.reshape(tf.range(ends[k] - tf.size(i), ends[k]), tf.shape(i)) for k, i in enumerate(indices)]
    last = tf.dynamic_stitch(list(indices), numbers)
    gradients = []
    for i, number in zip(indices, numbers, strict=True):
        given = tf.gather(dy, i)
        counts = tf.equal(tf.gather(last, i), number)
        rank = tf.rank(given) - tf.rank(counts)
        counts = tf.reshape(counts, tf.concat([tf.shape(counts), tf.ones([rank], tf.int32)], 0))
        gradients.append(tf.where_v2(counts, given, tf.zeros([], dy.dtype)))
    return [None] * count + gradients


@transpose("TensorScatterUpdate", corrects=True)
def _scatter_update(op, dy):
    """Of several updates of one place the last one counts; TensorFlow's gradient gives dy to all of them."""
    tensor, indices, updates = op.inputs
    kept = tf.tensor_scatter_nd_update(dy, indices, tf.zeros_like(updates))
    places = tf.shape(indices)[:-1]
    numbers = tf.reshape(tf.range(tf.reduce_prod(places)), places)
    outer = tf.shape(tensor)[: tf.shape(indices)[-1]]
    last = tf.gather_nd(tf.tensor_scatter_nd_update(tf.fill(outer, -1), indices, numbers), indices)
    counts = tf.equal(last, numbers)
    shape = tf.concat([places, tf.ones([tf.rank(updates) - tf.size(places)], tf.int32)], 0)
    given = tf.gather_nd(dy, indices)
    return [kept, None, tf.where_v2(tf.reshape(counts, shape), given, tf.zeros([], dy.dtype))]


@transpose("TensorListGather", answers=(0,), corrects=True)
def _list_gather(op, dy):
    """Elements that were gathered twice get both; TensorFlow's gradient keeps the last one only."""
    handle, indices, _ = op.inputs
    number = tf.raw_ops.TensorListLength(input_handle=handle)
    dense = tf.math.unsorted_segment_sum(dy, indices, number)
    return [tf.raw_ops.TensorListFromTensor(tensor=dense, element_shape=tf.shape(dy)[1:]), None, None]


@transpose("TensorListConcatLists")
def _list_concat(op, dy):
    """The front of dy and its back."""
    a = op.inputs[0]
    shape = tf.raw_ops.TensorListElementShape(input_handle=dy, shape_type=tf.int32)
    dtype = op.get_attr("element_dtype")
    size = tf.raw_ops.TensorListLength(input_handle=a)
    rows = tf.raw_ops.TensorListStack(input_handle=dy, element_shape=shape, element_dtype=dtype)
    return [tf.raw_ops.TensorListFromTensor(tensor=r, element_shape=shape) for r in (rows[:size], rows[size:])]


@transpose("RaggedTensorToVariantGradient", answers=(0,))
def _ragged_to_variant_gradient(op, t):
    splits = op.inputs[1]
    return [
        tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=t, batched_input=True),
        None,
        None,
    ]


linear("RaggedFillEmptyRows", "RaggedGather", "RaggedTensorFromVariant", "RaggedTensorToSparse", "RaggedTensorToTensor")
linear("RaggedTensorToVariant")
linear("RaggedTensorToVariantGradient", moves=0)
