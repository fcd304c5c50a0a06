"""A Jacobian for every pair of y and x: decided from the problem, then carried out."""

import itertools
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _rehearsal
from .._problem import Problem
from . import _limits
from ._devices import Shared
from ._linear_maps import Columns, Grid, LinearMap, Rows, Space, Sweep, rehearse_columns, unit_vectors
from ._mode import Decision, decide, maps_of
from ._plan import Note, nobody
from ._sweep import sweep


def tabulate(
    problem: Problem,
    *,
    mode: str,
    block_size: int | None,
    devices: Sequence[str] | None = None,
    note: Note = nobody,
) -> list[list[tf.Tensor]]:
    """dy_k/dx_i for every pair, in its shape; zeros where y_k does not depend on x_i.

    Args:
      problem: ys and xs.
      mode, block_size, devices: as for `jacobian`.
      note: told how each part is done.
    """
    for y in problem.ys:
        for x in problem.xs:
            _limits.check_result(y.shape.concatenate(x.shape), y.dtype, f"the Jacobian of {y.name} by {x.label}")
    found = _carried_out(decide(mode, problem), problem, block_size=block_size, devices=devices, note=note)
    of_ys, of_xs = [Space.of(y) for y in problem.ys], [Space.of(x) for x in problem.xs]
    pairs = zip(of_ys, found, strict=True)
    return [[block(y, x, b) for x, b in zip(of_xs, row, strict=True)] for y, row in pairs]


def _carried_out(
    decision: Decision, problem: Problem, *, block_size: int | None, devices: Sequence[str] | None, note: Note
) -> Grid:
    """For each pair the derivative as a matrix or as rows, or None, as it was decided."""

    def in_blocks(linear: LinearMap, label: str):
        return sweep(linear, block_size, label, note=note)

    shared = None if devices is None else Shared(devices, block_size, note)
    if decision.narrow is not None:
        if shared is not None:
            return shared.through(decision.narrow, problem)
        return _through(decision.narrow, problem, in_blocks)
    maps = maps_of(decision, problem)
    each = in_blocks if shared is None else shared.sweep(problem)
    return _by_rows(maps, each) if isinstance(maps, Rows) else _transposed(_by_columns(maps, each))


def _through(narrow: tf.Tensor, problem: Problem, in_blocks: Sweep) -> Grid:
    """J = J_y/h J_h/x: the columns of the first, and the rows of the second, are as few as h has elements."""
    behind, before = problem.through(narrow)
    rehearse_columns(behind)
    _rehearsal.backward(before.between)
    left = _by_columns(Columns(behind), in_blocks)
    (right,) = _by_rows(Rows(before), in_blocks)
    size = Space.of(narrow).size
    flat = [None if r is None else tf.reshape(r, [size, -1]) for r in right]
    return [[None if a is None or b is None else tf.matmul(a, b, transpose_a=True) for b in flat] for (a,) in left]


def _by_rows(maps: Rows, sweep: Sweep) -> Grid:
    """For each pair the rows [size of y] + x.shape, or None."""
    ys = maps.problem.ys
    if maps.in_one_loop():
        linear, ends = maps.joint()
        rows = sweep(linear, f"the Jacobian of {', '.join(y.name for y in ys)} by rows")
        return [[None if r is None else r[start:end] for r in rows] for start, end in itertools.pairwise([0, *ends])]
    return [sweep(maps.linear(k), f"the Jacobian of {y.name} by rows") for k, y in enumerate(ys)]


def _by_columns(maps: Columns, sweep: Sweep) -> Grid:
    """For each pair the columns, [size of x, size of y], or None."""
    found: Grid = []
    for i, x in enumerate(maps.problem.xs):
        space = Space.of(x)
        linear = maps.on(i, space.size, unit_vectors(space))
        if linear is None:
            found.append([None] * len(maps.ys))
            continue
        columns = sweep(linear, f"the Jacobian by {x.label} by columns")
        shapes = [tf.stack([space.size, y.size]) for y in maps.ys]
        found.append([None if c is None else tf.reshape(c, shape) for c, shape in zip(columns, shapes, strict=True)])
    return [list(row) for row in zip(*found, strict=True)]


def _transposed(grid: Grid) -> Grid:
    """Each matrix of the grid transposed."""
    return [[None if block is None else tf.transpose(block) for block in row] for row in grid]


def block(y: Space, x: Space, found: tf.Tensor | None) -> tf.Tensor:
    """The block dy/dx in its shape; zeros if there is none."""
    static = y.static.concatenate(x.static)
    whole = Space(y.dtype, static, tf.concat([y.shape, x.shape], 0))
    if found is None:
        return whole.zeros()
    result = tf.reshape(found, static if static.is_fully_defined() else whole.shape)
    result.set_shape(static)
    return result
