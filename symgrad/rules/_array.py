"""Pushforward rules of ops that move elements about: the op itself on the tangents."""

from ._rows import linear

linear(
    "BatchToSpace", "BatchToSpaceND", "BroadcastTo", "Concat", "ConcatV2", "ConjugateTranspose", "DepthToSpace",
    "Diag", "DiagPart", "DynamicPartition", "DynamicStitch", "ExpandDims", "ExtractImagePatches",
    "ExtractVolumePatches", "Fill", "Gather", "GatherNd", "GatherV2", "MatrixBandPart", "MatrixDiag",
    "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiag",
    "MatrixSetDiagV2", "MatrixSetDiagV3", "MirrorPad", "MirrorPadGrad", "Pack", "Pad", "PadV2", "ParallelConcat",
    "ParallelDynamicStitch", "Reshape", "Reverse", "ReverseSequence", "ReverseV2", "Roll", "ScatterNd", "Select",
    "SelectV2", "Slice", "SpaceToBatch", "SpaceToBatchND", "SpaceToDepth", "Split", "SplitV", "Squeeze",
    "StridedSlice", "StridedSliceGrad", "TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate",
    "TensorStridedSliceUpdate", "Tile", "Transpose", "Unpack",
)  # fmt: skip
