"""Jacobians, by rows or by columns."""

from collections.abc import Sequence
from typing import Any

from .. import _tensors
from .._jacobians._devices import check_devices, check_shareable
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._mode import Mode, check_mode
from .._jacobians._sizing import check_block_size
from .._jacobians._tabulate import tabulate
from .._keywords import operator
from .._problem import Disconnected, posed
from . import _disconnected


@operator
def jacobian(
    ys: Any,
    xs: Any,
    *,
    mode: Mode = "auto",
    block_size: int | None = None,
    disconnected: Disconnected = "raise",
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
            check_shareable(problem)
        blocks = tabulate(problem, mode=mode, block_size=block_size, devices=devices)
        if disconnected == "none":
            reached, connected = problem.between.reached, problem.between.connected
            blocks = [
                [b if r and c else None for b, c in zip(row, connected, strict=True)]
                for row, r in zip(blocks, reached, strict=True)
            ]
        return _tensors.pack(ys, [_tensors.pack(xs, row) for row in blocks])
