"""A linear map applied to a whole basis: one vector at a time, in vectorised blocks, or all at once."""

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from .._pfor import is_refusal, reason, strict_pfor
from .._sizes import Count, size_along, stacked
from ._blocks import Blocks, looped
from ._linear_maps import LinearMap
from ._plan import Note, nobody, way_of
from ._sizing import Sizing, log_cause, sized
from ._through_frames import swept_in_frames


def sweep(linear: LinearMap, block_size: int | None, label: str) -> list[tf.Tensor | None]:
    """The results of `linear` for every vector of the basis, each stacked along a new first dimension.

    Args:
      linear: the map and its basis.
      block_size: how many vectors at a time: 1 is a graph loop without vectorising, None follows from the budget.
      label: what is computed, for the log.

    Returns:
      For each target a tensor [count] + target.shape, or None if no path leads to it.
    """
    return swept(linear, sized(linear, block_size, label), label)


def swept(linear: LinearMap, sizing: Sizing, label: str, *, note: Note = nobody) -> list[tf.Tensor | None]:
    """The same, the vectors taken as was decided; `note` is told what was done."""
    present = sizing.present
    if present is None:
        return swept_in_frames(linear, sizing, label, note=note)
    if not any(present):
        return [None] * len(present)
    said = {"vectorised": sizing.vectorised, "cause": sizing.cause, "bytes_each": sizing.bytes_each}
    note(way_of(label, linear.count, sizing.size, **said))
    found = iter(_swept(linear, sizing.size, present, label))
    return [next(found) if p else None for p in present]


def part_of(linear: LinearMap, start: tf.Tensor) -> LinearMap:
    """The map with the vectors of its basis from number `start` on, as many; those past the end give zeros."""
    return replace(linear, seeds=lambda indices: linear.seeds(indices + start))


def _swept(linear: LinearMap, size: Count, present: Sequence[bool], label: str) -> list[tf.Tensor]:
    """In blocks of `size`; one at a time where the vectoriser fails all the same.

    It may: in the graph of the caller TensorFlow knows constants and shapes which it did not know in that of the trial,
    and its shape functions do not bear all that the vectoriser makes of them (MatrixDiagV3 of unknown length).
    """
    try:
        return _in_blocks(linear, size, present)
    except Exception as error:
        if not is_refusal(error) or (isinstance(size, int) and size == 1):
            raise
        log_cause(label, reason(error))
        return _in_blocks(linear, 1, present)


def _in_blocks(linear: LinearMap, size: Count, present: Sequence[bool]) -> list[tf.Tensor]:
    count = linear.count
    targets = [t for t, p in zip(linear.targets, present, strict=True) if p]
    if isinstance(count, int):
        if count == 0:
            return [t.zeros(0) for t in targets]
        if count == 1:
            return [r[tf.newaxis] for r in single(linear, tf.constant(0), present)]
        if isinstance(size, int) and size >= count:
            return vectorised(linear, tf.range(count), present)
    blocks = Blocks.of(count, size)

    def block(indices):
        if isinstance(blocks.size, int) and blocks.size == 1:
            return [r[tf.newaxis] for r in single(linear, indices[0], present)]
        return vectorised(linear, indices, present)

    return looped(blocks, block, targets)


def vectorised(linear: LinearMap, indices: tf.Tensor, present: Sequence[bool]) -> list[tf.Tensor]:
    """The results that are present, for the basis vectors with these indices, stacked."""
    seeds = linear.seeds(indices)
    count = size_along(indices)
    if linear.together is None:
        blocks = strict_pfor(lambda j: _there(linear.apply(tf.gather(seeds, j))), count)
    else:
        blocks = _there(linear.together(seeds, count))
    for block, target in zip(blocks, _chosen(linear.targets, present), strict=True):
        block.set_shape(stacked(count, target.static))
    return blocks


def single(linear: LinearMap, index: tf.Tensor, present: Sequence[bool]) -> list[tf.Tensor]:
    """The results that are present, for one basis vector."""
    found = linear.apply(tf.squeeze(linear.seeds(index[tf.newaxis]), 0))
    results = [t.zeros() if r is None else r for r, t in zip(found, linear.targets, strict=True)]
    return _chosen(results, present)


def _chosen(items: Sequence, present: Sequence[bool]) -> list:
    return [item for item, p in zip(items, present, strict=True) if p]


def _there(results: Sequence) -> list:
    return [r for r in results if r is not None]
