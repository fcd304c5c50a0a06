"""How many vectors of a basis go through a linear map at once: decided before any of them does."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _tf
from .._pfor import is_refusal, reason, strict_pfor
from .._sizes import Count, known_sizes
from ..errors import ShapeError
from . import _limits
from ._footprint import alive_between
from ._linear_maps import LinearMap, Space

_SEVERAL_LOOPS = "a loop lies inside of another, a branch inside of a loop, or the way leads back through a loop"

_log = logging.getLogger("symgrad")


def check_block_size(block_size: int | None) -> None:
    """Refuse a block size that is neither None nor a number of vectors."""
    if block_size is not None and (isinstance(block_size, bool) or not isinstance(block_size, int) or block_size < 1):
        raise ShapeError(f"block_size={block_size!r}; wanted a number of rows or columns, at least 1, or None")


@dataclass(frozen=True)
class Sizing:
    """How the vectors of a basis are taken.

    Attributes:
      size: how many at a time.
      vectorised: whether the vectors of a block are taken at once.
      cause: why they are not, where that was not asked for.
      bytes_each: of what depends on one vector and is alive at once, by shapes that are known.
      present: for each target whether a path leads to it; None through V1 loops, where only building tells.
    """

    size: Count
    vectorised: bool
    cause: str = ""
    bytes_each: int = 0
    present: list[bool] | None = None


def sized(linear: LinearMap, block_size: int | None, label: str) -> Sizing:
    """How the vectors of `linear` are to be taken: `block_size` at a time, or as many as the memory budget allows.

    `label` says what is computed, for the log. Nothing of the map is left in the graph.
    """
    found = _in_frames(linear, block_size) if linear.in_frames else _by_trial(linear, block_size)
    if found.cause:
        log_cause(label, found.cause)
    return found


def log_cause(label: str, cause: str) -> None:
    """Say that something does not vectorise, and why."""
    _log.info("%s goes one vector at a time, since it does not vectorise: %s", label, cause)


def _in_frames(linear: LinearMap, block_size: int | None) -> Sizing:
    """Through V1 loops, which TensorFlow differentiates only where they are: there is no trial."""
    each = linear.bytes_each
    if block_size is None and each:
        block_size = max(2, _limits.current().block_bytes // each)
    if block_size == 1 or not linear.vectorisable:
        return Sizing(1, False, "" if block_size == 1 else _SEVERAL_LOOPS, each)
    return Sizing(block_size or linear.count, True, bytes_each=each)


def _by_trial(linear: LinearMap, block_size: int | None) -> Sizing:
    outcome = trial(linear, vectorise=block_size != 1 and linear.count != 1)
    if not any(outcome.present):
        return Sizing(1, False, outcome.reason, present=outcome.present)
    size = 1 if outcome.reason else block_size or _affordable(linear, outcome)
    many = not outcome.reason and size != 1 and linear.count != 1
    return Sizing(size, many, outcome.reason, outcome.bytes_per_vector, outcome.present)


def _affordable(linear: LinearMap, outcome: "Trial") -> Count:
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


@dataclass(frozen=True)
class Trial:
    """What building a map in a scratch graph tells.

    Attributes:
      present: for each target, whether a path leads to it.
      reason: why the map does not vectorise; empty if it does.
      bytes_per_vector: what is alive at once for one seed, as far as shapes are known.
      bytes_per_unknown: the same of tensors with unknown dimensions, for each unit of the product of these.
    """

    present: list[bool]
    reason: str
    bytes_per_vector: int
    bytes_per_unknown: int


def trial(linear: LinearMap, *, vectorise: bool) -> Trial:
    """Build `linear` in a scratch graph, where nothing is left behind, and see whether it vectorises.

    Raises:
      SymgradError: what building the map itself raises.
    """
    with _tf.FuncGraph("trial").as_default():
        if vectorise and linear.together is not None:
            return _trial_together(linear, linear.together)
        traced: list = []
        seeds = linear.seeds(tf.range(2))

        def one(j):
            seed = tf.gather(seeds, j)
            traced.append((seed, linear.apply(seed)))
            return _present(traced[0][1])

        refusal = ""
        if vectorise:
            refusal = _refusal(one, traced)
        else:
            one(tf.constant(0))
        seed, results = traced[0]
        return Trial([r is not None for r in results], refusal, *alive_between(seed, _present(results)))


def _trial_together(linear: LinearMap, together: Callable) -> Trial:
    seeds = linear.seeds(tf.range(2))
    try:
        results, refusal = together(seeds, 2), ""
    except Exception as error:
        if not is_refusal(error):
            raise
        results, refusal = linear.apply(seeds[0]), reason(error)
    return Trial([r is not None for r in results], refusal, *(n // 2 for n in alive_between(seeds, _present(results))))


def _refusal(one: Callable, traced: list) -> str:
    """Why pfor does not convert the function `one`; empty if it does."""
    try:
        strict_pfor(one, 2)
    except Exception as error:
        if not traced or not is_refusal(error):
            raise
        return reason(error)
    return ""


def _present(results: list) -> list:
    return [r for r in results if r is not None]
