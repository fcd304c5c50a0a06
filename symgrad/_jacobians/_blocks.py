"""A graph loop over the vectors of a basis, in blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _tf
from .._sizes import Count, stacked
from . import _limits
from ._linear_maps import Space

Block = Callable[[tf.Tensor], list[tf.Tensor]]


@dataclass(frozen=True)
class Blocks:
    """How a basis is gone through.

    Attributes:
      count: vectors in all.
      steps: iterations of the loop.
      size: vectors in a block; the last ones may lie past the end.
    """

    count: Count
    steps: Count
    size: Count

    @classmethod
    def of(cls, count: Count, size: Count) -> "Blocks":
        """Blocks of at most `size` vectors, evened out."""
        if isinstance(size, int) and size == 1:
            return cls(count, count, 1)
        if isinstance(size, int) and isinstance(count, int):
            steps = -(-count // size)
            return cls(count, steps, -(-count // steps))
        size = tf.maximum(1, tf.minimum(size, count))
        steps = -(-count // size)
        return cls(count, steps, -(-count // tf.maximum(1, steps)))


def looped(blocks: Blocks, block: Block, targets: Sequence[Space]) -> list[tf.Tensor]:
    """What `block` gives for the indices of each block, in a graph loop, stacked; unit vectors past the end give zeros.

    Args:
      blocks: of how many vectors.
      block: from the int32 indices of a block to one tensor [size] + target.shape for each target.
      targets: what the results look like.
    """
    results = (_in_place if _is_large(blocks.count, targets) else _in_lists)(blocks, block, targets)
    for result, target in zip(results, targets, strict=True):
        result.set_shape(stacked(blocks.count, target.static))
    return results


def _is_large(count: Count, targets: Sequence[Space]) -> bool:
    """True if a second copy of the results would not fit in the memory budget."""
    sizes = [stacked(count, t.static).num_elements() for t in targets]
    return sum(n * t.dtype.size for n, t in zip(sizes, targets, strict=True) if n) > _limits.current().block_bytes


def _in_lists(blocks: Blocks, block: Block, targets: Sequence[Space]) -> list[tf.Tensor]:
    """The blocks collected and concatenated: one more copy of the result, and it can be differentiated again."""
    count, steps, size = blocks.count, blocks.steps, blocks.size
    shapes = [tf.concat([[size], t.shape], 0) for t in targets]
    lists = [
        tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=steps, element_dtype=t.dtype)
        for shape, t in zip(shapes, targets, strict=True)
    ]

    def body(step, *lists):
        values = block(step * size + tf.range(size))  # an index past the end is a seed of zeros
        pairs = zip(lists, values, strict=True)
        return step + 1, *(tf.raw_ops.TensorListSetItem(input_handle=h, index=step, item=v) for h, v in pairs)

    _, *lists = _loop(steps, body, lists)
    stacks = [
        tf.raw_ops.TensorListStack(input_handle=h, element_shape=shape, element_dtype=t.dtype)
        for h, shape, t in zip(lists, shapes, targets, strict=True)
    ]
    results = [tf.reshape(s, tf.concat([[steps * size], t.shape], 0)) for s, t in zip(stacks, targets, strict=True)]
    exact = isinstance(size, int) and (size == 1 or (isinstance(count, int) and count % size == 0))
    return results if exact else [r[:count] for r in results]


def _in_place(blocks: Blocks, block: Block, targets: Sequence[Space]) -> list[tf.Tensor]:
    """The blocks written into the result, of which there is one copy.

    `Empty` is stateful, so that each run gets a buffer of its own; nothing else reads it before the loop is through.
    """
    count, steps, size = blocks.count, blocks.steps, blocks.size
    empty = [tf.raw_ops.Empty(shape=tf.concat([[count], t.shape], 0), dtype=t.dtype, name="result") for t in targets]

    def body(step, *results):
        # The last block begins earlier rather than being shorter: some rows are computed twice, to the same values.
        indices = tf.minimum(step * size, count - size) + tf.range(size)
        values = block(indices)
        return step + 1, *(tf.raw_ops.InplaceUpdate(x=r, i=indices, v=v) for r, v in zip(results, values, strict=True))

    return _loop(steps, body, empty)[1:]


def _loop(steps: Count, body: Callable, carried: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """A V2 loop, whatever the process-wide switch: gradients of tensors outside may be taken in its body."""
    start = [tf.constant(0), *carried]
    return _tf.while_loop_v2(
        lambda step, *_: step < steps, body, start, maximum_iterations=steps, parallel_iterations=1, name="blocks"
    )
