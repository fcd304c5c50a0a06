"""A linear map applied to a whole basis: one vector at a time, in vectorised blocks, or all at once."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from .. import _tf
from ..errors import ShapeError
from . import _limits
from ._frames import sweep_unrolled
from ._maps import Count, LinearMap, Space, stacked
from ._vectorise import Trial, single, trial, vectorised

_log = logging.getLogger("symgrad")


def check_block_size(block_size: int | None) -> None:
    """Refuse a block size that is neither None nor a number of vectors."""
    if block_size is not None and (isinstance(block_size, bool) or not isinstance(block_size, int) or block_size < 1):
        raise ShapeError(f"block_size={block_size!r}; wanted a number of rows or columns, at least 1, or None")


def sweep(linear: LinearMap, block_size: int | None, label: str) -> list[tf.Tensor | None]:
    """The results of `linear` for every vector of the basis, each stacked along a new first dimension.

    Args:
      linear: the map and its basis.
      block_size: how many vectors at a time: 1 is a graph loop without vectorising, None follows from the budget.
      label: what is computed, for the log.

    Returns:
      For each target a tensor [count] + target.shape, or None if no path leads to it.
    """
    if linear.in_frames:
        return sweep_unrolled(linear, block_size, label)
    outcome = trial(linear, vectorise=block_size != 1 and linear.count != 1)
    if outcome.reason:
        _log.info("%s goes one vector at a time, since it does not vectorise: %s", label, outcome.reason)
    present = outcome.present
    if not any(present):
        return [None] * len(present)
    size = 1 if outcome.reason else block_size or _affordable(linear, outcome)
    found = iter(_swept(linear, size, present))
    return [next(found) if p else None for p in present]


def sweep_from(
    start: tf.Tensor, size: Count, linear: LinearMap, block_size: int | None, label: str
) -> list[tf.Tensor | None]:
    """As `sweep`, for the `size` vectors of the basis from number `start` on; those past the end give zeros."""
    some = replace(linear, count=size, seeds=lambda indices: linear.seeds(indices + start))
    return sweep(some, block_size, label)


def _swept(linear: LinearMap, size: Count, present: Sequence[bool]) -> list[tf.Tensor]:
    count = linear.count
    targets = [t for t, p in zip(linear.targets, present) if p]
    if isinstance(count, int):
        if count == 0:
            return [t.zeros(0) for t in targets]
        if count == 1:
            return [r[tf.newaxis] for r in single(linear, tf.constant(0), present)]
        if isinstance(size, int) and size >= count:
            return vectorised(linear, tf.range(count), present)
    return _looped(linear, size, present, targets)


def _affordable(linear: LinearMap, outcome: Trial) -> Count:
    """How many vectors fit in the memory budget; at least one."""
    budget = _limits.current().block_bytes
    if not outcome.bytes_per_unknown:
        return max(1, budget // max(1, outcome.bytes_per_vector))
    # One number stands for all unknown dimensions: by how much the largest vector exceeds what is known of its shape.
    factors = [_unknown(space) for space in linear.targets if not space.static.is_fully_defined()]
    unknown = tf.reduce_max(tf.stack([*factors, tf.constant(1, tf.int64)]))
    each = outcome.bytes_per_vector + outcome.bytes_per_unknown * unknown
    return tf.cast(tf.clip_by_value(budget // each, 1, 2**31 - 1), tf.int32)


def _unknown(space: Space) -> tf.Tensor:
    known = 1
    for d in space.static if space.static.rank is not None else ():
        known *= d or 1
    return tf.reduce_prod(tf.cast(space.shape, tf.int64)) // known


def _looped(linear: LinearMap, size: Count, present: Sequence[bool], targets: Sequence[Space]) -> list[tf.Tensor]:
    """Blocks of `size` vectors in a graph loop; size 1 does not vectorise."""
    count = linear.count
    if size == 1:
        steps = count
    elif isinstance(size, int) and isinstance(count, int):
        steps = -(-count // size)
        size = -(-count // steps)  # evened out
    else:
        size = tf.maximum(1, tf.minimum(size, count))
        steps = -(-count // size)
        size = -(-count // tf.maximum(1, steps))

    def block(indices):
        if isinstance(size, int) and size == 1:
            return [r[tf.newaxis] for r in single(linear, indices[0], present)]
        return vectorised(linear, indices, present)

    results = (_in_place if _is_large(count, targets) else _in_lists)(block, (count, steps, size), targets)
    for result, target in zip(results, targets):
        result.set_shape(stacked(count, target.static))
    return results


def _is_large(count: Count, targets: Sequence[Space]) -> bool:
    """True if a second copy of the results would not fit in the memory budget."""
    sizes = [stacked(count, t.static).num_elements() for t in targets]
    return sum(n * t.dtype.size for n, t in zip(sizes, targets) if n) > _limits.current().block_bytes


Block = Callable[[tf.Tensor], list[tf.Tensor]]
Plan = tuple[Count, Count, Count]  # vectors in all, steps, vectors in a step


def _in_lists(block: Block, plan: Plan, targets: Sequence[Space]) -> list[tf.Tensor]:
    """The blocks collected and concatenated: one more copy of the result, and it can be differentiated again."""
    count, steps, size = plan
    shapes = [tf.concat([[size], t.shape], 0) for t in targets]
    lists = [
        tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=steps, element_dtype=t.dtype)
        for shape, t in zip(shapes, targets)
    ]

    def body(step, *lists):
        values = block(step * size + tf.range(size))  # an index past the end is a seed of zeros
        pairs = zip(lists, values)
        return step + 1, *(tf.raw_ops.TensorListSetItem(input_handle=h, index=step, item=v) for h, v in pairs)

    _, *lists = _loop(steps, body, lists)
    stacks = [
        tf.raw_ops.TensorListStack(input_handle=h, element_shape=shape, element_dtype=t.dtype)
        for h, shape, t in zip(lists, shapes, targets)
    ]
    results = [tf.reshape(s, tf.concat([[steps * size], t.shape], 0)) for s, t in zip(stacks, targets)]
    exact = isinstance(size, int) and (size == 1 or (isinstance(count, int) and count % size == 0))
    return results if exact else [r[:count] for r in results]


def _in_place(block: Block, plan: Plan, targets: Sequence[Space]) -> list[tf.Tensor]:
    """The blocks written into the result, of which there is one copy.

    `Empty` is stateful, so that each run gets a buffer of its own; nothing else reads it before the loop is through.
    """
    count, steps, size = plan
    empty = [tf.raw_ops.Empty(shape=tf.concat([[count], t.shape], 0), dtype=t.dtype, name="result") for t in targets]

    def body(step, *results):
        # The last block begins earlier rather than being shorter: some rows are computed twice, to the same values.
        indices = tf.minimum(step * size, count - size) + tf.range(size)
        values = block(indices)
        return step + 1, *(tf.raw_ops.InplaceUpdate(x=r, i=indices, v=v) for r, v in zip(results, values))

    return _loop(steps, body, empty)[1:]


def _loop(steps: Count, body: Callable, carried: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """A V2 loop, whatever the process-wide switch: gradients of tensors outside may be taken in its body."""
    start = [tf.constant(0), *carried]
    return _tf.while_loop_v2(
        lambda step, *_: step < steps, body, start, maximum_iterations=steps, parallel_iterations=1, name="blocks"
    )
