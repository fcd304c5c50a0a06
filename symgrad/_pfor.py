"""TensorFlow's vectoriser, strictly: what it cannot convert, or converts wrongly, is an error and not a loop inside."""

import contextlib
import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf
from ._control_flow import v2_control_flow
from .errors import SymgradError

Converter = Callable[[Any], Any]


class NotVectorisedError(ValueError):
    """What has no form for many vectors at once: a converter below, or an op on stacked tangents, refuses it."""


def strict_pfor(function: Callable, count: Any, *, in_frames: bool = False) -> list:
    """The results of `function(j)` for j below `count`, stacked; TensorFlow's error if some op does not convert.

    Loops and branches that the vectoriser makes are those of V2, whatever is on for the process, but for V1 loops
    (`in_frames`), where the caller says: of V1 branches it expects a list where `tf.cond` gives a tensor.
    """
    control_flow = contextlib.nullcontext() if in_frames else v2_control_flow()
    # AutoGraph has nothing to convert in functions that build ops, and takes its time.
    function = tf.autograph.experimental.do_not_convert(function)
    with _without_dumps(), control_flow, _mended():
        return _tf.pfor(function, count, fallback_to_while_loop=False)


# The registry of converters is one for the process.
_REGISTRY = threading.RLock()


@contextlib.contextmanager
def _mended() -> Iterator[None]:
    """Within the block the converters below stand for TensorFlow's; nobody else's vectorising sees them."""
    with _REGISTRY:
        theirs = {op: _tf.pfor_converters.get(op) for op in _OURS}
        _tf.pfor_converters.update({op: _before(theirs[op], ours) for op, ours in _OURS.items()})
        try:
            yield
        finally:
            for op, converter in theirs.items():
                if converter is None:
                    del _tf.pfor_converters[op]
                else:
                    _tf.pfor_converters[op] = converter


def _before(theirs: Converter | None, ours: Converter) -> Converter:
    """A converter that takes `theirs` where `ours` says nothing."""

    def convert(given):
        found = ours(given)
        if found is not None:
            return found
        if theirs is None:
            raise NotVectorisedError(f"no vectorization of {given.op_type}")
        return theirs(given)

    return convert


def _filter_gradient(given: Any) -> Any:
    """With explicit paddings, which TensorFlow drops: the vectors are further channels of the result."""
    if given.get_attr("padding") != b"EXPLICIT":
        return None
    (inputs, inputs_stacked, _), (sizes, sizes_stacked, _), (gradient, stacked, _) = given.inputs
    if inputs_stacked or sizes_stacked or not stacked or given.get_attr("data_format") != b"NHWC":
        raise NotVectorisedError("TensorFlow's vectoriser drops the explicit paddings of Conv2DBackpropFilter")
    count = tf.shape(gradient)[0]
    beside = tf.transpose(gradient, [1, 2, 3, 0, 4])
    merged = tf.reshape(beside, tf.concat([tf.shape(beside)[:3], [-1]], 0))
    found = tf.raw_ops.Conv2DBackpropFilter(
        input=inputs,
        filter_sizes=tf.concat([sizes[:3], sizes[3:] * count], 0),
        out_backprop=merged,
        **{name: given.get_attr(name) for name in ("strides", "use_cudnn_on_gpu", "explicit_paddings", "dilations")},
        padding="EXPLICIT",
    )
    found = tf.reshape(found, tf.concat([sizes[:3], [count], sizes[3:]], 0))
    return _tf.pfor_wrap(tf.transpose(found, [3, 0, 1, 2, 4]), True)


def _sparse_segment_gradient(given: Any) -> Any:
    """TensorFlow takes the last segment that is not empty for the last; the gradient knows how many there are."""
    (gradient, stacked, _), *others = given.inputs
    if not stacked or any(other.is_stacked for other in others):
        raise NotVectorisedError(f"{given.op_type} is vectorised for gradients only")
    indices, segments, rows = (other.t for other in others)
    shape = tf.shape(gradient)
    vectors = tf.range(shape[0])
    found = getattr(tf.raw_ops, given.op_type)(
        grad=tf.reshape(gradient, tf.concat([[-1], shape[2:]], 0)),
        indices=_of_each_vector(indices, vectors, rows),
        segment_ids=_of_each_vector(segments, vectors, shape[1]),
        output_dim0=rows * shape[0],
    )
    return _tf.pfor_wrap(tf.reshape(found, tf.concat([shape[:1], [rows], shape[2:]], 0)), True)


def _of_each_vector(numbers: tf.Tensor, vectors: tf.Tensor, each: tf.Tensor) -> tf.Tensor:
    """The numbers of rows in one vector, as those in all vectors, one after the other."""
    offsets = tf.cast(vectors, numbers.dtype)[:, tf.newaxis] * tf.cast(each, numbers.dtype)
    return tf.reshape(numbers + offsets, [-1])


def _list_gather(given: Any) -> Any:
    """TensorFlow leaves the elements before the vectors, and the numbers belong to others."""
    if given.input(0).is_stacked:
        raise NotVectorisedError("the vectoriser takes elements of a TensorList for vectors (TensorListGather)")
    return None


_OURS: dict[str, Converter] = {
    "Conv2DBackpropFilter": _filter_gradient,
    "SparseSegmentMeanGrad": _sparse_segment_gradient,
    "SparseSegmentSqrtNGrad": _sparse_segment_gradient,
    "SparseSegmentSumGrad": _sparse_segment_gradient,
    "TensorListGather": _list_gather,
}


@contextlib.contextmanager
def _without_dumps() -> Iterator[None]:
    """Keep pfor from printing the whole op and its history before it raises."""
    logger = logging.getLogger("tensorflow")

    def other(record):
        return record.filename != "pfor.py"

    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def is_refusal(error: Exception) -> bool:
    """True for what the vectoriser, or the shape functions of what it builds, raise: they have no errors of their own.

    False for what was raised in these modules: an error that says what is wrong with the call, or a fault of ours,
    which must not pass for something that does not vectorise.
    """
    if isinstance(error, SymgradError):
        return False
    if isinstance(error, NotVectorisedError) or error.__traceback__ is None:
        return True
    *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
    return innermost.f_globals.get("__name__", "").split(".")[0] != __package__


def reason(error: Exception) -> str:
    """The first line of what the vectoriser says; the kind of the error if it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
