"""A linear map applied to a whole basis: one vector at a time, in vectorised blocks, or all at once."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from .._pfor import reason
from .._sizes import Count, known_sizes
from ..errors import ShapeError, SymgradError
from . import _limits
from ._blocks import Blocks, looped
from ._linear_maps import LinearMap, Space
from ._plan import Note, nobody, way_of
from ._through_frames import sweep_in_frames
from ._vectorise import Trial, single, trial, vectorised

_log = logging.getLogger("symgrad")


def check_block_size(block_size: int | None) -> None:
    """Refuse a block size that is neither None nor a number of vectors."""
    if block_size is not None and (isinstance(block_size, bool) or not isinstance(block_size, int) or block_size < 1):
        raise ShapeError(f"block_size={block_size!r}; wanted a number of rows or columns, at least 1, or None")


def sweep(linear: LinearMap, block_size: int | None, label: str, *, note: Note = nobody) -> list[tf.Tensor | None]:
    """The results of `linear` for every vector of the basis, each stacked along a new first dimension.

    Args:
      linear: the map and its basis.
      block_size: how many vectors at a time: 1 is a graph loop without vectorising, None follows from the budget.
      label: what is computed, for the log.
      note: told how it is done.

    Returns:
      For each target a tensor [count] + target.shape, or None if no path leads to it.
    """
    if linear.in_frames:
        return sweep_in_frames(linear, block_size, label, note=note)
    outcome = trial(linear, vectorise=block_size != 1 and linear.count != 1)
    if outcome.reason:
        _log.info("%s goes one vector at a time, since it does not vectorise: %s", label, outcome.reason)
    present = outcome.present
    if not any(present):
        return [None] * len(present)
    size = 1 if outcome.reason else block_size or _affordable(linear, outcome)
    many = not outcome.reason and size != 1 and linear.count != 1
    note(way_of(label, linear.count, size, vectorised=many, cause=outcome.reason, bytes_each=outcome.bytes_per_vector))
    found = iter(_swept(linear, size, present, label))
    return [next(found) if p else None for p in present]


def sweep_from(
    start: tf.Tensor, size: Count, linear: LinearMap, block_size: int | None, label: str, *, note: Note = nobody
) -> list[tf.Tensor | None]:
    """As `sweep`, for the `size` vectors of the basis from number `start` on; those past the end give zeros."""
    some = replace(linear, count=size, seeds=lambda indices: linear.seeds(indices + start))
    return sweep(some, block_size, label, note=note)


def _swept(linear: LinearMap, size: Count, present: Sequence[bool], label: str) -> list[tf.Tensor]:
    """In blocks of `size`; one at a time where the vectoriser fails all the same.

    It may: in the graph of the caller TensorFlow knows constants and shapes which it did not know in that of the trial,
    and its shape functions do not bear all that the vectoriser makes of them (MatrixDiagV3 of unknown length).
    """
    try:
        return _in_blocks(linear, size, present)
    except SymgradError:
        raise
    except Exception as error:
        if isinstance(size, int) and size == 1:
            raise
        _log.info("%s goes one vector at a time, since it does not vectorise: %s", label, reason(error))
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
    for d in known_sizes(space.static):
        known *= d or 1
    return tf.reduce_prod(tf.cast(space.shape, tf.int64)) // known
