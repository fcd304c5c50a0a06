"""The work that a Jacobian is: linear maps to be tabulated, and how their results make the blocks dy/dx."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from .._problem import Problem
from ._linear_maps import (
    Columns,
    LinearMap,
    Results,
    Rows,
    Space,
    maps_of,
    rehearse_columns,
    rehearse_rows,
    unit_vectors,
)
from ._mode import Decision

Grid = list[Results]


@dataclass(frozen=True)
class Work:
    """What is to be done.

    Attributes:
      maps: the linear maps, and what each computes, for the log.
      grid: from the results of each map for its whole basis to a block for every pair of y and x, None for zeros.
    """

    maps: list[tuple[LinearMap, str]]
    grid: Callable[[Sequence[Results]], Grid]


def work_of(decision: Decision, problem: Problem) -> Work:
    """The work by which the Jacobian is to be computed as it was decided."""
    if decision.narrow is not None:
        return _through(decision.narrow, problem)
    maps = maps_of(decision, problem)
    if isinstance(maps, Rows):
        return by_rows(maps)
    columns = _by_columns(maps)
    return Work(columns.maps, lambda results: _transposed(columns.grid(results)))


def by_rows(maps: Rows) -> Work:
    """Blocks of rows, [size of y] + x.shape: those of one y after the other, or of all ys in one loop."""
    ys = maps.problem.ys
    if not maps.in_one_loop():
        return Work([(maps.linear(k), f"the Jacobian of {y.name} by rows") for k, y in enumerate(ys)], list)
    linear, ends = maps.joint()

    def grid(results: Sequence[Results]) -> Grid:
        (rows,) = results
        return [[None if r is None else r[start:end] for r in rows] for start, end in itertools.pairwise([0, *ends])]

    return Work([(linear, f"the Jacobian of {', '.join(y.name for y in ys)} by rows")], grid)


def _by_columns(maps: Columns) -> Work:
    """Blocks of columns, [size of x, size of y]."""
    xs = maps.problem.xs
    sizes = [Space.of(x) for x in xs]
    linear = [maps.on(i, space.size, unit_vectors(space)) for i, space in enumerate(sizes)]

    def grid(results: Sequence[Results]) -> Grid:
        there = iter(results)
        found: Grid = []
        for space, one in zip(sizes, linear, strict=True):
            columns: Results = [None] * len(maps.ys) if one is None else next(there)
            shapes = [tf.stack([space.size, y.size]) for y in maps.ys] if one is not None else columns
            pairs = zip(columns, shapes, strict=True)
            found.append([None if c is None else tf.reshape(c, shape) for c, shape in pairs])
        return [list(row) for row in zip(*found, strict=True)]

    labels = [f"the Jacobian by {x.label} by columns" for x in xs]
    return Work([(one, label) for one, label in zip(linear, labels, strict=True) if one is not None], grid)


def _through(narrow: tf.Tensor, problem: Problem) -> Work:
    """J = J_y/h J_h/x: the columns of the first, and the rows of the second, are as few as h has elements."""
    behind, before = problem.through(narrow)
    rehearse_columns(behind)
    rehearse_rows(before)
    left, right = _by_columns(Columns(behind)), by_rows(Rows(before))

    def grid(results: Sequence[Results]) -> Grid:
        columns, (rows,) = left.grid(results[:-1]), right.grid(results[-1:])
        flat = flattened(rows, Space.of(narrow).size)
        return [[_product(a, b) for b in flat] for (a,) in columns]

    return Work([*left.maps, *right.maps], grid)


def _product(columns: tf.Tensor | None, rows: tf.Tensor | None) -> tf.Tensor | None:
    return None if columns is None or rows is None else tf.matmul(columns, rows, transpose_a=True)


def flattened(rows: Results, size: object) -> Results:
    """Each of the results as `size` rows of a matrix."""
    return [None if r is None else tf.reshape(r, [size, -1]) for r in rows]


def _transposed(grid: Grid) -> Grid:
    return [[None if block is None else tf.transpose(block) for block in row] for row in grid]
