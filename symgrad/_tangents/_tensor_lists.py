"""Stacked tangents in lists: a list whose elements are stacked stands for the tangents of a list.

One tangent needs none of this: then the op itself, on a list of tangents, is the rule.
"""

import tensorflow.compat.v1 as tf

from ..rules import reapply
from . import _stacked
from ._coefficients import through
from ._handlers import handler
from ._push import Push
from ._v1_frames import moving

# Of each op that reads a list: its input for the shape of an element, and the output that has that shape behind
# a number of dimensions.
_READS = {"TensorListGetItem": (2, 0, 0), "TensorListPopBack": (1, 1, 0), "TensorListStack": (1, 0, 1),
          "TensorListGather": (2, 0, 1)}  # fmt: skip
# Of each op that puts something in: the input that it puts, the input for the shape of an element, and whether it puts
# many elements.
_WRITES = {"TensorListSetItem": (2, None, False), "TensorListPushBack": (1, None, False),
           "TensorListFromTensor": (0, 1, True), "TensorListScatterV2": (0, 2, True),
           "TensorListScatterIntoExistingList": (1, None, True)}  # fmt: skip


@handler(*_READS)
def _read(driver: Push, op: tf.Operation) -> None:
    if driver.count is None:
        return through(driver, op)
    shape, output, skipped = _READS[op.type]
    with driver.where_outputs_lie(op):
        inputs = [moving(driver, op.inputs[0]), *op.inputs[1:]]
        inputs[shape] = _stacked_shape(driver, op.outputs[output], skipped)
        made = reapply(op, inputs, shaped=False)
        for tensor, tangent in zip(op.outputs, made, strict=True):
            driver.add(tensor, driver.shaped(_stacked.swapped(tangent) if skipped else tangent, tensor))
    return None


@handler(*_WRITES)
def _write(driver: Push, op: tf.Operation) -> None:
    if driver.count is None:
        return through(driver, op)
    value, shape, many = _WRITES[op.type]
    with driver.where_outputs_lie(op):
        inputs = list(op.inputs)
        inputs[value] = moving(driver, op.inputs[value])
        if many:
            inputs[value] = _stacked.swapped(inputs[value])
        if shape is not None:
            inputs[shape] = tf.shape(inputs[value])[1:]
        if op.inputs[0].dtype == tf.variant:
            inputs[0] = moving(driver, op.inputs[0])
        driver.add(op.outputs[0], reapply(op, inputs, shaped=False)[0])
    return None


def _stacked_shape(driver: Push, like: tf.Tensor, skipped: int) -> tf.Tensor:
    """The shape of a stacked tangent of one element, `like` having `skipped` dimensions before it."""
    static = like.shape[skipped:]
    shape = static.as_list() if static.is_fully_defined() else tf.shape(like)[skipped:]
    return tf.concat([[driver.count], tf.cast(shape, tf.int32)], 0)
