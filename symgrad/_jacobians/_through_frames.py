"""Many vectors through V1 loops and branches, which no loop around them may enter.

A few vectors, and all at once, are built where the loops are, and share their forward pass. Of more blocks one is built
as a template, and a loop runs copies of it, each of which goes forward as well.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

import tensorflow.compat.v1 as tf

from .._control_flow import v1_control_flow
from .._pfor import is_refusal, reason, strict_pfor
from .._sizes import Count, size_along
from ..errors import ControlFlowError
from ._block_copies import Template
from ._blocks import Blocks, looped
from ._linear_maps import LinearMap
from ._plan import Note, nobody, way_of
from ._sizing import Sizing, log_cause

# Vectors that are built one by one; TensorFlow adds hundreds of ops for each, and the vectoriser more.
_FEW = 8
# The same, where copies are refused.
_MOST = 64

_log = logging.getLogger("symgrad")

Results = list["tf.Tensor | None"]
# From a map and some vectors, stacked, to its results, stacked.
Apply = Callable[[LinearMap, tf.Tensor], Results]


def swept_in_frames(linear: LinearMap, sizing: Sizing, label: str, *, note: Note = nobody) -> Results:
    """What `swept` does, for a map with V1 loops on the way.

    Whether the vectoriser and the copies take what is built here is seen only when it is built: where they do not,
    vectors go one at a time, or in larger blocks, and `note` is told so.
    """
    if isinstance(linear.count, int) and linear.count == 0:
        return [t.zeros(0) for t in linear.targets]
    if sizing.vectorised:
        try:
            with v1_control_flow():
                return _swept(linear, sizing, _vectorised, (label, note))
        except Exception as error:
            if not is_refusal(error):
                raise
            sizing = replace(sizing, size=1, vectorised=False, cause=reason(error))
            log_cause(label, sizing.cause)
    return _swept(linear, sizing, _single, (label, note))


def _swept(linear: LinearMap, sizing: Sizing, apply: Apply, said: tuple[str, Note]) -> Results:
    """Blocks of vectors: in place if the vectors are few, or else from a template."""
    (label, note), size, copied = said, sizing.size, False
    enough = max(_FEW, size) if isinstance(size, int) else 0
    found: Results | None = None
    if not (size is linear.count or (isinstance(linear.count, int) and linear.count <= enough)):
        try:
            found, copied = _from_template(linear, size, apply), True
        except ControlFlowError as refusal:
            size = _largest(linear, size, label, refusal)
    if found is None:
        found = _in_place(linear, size, apply)
    how = {"vectorised": sizing.vectorised, "cause": sizing.cause, "bytes_each": sizing.bytes_each, "copied": copied}
    note(way_of(label, linear.count, size, **how))
    return found


def _largest(linear: LinearMap, size: Count, label: str, refusal: ControlFlowError) -> Count:
    """The size of blocks that can be built in place; raises the refusal of copies if these would be too many."""
    if isinstance(size, int) and size == 1:
        if isinstance(linear.count, int) and linear.count <= _MOST:
            return 1
        raise refusal
    larger = -(-linear.count // _FEW) if isinstance(linear.count, int) else linear.count
    _log.info("%s goes in blocks of %s: %s", label, larger, refusal)
    return larger


def _in_place(linear: LinearMap, size: Count, apply: Apply) -> Results:
    """The results, block after block. One of rows begins when that before is over: their memory is that of one."""
    if size is linear.count:
        blocks = [tf.range(size)]
    else:
        blocks = [tf.range(i, min(i + size, linear.count)) for i in range(0, linear.count, size)]
    found: list[Results] = []
    for indices in blocks:
        before = [r for r in found[-1] if r is not None] if found and linear.together is None else []
        with tf.control_dependencies(before):
            seeds = tf.identity(linear.seeds(tf.identity(indices)))
        found.append(apply(linear, seeds))
    return [None if column[0] is None else tf.concat(column, 0) for column in zip(*found, strict=True)]


def _from_template(linear: LinearMap, size: Count, apply: Apply) -> Results:
    """The results by a loop over copies of one block, each of which goes forward and back."""
    blocks = Blocks.of(linear.count, size)
    template = Template()
    found = apply(linear, linear.seeds(tf.range(blocks.size) + template.start))
    template.results = [r for r in found if r is not None]
    targets = [t for t, r in zip(linear.targets, found, strict=True) if r is not None]
    results = iter(looped(blocks, lambda indices: template.at(indices[0]), targets) if targets else [])
    return [None if r is None else next(results) for r in found]


def _single(linear: LinearMap, seeds: tf.Tensor) -> Results:
    return [None if r is None else r[tf.newaxis] for r in linear.apply(seeds[0])]


def _vectorised(linear: LinearMap, seeds: tf.Tensor) -> Results:
    count = size_along(seeds)
    if linear.together is not None:
        return linear.together(seeds, count)
    present: list[bool] = []

    def one(j):
        found = linear.apply(tf.gather(seeds, j))
        present[:] = [r is not None for r in found]
        return [r for r in found if r is not None]

    found = iter(strict_pfor(one, count, in_frames=True))
    return [next(found) if p else None for p in present]
