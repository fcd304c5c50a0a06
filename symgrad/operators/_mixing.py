"""Ops that mix the points of a batch, on the way from the points to what is differentiated.

A direction moves all points at once. If y[n] depends on x[n] alone, that is the derivative at each point; where an op
mixes the points it is another number, which is said. The axis along which the points lie is followed through the ops
that are known to move it; behind others nothing is said.
"""

import logging
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _where
from .._walk import Between

_log = logging.getLogger("symgrad")

_MIXES = -1  # instead of the axis of the points in the result
Follow = Callable[[tf.Operation, int, int], int | None]


def warn(between: Between, xs: Sequence[tf.Tensor], name: str) -> None:
    """Name the first op that mixes the points, once."""
    axes = {id(x): 0 for x in xs}
    for op in between.ops:
        for i in between.active_inputs(op):
            if i >= len(op.inputs) or id(op.inputs[i]) not in axes:
                continue
            axis = _FOLLOW.get(op.type, _in_place)(op, i, axes[id(op.inputs[i])])
            if axis == _MIXES:
                _log.warning(
                    "%s: %s %r%s mixes the points along axis 0; the result is the derivative with all points moved at "
                    "once, which is not the derivative at each point",
                    name, op.type, op.name, _place(op),
                )  # fmt: skip
                return
            if axis is not None:
                axes.update((id(t), axis) for t in op.outputs)


def _place(op: tf.Operation) -> str:
    where = _where.made_at(op)
    return f" (made at {where})" if where else ""


def _in_place(op: tf.Operation, index: int, axis: int) -> int | None:
    """Of an op that is not known: the points stay where they are, if there are as many places behind as before."""
    known, out = op.inputs[index].shape, op.outputs[0].shape if op.outputs else tf.TensorShape(None)
    if known.rank is None or out.rank is None:
        return None
    moved = axis + out.rank - known.rank
    if not 0 <= moved < out.rank:
        return None
    sizes = known.as_list()[axis], out.as_list()[moved]
    return moved if sizes[0] == sizes[1] or None in sizes else None


def _reduced(op: tf.Operation, index: int, axis: int) -> int | None:
    axes, rank = tf.get_static_value(op.inputs[1]), op.inputs[0].shape.rank
    if axes is None or rank is None or index != 0:
        return None
    reduced = {int(a) % rank for a in np.atleast_1d(axes)}
    if axis in reduced:
        return _MIXES
    return axis if op.get_attr("keep_dims") else axis - sum(a < axis for a in reduced)


def _transposed(op: tf.Operation, index: int, axis: int) -> int | None:
    order = tf.get_static_value(op.inputs[1])
    return None if order is None else order.tolist().index(axis)


def _multiplied(op: tf.Operation, index: int, axis: int) -> int | None:
    """A matrix product sums over the columns of its first operand and the rows of its second."""
    rank, out = op.inputs[index].shape.rank, op.outputs[0].shape.rank
    if rank is None or out is None:
        return None
    names = ("transpose_a", "transpose_b") if op.type == "MatMul" else ("adj_x", "adj_y")
    place = axis - rank  # from the end
    if place < -2:
        return axis + out - rank
    place = -3 - place if op.get_attr(names[index]) else place
    return out + place if place == (-2, -1)[index] else _MIXES


def _along_last(op: tf.Operation, index: int, axis: int) -> int | None:
    rank = op.inputs[index].shape.rank
    return None if rank is None else _MIXES if axis == rank - 1 else axis


def _along_given(op: tf.Operation, index: int, axis: int) -> int | None:
    axes, rank = tf.get_static_value(op.inputs[-1]), op.inputs[0].shape.rank
    if axes is None or rank is None:
        return None
    return _MIXES if axis in {int(a) % rank for a in np.atleast_1d(axes)} else axis


def _normalised(op: tf.Operation, index: int, axis: int) -> int | None:
    return _MIXES if op.get_attr("is_training") and index == 0 else axis


def _mixed(op: tf.Operation, index: int, axis: int) -> int | None:
    return _MIXES


def _expanded(op: tf.Operation, index: int, axis: int) -> int | None:
    place, rank = tf.get_static_value(op.inputs[1]), op.outputs[0].shape.rank
    return None if place is None or rank is None else axis + (int(place) % rank <= axis)


def _reshaped(op: tf.Operation, index: int, axis: int) -> int | None:
    """The points stay in front if what belongs to one of them does."""
    sizes = [t.shape.as_list() if t.shape.rank else None for t in (op.inputs[0], op.outputs[0])]
    if axis or not all(sizes) or any(None in s[1:] for s in sizes if s):
        return None
    before, after = (int(np.prod(s[1:])) for s in sizes if s)
    return 0 if before == after else None


def _unknown(op: tf.Operation, index: int, axis: int) -> int | None:
    return None


_FOLLOW: dict[str, Follow] = {
    **dict.fromkeys(("EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _reduced),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul"), _multiplied),
    **dict.fromkeys(("FFT", "IFFT", "LogSoftmax", "Softmax", "SoftmaxCrossEntropyWithLogits"), _along_last),
    **dict.fromkeys(("Cumprod", "Cumsum", "CumulativeLogsumexp", "ReverseV2", "Roll"), _along_given),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _normalised),
    **dict.fromkeys(
        ("Einsum", "Gather", "GatherNd", "GatherV2", "Pack", "Squeeze", "StridedSlice", "Unpack"), _unknown
    ),
    "ExpandDims": _expanded,
    "L2Loss": _mixed,
    "Reshape": _reshaped,
    "Transpose": _transposed,
}
