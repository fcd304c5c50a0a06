"""A Jacobian for every pair of y and x: decided from the problem, then carried out."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .._problem import Problem
from . import _limits
from ._devices import Shared
from ._linear_maps import Space
from ._mode import decide
from ._plan import Note, nobody
from ._sizing import sized
from ._sweep import swept
from ._work import work_of


def tabulate(
    problem: Problem,
    *,
    mode: str,
    block_size: int | None,
    devices: Sequence[str] | None = None,
    note: Note = nobody,
) -> list[list[tf.Tensor]]:
    """dy_k/dx_i for every pair, in its shape; zeros where y_k does not depend on x_i.

    By what mode and in what blocks is settled for all of it before the first vector goes through a map.

    Args:
      problem: ys and xs.
      mode, block_size, devices: as for `jacobian`.
      note: told how each part is done.
    """
    for y in problem.ys:
        for x in problem.xs:
            _limits.check_result(y.shape.concatenate(x.shape), y.dtype, f"the Jacobian of {y.name} by {x.label}")
    decision = decide(mode, problem)
    if devices is not None:
        found = Shared(devices, problem).grid(decision, block_size, note=note)
    else:
        work = work_of(decision, problem)
        plan = [(linear, sized(linear, block_size, label), label) for linear, label in work.maps]
        found = work.grid([swept(*part, note=note) for part in plan])
    of_ys, of_xs = [Space.of(y) for y in problem.ys], [Space.of(x) for x in problem.xs]
    pairs = zip(of_ys, found, strict=True)
    return [[block(y, x, b) for x, b in zip(of_xs, row, strict=True)] for y, row in pairs]


def block(y: Space, x: Space, found: tf.Tensor | None) -> tf.Tensor:
    """The block dy/dx in its shape; zeros if there is none."""
    static = y.static.concatenate(x.static)
    whole = Space(y.dtype, static, tf.concat([y.shape, x.shape], 0))
    if found is None:
        return whole.zeros()
    result = tf.reshape(found, static if static.is_fully_defined() else whole.shape)
    result.set_shape(static)
    return result
