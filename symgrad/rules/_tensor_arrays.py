"""The gradients of V1 TensorArrays.

TensorFlow's own refuse to run while V2 control flow is on, which it is by default, and they find the accumulator of a
pass by the names of ops: where a forward op has a name like that of a gradient, parts of one sum go to different
accumulators and what does not meet is silently zero. These take the same ops and one accumulator per pass.
"""

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import tensorflow.compat.v1 as tf

from ._registry import transpose

# Each thread has its own: two may take gradients in two graphs at the same time.
_source: ContextVar[str] = ContextVar("source")


@contextlib.contextmanager
def one_accumulator(source: str) -> Iterator[None]:
    """The gradients built in the block are one sum; `source` sets it apart from those of other passes in the graph."""
    outer = _source.set(source)
    try:
        yield
    finally:
        _source.reset(outer)


def _accumulator(array: tf.Tensor, flow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Handle and flow of the array of gradients that belongs to an array in this pass."""
    with tf.get_default_graph().colocate_with(array.op):
        handle, _ = tf.raw_ops.TensorArrayGradV3(handle=array, flow_in=flow, source=_source.get())
    with tf.control_dependencies([handle]):
        return handle, tf.identity(flow, name="gradient_flow")


def _after_forward(op: tf.Operation, flow: tf.Tensor) -> tf.Tensor:
    """The incoming flow, once `op` has run: only then is the size of a growing array known."""
    with tf.control_dependencies([tf.identity(op.outputs[0], name="flow_out")]):
        return tf.identity(flow, name="write_barrier")


def _shaped(value: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    value.set_shape(like.shape)
    return value


@transpose("TensorArrayReadV3")
def _read(op: tf.Operation, cotangent: tf.Tensor) -> Sequence[Any]:
    array, index, flow = op.inputs
    handle, flow = _accumulator(array, flow)
    flow = tf.raw_ops.TensorArrayWriteV3(handle=handle, index=index, value=cotangent, flow_in=flow)
    return None, None, flow


@transpose("TensorArrayWriteV3")
def _write(op: tf.Operation, flow: tf.Tensor) -> Sequence[Any]:
    array, index, value, _ = op.inputs
    flow = _after_forward(op, flow)
    handle, ready = _accumulator(array, flow)
    found = tf.raw_ops.TensorArrayReadV3(handle=handle, index=index, flow_in=ready, dtype=value.dtype.base_dtype)
    return None, None, _shaped(found, value), flow


@transpose("TensorArrayGatherV3")
def _gather(op: tf.Operation, cotangent: tf.Tensor) -> Sequence[Any]:
    array, indices, flow = op.inputs
    handle, flow = _accumulator(array, flow)
    flow = tf.raw_ops.TensorArrayScatterV3(handle=handle, indices=indices, value=cotangent, flow_in=flow)
    return None, None, flow


@transpose("TensorArrayScatterV3")
def _scatter(op: tf.Operation, flow: tf.Tensor) -> Sequence[Any]:
    array, indices, value, _ = op.inputs
    flow = _after_forward(op, flow)
    handle, ready = _accumulator(array, flow)
    found = tf.raw_ops.TensorArrayGatherV3(
        handle=handle, indices=indices, flow_in=ready, dtype=value.dtype.base_dtype, element_shape=value.shape[1:]
    )
    return None, None, _shaped(found, value), flow


@transpose("TensorArrayConcatV3")
def _concat(op: tf.Operation, cotangent: tf.Tensor, *_: Any) -> Sequence[Any]:
    array, flow = op.inputs
    handle, flow = _accumulator(array, flow)
    flow = tf.raw_ops.TensorArraySplitV3(handle=handle, value=cotangent, lengths=op.outputs[1], flow_in=flow)
    return None, flow


@transpose("TensorArraySplitV3")
def _split(op: tf.Operation, flow: tf.Tensor) -> Sequence[Any]:
    array, value, _, _ = op.inputs
    flow = _after_forward(op, flow)
    handle, ready = _accumulator(array, flow)
    found, _ = tf.raw_ops.TensorArrayConcatV3(
        handle=handle, flow_in=ready, dtype=value.dtype.base_dtype, element_shape_except0=value.shape[1:]
    )
    return None, _shaped(found, value), None, flow
