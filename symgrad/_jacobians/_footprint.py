"""How many bytes a vector takes on its way through a linear map."""

import math
from collections.abc import Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, rules
from .._control_flow import bodies

# Their output is their input, in another shape at most.
_ALIASES = frozenset({"ExpandDims", "Identity", "IdentityN", "Reshape", "Squeeze", "StopGradient"})


def alive_between(seed: tf.Tensor, results: Sequence[tf.Tensor]) -> tuple[int, int]:
    """The bytes of the tensors between `seed` and results that are alive at once, op after op.

    Seed and results count all the time, and so do the insides of loops. The gradient functions also build what leads
    nowhere, such as derivatives by the weights of a layer.

    Returns:
      The bytes of known shapes; those of unknown ones, for each unit of the product of their unknown dimensions.
    """
    ops = rules.between(results, [seed]).ops
    buffers = _buffers(seed, ops)
    last = {buffers[id(t)]: at for at, op in enumerate(ops) for t in op.inputs if id(t) in buffers}
    lasting = {buffers[id(t)]: t for t in (seed, *results) if id(t) in buffers}
    inside = [t for outer in ops for body in bodies(outer) for op in body.get_operations() for t in op.outputs]
    alive = sum(map(_bytes, [*lasting.values(), *inside]), np.zeros(2, np.int64))
    peak, held = alive.copy(), {}
    for at, op in enumerate(ops):
        for t in op.outputs:
            if buffers[id(t)] == id(t) and id(t) not in lasting:
                held[id(t)] = _bytes(t)
                alive += held[id(t)]
        peak = np.maximum(peak, alive)
        for buffer in {buffers[id(t)] for t in (*op.inputs, *op.outputs) if id(t) in buffers}:
            if buffer in held and last.get(buffer, -1) <= at:
                alive -= held.pop(buffer)
    return int(peak[0]), int(peak[1])


def _buffers(seed: tf.Tensor, ops: Sequence[tf.Operation]) -> dict[int, int]:
    """For the seed and each output of the ops the tensor whose memory it shares, by their ids."""
    found = {id(seed): id(seed)}
    for op in ops:
        for i, t in enumerate(op.outputs):
            source = op.inputs[min(i, len(op.inputs) - 1)] if op.type in _ALIASES else t
            found[id(t)] = found.get(id(source), id(t))
    return found


def _bytes(tensor: tf.Tensor) -> np.ndarray:
    """Bytes of a known shape; bytes of an unknown one with 1 for what is unknown."""
    if not _tensors.is_floating(tensor) or tensor.shape.rank is None:
        return np.zeros(2, np.int64)
    size = math.prod(d or 1 for d in tensor.shape.as_list()) * tensor.dtype.size
    return np.array([size, 0] if tensor.shape.is_fully_defined() else [0, size], np.int64)
