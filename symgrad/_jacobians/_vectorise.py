"""Many vectors through one linear map at once: TensorFlow's vectoriser (pfor), and a trial whether it converts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .. import _tf
from .._pfor import reason, strict_pfor
from .._sizes import size_along, stacked
from ..errors import SymgradError
from ._footprint import alive_between
from ._linear_maps import LinearMap


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
    except SymgradError:
        raise
    except Exception as error:
        results, refusal = linear.apply(seeds[0]), reason(error)
    return Trial([r is not None for r in results], refusal, *(n // 2 for n in alive_between(seeds, _present(results))))


def _refusal(one, traced) -> str:
    """Why pfor does not convert the function `one`; empty if it does."""
    try:
        strict_pfor(one, 2)
    except SymgradError:
        raise
    except Exception as error:
        if not traced:
            raise
        return reason(error)
    return ""


def vectorised(linear: LinearMap, indices: tf.Tensor, present: Sequence[bool]) -> list[tf.Tensor]:
    """The results that are present, for the basis vectors with these indices, stacked."""
    seeds = linear.seeds(indices)
    count = size_along(indices)
    if linear.together is None:
        blocks = strict_pfor(lambda j: _present(linear.apply(tf.gather(seeds, j))), count)
    else:
        blocks = _present(linear.together(seeds, count))
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


def _present(results: Sequence) -> list:
    return [r for r in results if r is not None]
