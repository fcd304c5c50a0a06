"""Local patterns of convolutions and poolings: which places of an image each window touches."""

import math

import numpy as np
import scipy.sparse as sp

from ._contractions import Rule, contraction, kron, numbers
from ._probe import shape_of

WINDOWS: dict[str, Rule] = {}


def _axis(size: int, out: int, how) -> np.ndarray:
    """For each window along one axis and each tap of it the place that it touches, -1 for padding."""
    window, stride, rate, padding, before = how
    if padding == b"SAME":
        before = max((out - 1) * stride + (window - 1) * rate + 1 - size, 0) // 2
    place = np.arange(out)[:, None] * stride + np.arange(window) * rate - before
    return np.where((place >= 0) & (place < size), place, -1)


def _touched(size, out, axes, taps=None) -> sp.csr_array:
    """The boolean matrix [places of the output, places of the image]; `taps` says which places of a window count."""
    place = np.zeros((1, 1), np.int64)
    for n, m, how in zip(size, out, axes, strict=True):
        along = _axis(n, m, how)
        joined = place[:, None, :, None] * n + along[None, :, None, :]
        outside = (place[:, None, :, None] < 0) | (along[None, :, None, :] < 0)
        place = np.where(outside, -1, joined).reshape(place.shape[0] * m, -1)
    if taps is not None:
        place = np.where(taps, place, -1)
    rows, _ = np.nonzero(place >= 0)
    columns = place[place >= 0]
    return sp.csr_array((np.ones(len(rows), bool), (rows, columns)), (len(place), math.prod(size)))


def _axes(op, kernel, strides):
    """How windows lie along each axis of an image with channels last; None with channels first."""
    if not op.get_attr("data_format").endswith(b"C"):
        return None
    attributes = op.node_def.attr
    rank = len(kernel)
    rates = op.get_attr("dilations")[1:-1] if "dilations" in attributes else [1] * rank
    explicit = list(op.get_attr("explicit_paddings")) if "explicit_paddings" in attributes else []
    before = explicit[2:-2:2] if explicit else [0] * rank
    return [(k, s, r, op.get_attr("padding"), b) for k, s, r, b in zip(kernel, strides, rates, before, strict=True)]


def _to_groups(shape, groups):
    """For each element of [batch, places..., channels] the number of its place and group of channels, and how many."""
    of_channel = np.arange(shape[-1]) // max(1, shape[-1] // groups)
    return (numbers(shape[:-1])[..., None] * groups + of_channel).ravel(), math.prod(shape[:-1]) * groups


def _convolved(op, shapes, taps=None):
    """The boolean matrix of a convolution between groups of channels, and their number."""
    image, kernel, out = shapes
    axes = _axes(op, kernel[:-2], op.get_attr("strides")[1:-1])
    if axes is None or 0 in image or 0 in out or 0 in kernel:
        return None
    local = _touched(image[1:-1], out[1:-1], axes, taps)
    groups = image[-1] // kernel[-2]
    return kron(sp.eye_array(image[0]), local, sp.eye_array(groups)), groups


@contraction("Conv2D", "Conv3D", table=WINDOWS)
def _convolution(op, i, reach, constant):
    image, kernel, out = shape_of(op.inputs[0]), shape_of(op.inputs[1]), shape_of(op.outputs[0])
    if i == 1:
        if not op.get_attr("data_format").endswith(b"C"):
            return None
        channel = np.arange(kernel[-1])
        by_channel = reach.grouped(np.broadcast_to(channel, kernel).ravel(), kernel[-1])
        return by_channel.take(np.broadcast_to(channel, out).ravel())
    weights = constant(1)
    taps = None if weights is None else np.any(weights != 0, (-2, -1)).ravel()
    found = _convolved(op, (image, kernel, out), taps)
    if found is None:
        return None
    local, groups = found
    return reach.grouped(*_to_groups(image, groups)).through(local).take(_to_groups(out, groups)[0])


@contraction("Conv2DBackpropInput", "Conv3DBackpropInputV2", table=WINDOWS)
def _convolution_input(op, i, reach, constant):
    if i != 2:
        return None
    kernel, dy, out = shape_of(op.inputs[1]), shape_of(op.inputs[2]), shape_of(op.outputs[0])
    found = _convolved(op, (out, kernel, dy))
    if found is None:
        return None
    local, groups = found
    return reach.grouped(*_to_groups(dy, groups)).through(local.T.tocsr()).take(_to_groups(out, groups)[0])


@contraction("AvgPool", "AvgPool3D", table=WINDOWS)
def _average(op, i, reach, constant):
    local = _pooled(op, shape_of(op.inputs[0]), shape_of(op.outputs[0]), constant)
    return None if local is None else reach.through(local)


@contraction("AvgPool3DGrad", "AvgPoolGrad", table=WINDOWS)
def _average_back(op, i, reach, constant):
    local = _pooled(op, shape_of(op.outputs[0]), shape_of(op.inputs[1]), constant)
    return None if local is None else reach.through(local.T.tocsr())


@contraction(
    "MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGrad", "MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPoolGradV2",
    table=WINDOWS,
)  # fmt: skip
def _largest(op, i, reach, constant):
    """Which place of a window is the largest may change: any one of them counts."""
    local = _pooled(op, shape_of(op.inputs[0]), shape_of(op.inputs[1]), constant) if i == 2 else None
    if local is None:
        return None
    return reach.through(local if "GradGrad" in op.type else local.T.tocsr())


def _pooled(op, image, out, constant):
    """The boolean matrix [size of out, size of image] of a pooling; None if it pools channels or they come first."""
    given = "ksize" in op.node_def.attr  # an input in the second version of an op
    window, strides = (op.get_attr("ksize"), op.get_attr("strides")) if given else (constant(3), constant(4))
    if window is None or strides is None or window[0] != 1 or window[-1] != 1 or 0 in image or 0 in out:
        return None
    axes = _axes(op, [int(k) for k in window[1:-1]], [int(s) for s in strides[1:-1]])
    if axes is None:
        return None
    local = _touched(image[1:-1], out[1:-1], axes)
    return kron(sp.eye_array(image[0]), local, sp.eye_array(image[-1]))
