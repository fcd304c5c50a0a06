"""How a Jacobian would be computed."""

from collections.abc import Sequence
from typing import Any

from .._crossings import crossed_v1_loops
from .._jacobians import _limits
from .._jacobians._devices import check_devices, check_shareable
from .._jacobians._elsewhere import copied
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_end import linear_end
from .._jacobians._mode import Mode, check_mode, decide
from .._jacobians._plan import Plan, Way
from .._jacobians._sizing import check_block_size
from .._jacobians._tabulate import tabulate
from .._keywords import operator
from .._problem import Problem, posed


@operator
def plan(
    ys: Any,
    xs: Any,
    *,
    mode: Mode = "auto",
    block_size: int | None = None,
    stop_gradients: Any = None,
    devices: Sequence[str] | None = None,
) -> Plan:
    """How `symgrad.jacobian` computes dy/dx for the same arguments: by what mode, through what, in what blocks, why.

    The Jacobian is built in a copy of the graph by the code that builds it in yours, and what was done is written
    down. No op is added to your graph, and the limits of `symgrad.operators.limits` hold as they would.

    Args:
      ys, xs, mode, block_size, stop_gradients, devices: as for `symgrad.jacobian`.

    Returns:
      A `Plan`; `str(plan)` says it in sentences.

    Raises:
      ControlFlowError: also inside of a `tf.function`, loop or branch, of which there is no copy.
      MissingRuleError, DtypeError, ShapeError, GraphMismatchError, DeviceError: what `symgrad.jacobian` would raise.

    Example:
      >>> x = tf.ones([100])
      >>> plan = symgrad.operators.plan(tf.stack([tf.reduce_sum(x ** 2), tf.reduce_sum(tf.sin(x))]), x)
      >>> print(f"by {plan.mode}: {plan.why}")
      by rows: 2 rows against 100 columns
      >>> print(plan.ways[0].count, plan.ways[0].block_size, plan.result_bytes)
      2 2 800
    """
    check_mode(mode)
    check_block_size(block_size)
    devices = check_devices(devices)
    with posed(ys, xs, stop_gradients, disconnected="zero", name="plan") as problem:
        check_holomorphic(problem)
        if devices is not None:
            check_shareable(problem)
    ways: list[Way] = []
    there = copied(problem)
    with there.ys[0].graph.as_default():
        tabulate(there, mode=mode, block_size=block_size, devices=devices, note=ways.append)
        return _said(there, mode, devices, ways)


def _said(problem: Problem, mode: str, devices: Sequence[str] | None, ways: Sequence[Way]) -> Plan:
    decision = decide(mode, problem)
    narrow = decision.narrow
    by_rows = all(way.what.endswith("by rows") for way in ways)
    rows_of = problem.part(ys=[narrow]) if narrow is not None and devices is None else problem
    ends = [linear_end(rows_of.between, y) for y in rows_of.ys] if by_rows or narrow is not None else []
    why = decision.why
    if decision.mode == "columns" and by_rows and ways and narrow is None:
        why += ", but columns cannot be had: an op on the way has no second derivative"
    sizes = [y.shape.concatenate(x.shape).num_elements() for y in problem.ys for x in problem.xs]
    bytes_each = [y.dtype.size for y in problem.ys for _ in problem.xs]
    return Plan(
        mode="both" if narrow is not None and devices is None else "rows" if by_rows and ways else decision.mode,
        why=why,
        through=None if narrow is None else narrow.name,
        linear_ends=tuple(end.start.name for end in ends if end is not None),
        v1_loops=tuple(sorted(crossed_v1_loops(problem.between))),
        devices=tuple(devices or ()),
        ways=tuple(ways),
        result_bytes=None if None in sizes else sum(n * b for n, b in zip(sizes, bytes_each, strict=True)),
        block_bytes=_limits.current().block_bytes,
    )
