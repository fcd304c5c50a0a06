"""How often a loop goes round at most, where its condition says so."""

import math
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

UNKNOWN = 2**62


def turns_of(op: tf.Operation, cond: Any, body: Any) -> int:
    """The largest number of turns of a V2 loop; UNKNOWN if nothing bounds it.

    Args:
      op: the loop.
      cond: the graph of its condition.
      body: the graph of its body.
    """
    places = {id(t): k for k, t in enumerate(cond.inputs)}
    found = [UNKNOWN]
    queue = [_same(cond.outputs[0])]
    for tensor in queue:
        if tensor.op.type == "LogicalAnd":  # each of both bounds the loop
            queue.extend(_same(t) for t in tensor.op.inputs)
        elif tensor.op.type == "Less":
            left, right = (_same(t) for t in tensor.op.inputs)
            if id(left) in places:
                found.append(_counted(op, body, places[id(left)], _bound(op, body, right, places)))
    return min(found)


def _same(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _bound(op, body, tensor, places):
    """The value of what a counter is compared with: a constant, or what the loop hands on as it is."""
    k = places.get(id(tensor))
    if k is None:
        return tf.get_static_value(tensor)
    if _same(body.outputs[k]) is not body.inputs[k]:
        return None
    return tf.get_static_value(op.inputs[k])


def _counted(op, body, k, bound) -> int:
    """How many turns a counter that begins at a constant and grows by a constant needs to its bound."""
    first, after = tf.get_static_value(op.inputs[k]), _same(body.outputs[k])
    if first is None or bound is None or np.ndim(first) or np.ndim(bound) or after.op.type not in ("Add", "AddV2"):
        return UNKNOWN
    terms = [_same(t) for t in after.op.inputs]
    steps = [tf.get_static_value(t) for t in terms if t is not body.inputs[k]]
    if len(steps) != 1 or steps[0] is None or np.ndim(steps[0]) or not steps[0] > 0 or first.dtype.kind not in "iu":
        return UNKNOWN
    return max(0, math.ceil((int(bound) - int(first)) / int(steps[0])))
