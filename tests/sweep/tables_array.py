"""Ops that move elements about: shapes, slices, gathers, scatters, segments, sorting."""

import numpy as np
import tensorflow.compat.v1 as tf

from sweep.table import D, N, P, Z, built, raw

raw("BroadcastTo", input=N(3), shape=[2, 3])
raw("Concat", concat_dim=1, values=[N(2, 1), N(2, 2)])
raw("ConcatV2", values=[N(2, 1), N(2, 2)], axis=1)
raw("ExpandDims", input=N(2), axis=1)
raw("Fill", dims=[2, 3], value=N())
raw("Pack", values=[N(2), N(2)], axis=1)
raw("Unpack", value=N(3, 2), num=3)
raw("Pad", input=N(2, 2), paddings=[[1, 0], [0, 2]])
raw("PadV2", input=N(2, 2), paddings=[[1, 0], [0, 2]], constant_values=N())
raw("MirrorPad", input=N(3, 3), paddings=[[1, 0], [0, 2]], mode="REFLECT")
raw("MirrorPadGrad", input=N(4, 5), paddings=[[1, 0], [0, 2]], mode="REFLECT")
raw("Reshape", tensor=N(2, 3), shape=[3, 2])
raw("Reverse", tensor=N(2, 3), dims=[False, True])
raw("ReverseV2", tensor=N(2, 3), axis=[1])
raw("ReverseSequence", input=N(3, 3), seq_lengths=[1, 2, 3], seq_dim=1)
raw("Roll", input=N(2, 3), shift=[1], axis=[1])
raw("Slice", input=N(3, 3), begin=[1, 0], size=[2, 2])
raw("StridedSlice", input=N(3, 4), begin=[0, 3], end=[3, 0], strides=[2, -1])
raw("StridedSliceGrad", shape=[3, 4], begin=[0, 3], end=[3, 0], strides=[2, -1], dy=N(2, 3))
raw("Split", axis=1, value=N(2, 4), num_split=2)
raw("SplitV", value=N(2, 4), size_splits=[1, 3], axis=1, num_split=2)
raw("Squeeze", input=N(2, 1, 3))
raw("Tile", input=N(2, 2), multiples=[2, 3])
raw("Transpose", x=N(2, 3), perm=[1, 0])
raw("ConjugateTranspose", x=Z(2, 3), perm=[1, 0])
raw("Diag", diagonal=N(2, 2))
raw("DiagPart", input=N(2, 2, 2, 2))
raw("MatrixBandPart", input=N(3, 3), num_lower=1, num_upper=0)
raw("MatrixDiag", diagonal=N(2, 3))
raw("MatrixDiagPart", input=N(2, 3, 3))
raw("MatrixDiagV2", diagonal=N(2, 3), k=1, num_rows=-1, num_cols=-1, padding_value=np.float64(0))
raw("MatrixDiagV3", diagonal=N(2, 3), k=1, num_rows=-1, num_cols=-1, padding_value=np.float64(0))
raw("MatrixDiagPartV2", input=N(3, 3), k=[-1, 1], padding_value=np.float64(0))
raw("MatrixDiagPartV3", input=N(3, 3), k=[-1, 1], padding_value=np.float64(0))
raw("MatrixSetDiag", input=N(3, 3), diagonal=N(3))
raw("MatrixSetDiagV2", input=N(3, 3), diagonal=N(2, 3), k=[0, 1])
raw("MatrixDiagV2", "several", diagonal=N(2, 3), k=[0, 1], num_rows=-1, num_cols=-1, padding_value=np.float64(0))
raw("MatrixSetDiagV3", input=N(3, 3), diagonal=N(2, 3), k=[0, 1])
raw("BatchToSpace", input=N(4, 2, 2, 1), crops=[[0, 1], [0, 0]], block_size=2)
raw("BatchToSpaceND", input=N(4, 2, 2, 1), block_shape=[2, 2], crops=[[0, 1], [0, 0]])
raw("SpaceToBatch", input=N(1, 3, 4, 1), paddings=[[0, 1], [0, 0]], block_size=2)
raw("SpaceToBatchND", input=N(1, 3, 4, 1), block_shape=[2, 2], paddings=[[0, 1], [0, 0]])
raw("SpaceToDepth", input=N(1, 4, 4, 1), block_size=2)
raw("DepthToSpace", input=N(1, 2, 2, 4), block_size=2)
raw("ExtractImagePatches", images=N(1, 4, 4, 2), ksizes=[1, 2, 2, 1], strides=[1, 1, 2, 1], rates=[1, 1, 1, 1],
    padding="SAME", options={"special": {"no rows": "TensorFlow's gradient fails for an empty batch"}})  # fmt: skip
raw("ExtractVolumePatches", input=N(1, 3, 3, 3, 1), ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
raw("Gather", params=N(4, 2), indices=[1, 3, 1])
raw("GatherV2", params=N(4, 2), indices=[1, 3, 1], axis=0)
raw("GatherV2", "axis 1", params=N(2, 4), indices=[1, 3, 1], axis=1)
raw("GatherV2", "batch_dims 1", params=N(2, 4), indices=[[1, 3], [0, 0]], axis=1, batch_dims=1)
raw("GatherNd", params=N(3, 4), indices=[[0, 1], [2, 2], [0, 1]])
raw("ScatterNd", indices=[[1], [3], [1]], updates=N(3, 2), shape=[4, 2])
raw("ScatterNdNonAliasingAdd", input=N(4, 2), indices=[[1], [3]], updates=N(2, 2))
raw("TensorScatterAdd", tensor=N(4, 2), indices=[[1], [3]], updates=N(2, 2))
raw("TensorScatterSub", tensor=N(4, 2), indices=[[1], [3]], updates=N(2, 2))
raw("TensorScatterUpdate", tensor=N(4, 2), indices=[[1], [3]], updates=N(2, 2))
raw("TensorScatterMax", tensor=D(4, 2), indices=[[1], [3]], updates=P(2, 2))
raw("TensorScatterMin", tensor=D(4, 2), indices=[[1], [3]], updates=P(2, 2))
raw("TensorStridedSliceUpdate", input=N(4, 2), begin=[1], end=[3], strides=[1], value=N(2, 2))
raw("DynamicPartition", data=N(4, 2), partitions=[1, 0, 1, 0], num_partitions=2)
raw("DynamicStitch", indices=[np.int32([0, 2]), np.int32([1])], data=[N(2, 2), N(1, 2)])
raw("DynamicStitch", "repeated index", indices=[np.int32([0, 1]), np.int32([1])], data=[N(2, 2), N(1, 2)])
raw("ParallelDynamicStitch", indices=[np.int32([0, 2]), np.int32([1])], data=[N(2, 2), N(1, 2)])
for _op in ["SegmentSum", "SegmentMean"]:
    raw(_op, data=N(4, 2), segment_ids=[0, 0, 1, 2])
for _op in ["SegmentMax", "SegmentMin"]:
    raw(_op, data=D(4, 2), segment_ids=[0, 0, 1, 2])
raw("SegmentProd", data=P(4, 2), segment_ids=[0, 0, 1, 2])
for _op, _draw in {"Sum": N, "Max": D, "Min": D, "Prod": P}.items():
    raw("UnsortedSegment" + _op, data=_draw(4, 2), segment_ids=[1, 0, 1, -1], num_segments=2)
for _op in ["Sum", "Mean", "SqrtN"]:
    raw("SparseSegment" + _op, data=N(4, 2), indices=[0, 2, 2, 3], segment_ids=[0, 0, 1, 1])
    raw(f"SparseSegment{_op}WithNumSegments", data=N(4, 2), indices=[0, 2, 2, 3], segment_ids=[0, 0, 1, 1],
        num_segments=3)  # fmt: skip
raw("TopK", input=D(2, 4), k=2)
raw("TopKV2", input=D(2, 4), k=2)
raw("NthElement", input=D(2, 4), n=1)
raw("ApproxTopK", input=D(2, 4), k=2, dtype=tf.float32)


@built("ReadVariableOp")
def _(rng):
    v = tf.get_variable("v", initializer=rng.standard_normal((2, 3)), use_resource=True)
    return tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=v.dtype), v


@built("ResourceGather")
def _(rng):
    v = tf.get_variable("v", initializer=rng.standard_normal((4, 2)), use_resource=True)
    return tf.raw_ops.ResourceGather(resource=v.handle, indices=[1, 3, 1], dtype=v.dtype), v


@built("ResourceGatherNd")
def _(rng):
    v = tf.get_variable("v", initializer=rng.standard_normal((4, 2)), use_resource=True)
    return tf.raw_ops.ResourceGatherNd(resource=v.handle, indices=[[1, 0], [3, 1]], dtype=v.dtype), v


@built("RefIdentity")
def _(rng):
    v = tf.get_variable("v", initializer=rng.standard_normal((2, 3)), use_resource=False)
    return tf.raw_ops.RefIdentity(input=v._ref()) * 1.0, v


@built("OptionalFromValue")
@built("OptionalGetValue")
def _(rng):
    x = tf.constant(rng.standard_normal(3))
    optional = tf.raw_ops.OptionalFromValue(components=[tf.sin(x)])
    return tf.raw_ops.OptionalGetValue(optional=optional, output_types=[x.dtype], output_shapes=[[3]]), x
