"""Jacobians, by rows or by columns."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors
from .._jacobians import _limits
from .._jacobians._bottleneck import waist
from .._jacobians._devices import Shared, check_devices, check_shareable
from .._jacobians._grid import Grid, Sweep, by_columns, by_rows, transposed
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_maps import Columns, LinearMap, Rows, Space
from .._jacobians._mode import check_mode, choose
from .._jacobians._sweep import check_block_size, sweep
from .._problem import Problem, posed
from . import _disconnected


@tf.autograph.experimental.do_not_convert
def jacobian(
    ys: Any,
    xs: Any,
    *,
    mode: str = "auto",
    block_size: int | None = None,
    disconnected: str = "raise",
    stop_gradients: Any = None,
    devices: Sequence[str] | None = None,
    name: str = "jacobian",
) -> Any:
    """The Jacobian dy/dx of each y by each x, as one tensor in the graph.

    Every mode and block size gives the same numbers. What does not vectorise goes one vector at a time, which is logged
    at INFO.

    Args:
      ys: tensor or structure of tensors y_k, any shapes, known or not.
      xs: tensor, variable or structure of them x_i.
      mode: "rows", a vector-Jacobian product for each element of ys; "columns", a Jacobian-vector product for each
        element of xs; "auto", the one that is cheaper by the sizes, or both through a narrow tensor that all paths
        cross.
      block_size: how many rows or columns are vectorised at a time. 1 is one at a time in a graph loop; None is as many
        as fit in the memory budget, see `symgrad.operators.limits`.
      disconnected: what to give for an x that no y depends on and a y that depends on no x: "raise", "zero" or "none".
        A y that does not depend on one x but on others has a block of zeros.
      stop_gradients: tensor or structure of tensors that count as constants.
      devices: names of devices, such as "/job:worker/task:1" or "CPU:1", that share the rows or columns of each block
        of the Jacobian, each with its own copy of the forward pass. Variables, placeholders and random numbers exist
        once, where they are, and are sent. None: ops are placed as any others.
      name: scope of the new ops.

    Returns:
      Structure like `ys` with the structure of `xs` inside each leaf: dy_k/dx_i of shape y_k.shape + x_i.shape. For
      complex tensors it is the derivative of a holomorphic function (the conjugate of what `Lop` gives by row).

    Raises:
      DisconnectedError, MissingRuleError, GraphMismatchError: as for `Lop`.
      DtypeError: also for complex ys that are not holomorphic functions of xs.
      ShapeError: the result would be larger than `symgrad.operators.limits` allows.
      ControlFlowError: ys cross V1 loops in which random numbers are drawn, and the blocks are many; or V1 loops, or a
        function around the call, and `devices` are given.
      DeviceError: `devices` is no list of names of devices. (Whether they exist a session tells when it runs.)

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> run(symgrad.jacobian(tf.stack([x[0] * x[1], x[2] ** 2]), x))
      array([[2., 1., 0.],
             [0., 0., 6.]], dtype=float32)
    """
    check_mode(mode)
    check_block_size(block_size)
    devices = check_devices(devices)
    with posed(ys, xs, stop_gradients, disconnected=disconnected, name=name) as problem:
        _disconnected.for_paths(problem, disconnected)
        check_holomorphic(problem)
        if devices is not None:
            check_shareable(problem.between)
        blocks = grid(problem, mode=mode, block_size=block_size, devices=devices)
        if disconnected == "none":
            reached, connected = problem.between.reached, problem.between.connected
            blocks = [
                [b if r and c else None for b, c in zip(row, connected, strict=True)]
                for row, r in zip(blocks, reached, strict=True)
            ]
        return _tensors.pack(ys, [_tensors.pack(xs, row) for row in blocks])


def grid(
    problem: Problem, *, mode: str, block_size: int | None, devices: Sequence[str] | None = None
) -> list[list[tf.Tensor]]:
    """dy_k/dx_i for every pair, in its shape; zeros where y_k does not depend on x_i."""
    for y in problem.ys:
        for x in problem.xs:
            _limits.check_result(y.shape.concatenate(x.shape), y.dtype, f"the Jacobian of {y.name} by {x.label}")
    if devices is None:
        found = _tabulated(problem, mode, block_size)
    else:
        found = Shared(devices, block_size).grid(problem, mode)
    of_ys, of_xs = [Space.of(y) for y in problem.ys], [Space.of(x) for x in problem.xs]
    pairs = zip(of_ys, found, strict=True)
    return [[block(y, x, b) for x, b in zip(of_xs, row, strict=True)] for y, row in pairs]


def _tabulated(problem: Problem, mode: str, block_size: int | None) -> Grid:
    """For each pair the derivative as a matrix or as rows, or None."""

    def in_blocks(linear: LinearMap, label: str):
        return sweep(linear, block_size, label)

    if mode == "auto":
        narrow = waist(problem)
        if narrow is not None:
            return _through(narrow, problem, in_blocks)
    maps = choose(mode, problem)
    if isinstance(maps, Rows):
        return by_rows(maps, in_blocks)
    return transposed(by_columns(maps, in_blocks))


def _through(narrow: tf.Tensor, problem: Problem, in_blocks: Sweep) -> Grid:
    """J = J_y/h J_h/x: the columns of the first, and the rows of the second, are as few as h has elements."""
    behind, before = problem.through(narrow)
    left = by_columns(Columns(behind), in_blocks)
    (right,) = by_rows(Rows(before), in_blocks)
    size = Space.of(narrow).size
    flat = [None if r is None else tf.reshape(r, [size, -1]) for r in right]
    return [[None if a is None or b is None else tf.matmul(a, b, transpose_a=True) for b in flat] for (a,) in left]


def block(y: Space, x: Space, found: tf.Tensor | None) -> tf.Tensor:
    """The block dy/dx in its shape; zeros if there is none."""
    static = y.static.concatenate(x.static)
    whole = Space(y.dtype, static, tf.concat([y.shape, x.shape], 0))
    if found is None:
        return whole.zeros()
    result = tf.reshape(found, static if static.is_fully_defined() else whole.shape)
    result.set_shape(static)
    return result
