"""The parts of a Jacobian for every pair of y and x, by rows or by columns."""

import itertools
from collections.abc import Callable

import tensorflow.compat.v1 as tf

from ._linear_maps import Columns, LinearMap, Rows, Space, unit_vectors

Grid = list[list["tf.Tensor | None"]]
# From a map and what it is, for the log, to its results for the whole basis, as `sweep` gives them.
Sweep = Callable[[LinearMap, str], list["tf.Tensor | None"]]


def by_rows(maps: Rows, sweep: Sweep) -> Grid:
    """For each pair the rows [size of y] + x.shape, or None."""
    ys = maps.problem.ys
    if maps.in_one_loop():
        linear, ends = maps.joint()
        rows = sweep(linear, f"the Jacobian of {', '.join(y.name for y in ys)} by rows")
        return [[None if r is None else r[start:end] for r in rows] for start, end in itertools.pairwise([0, *ends])]
    return [sweep(maps.linear(k), f"the Jacobian of {y.name} by rows") for k, y in enumerate(ys)]


def by_columns(maps: Columns, sweep: Sweep) -> Grid:
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


def transposed(grid: Grid) -> Grid:
    """Each matrix of the grid transposed."""
    return [[None if block is None else tf.transpose(block) for block in row] for row in grid]
