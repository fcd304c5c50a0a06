"""Jacobians larger than memory: blocks of rows, one run of a session each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _walk
from .._jacobians import _limits
from .._jacobians._bottleneck import waist
from .._jacobians._devices import check_devices, check_shareable
from .._jacobians._forward_copies import dependents, stays
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._linear_maps import LinearMap, Rows, rehearse_rows
from .._jacobians._remote_blocks import Runs, blamed, blocks_over, check_present, spread
from .._jacobians._sizing import check_block_size, trial
from .._jacobians._sweep import part_of, sweep
from .._op_types import MERGES
from .._problem import Problem, posed
from .._reach import reach
from ..errors import ControlFlowError, ShapeError
from . import _disconnected

# Rows in a run where they do not vectorise, so that not each of them costs the start of a run; through V1 loops and
# branches, where so many share a forward pass and of more each has its own.
_UNVECTORISED = 64
_UNVECTORISED_IN_FRAMES = 8

# Read at no cost in every run; what is computed from other ops is computed once and fed.
_SOURCES = frozenset({"Const", "Placeholder", "PlaceholderWithDefault", "ReadVariableOp", "VariableV2"})


def jacobian_blocks(
    y: Any,
    x: Any,
    *,
    session: tf.Session,
    feed_dict: dict[Any, Any] | None = None,
    block_size: int | None = None,
    devices: Sequence[str] | None = None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """The Jacobian dy/dx in blocks of rows, computed one after the other as they are asked for, or on many devices.

    What the rows have in common is computed once, in the first run, and fed to the others: all blocks belong to one
    forward pass, with one dropout mask. Through branches and loops of V1 control flow each run goes forward as well.

    With `devices`, each of them runs its own copy of the forward pass, once, on the same values of variables, feeds and
    random numbers, and keeps what the rows have in common; then each computes block after block. Blocks are given as
    they finish, in any order. Every device has one block at work or waiting to be taken.

    Args:
      y: tensor, any shape.
      x: tensor or variable, any shape.
      session: where variables have their values; one run for each block.
      feed_dict: what y needs to be fed.
      block_size: how many rows a block has; None is as many as fit in the memory budget, see
        `symgrad.operators.limits`, and with `devices` at most an equal share of the rows.
      devices: names of devices of the session, such as "/job:worker/task:1" or "CPU:1".

    Returns:
      Iterator of `(rows, block)`: a slice of the elements of y in C order, and an array [rows] + x.shape with
      d y.ravel()[rows] / dx.

    Raises:
      DisconnectedError, MissingRuleError, DtypeError, GraphMismatchError, ControlFlowError: as for `jacobian`.
      ControlFlowError: also where random numbers are drawn inside a loop that the derivative has to run again.
      DeviceError: the session has no such device; or, from the iterator, a device stopped while it was at work.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> with tf.Session() as session:
      ...     for rows, block in symgrad.jacobian_blocks(x ** 2, x, session=session, block_size=2):
      ...         print(rows, block.tolist())
      slice(0, 2, None) [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
      slice(2, 3, None) [[0.0, 0.0, 6.0]]
    """
    check_block_size(block_size)
    devices = check_devices(devices)
    with posed(y, x, disconnected="raise", name="jacobian_blocks") as problem:
        if len(problem.ys) != 1 or len(problem.xs) != 1:
            raise ShapeError("jacobian_blocks takes one y and one x; call it for each pair")
        _tensors.check_session(session, problem.ys[0].graph)
        _disconnected.for_paths(problem, "raise")
        check_holomorphic(problem)
        feeds = dict(feed_dict or {})
        if devices is None:
            runs, common = _runs(problem, session, feeds, block_size)
            values = session.run(common, feeds)
            known = dict(zip([t.name for t in common], values, strict=True))
            return _blocks(replace(runs, feeds={**feeds, **known}), session)
        check_shareable(problem)
        check_present(session, devices)
        with blamed(session, devices, "the size was asked for"):
            runs, common = _runs(problem, session, feeds, block_size, devices)
        blocks = blocks_over(spread(runs, common, problem.tensors[0], devices), session, feeds)
    next(blocks)
    return blocks


def _blocks(runs: Runs, session: tf.Session) -> Iterator[tuple[slice, np.ndarray]]:
    for rows in runs.slices():
        yield rows, runs.cut(rows, session.run(runs.block, runs.feed(rows)))


def _runs(
    problem: Problem,
    session: tf.Session,
    feeds: dict,
    block_size: int | None,
    devices: Sequence[str] = (),
) -> tuple[Runs, list[tf.Tensor]]:
    """The runs, and the tensors that their rows have in common."""
    (y,), (x,) = problem.ys, problem.xs
    count, shape = session.run([tf.size(y), tf.shape(x.value())], feeds)
    narrow = waist(problem)
    behind, before = (problem, problem) if narrow is None else problem.through(narrow)
    rehearse_rows(before)
    linear = Rows(behind).linear(0)
    elements = int(count), int(np.prod(shape))
    if linear.in_frames:
        size, vectorises = _size_in_frames(linear, block_size, *elements)
    else:
        size, vectorises = _size(linear, block_size, *elements)
    if devices:
        size = max(1, min(size, -(-int(count) // len(devices))))
    start = tf.placeholder(tf.int32, [], "start")
    block = part_of(replace(linear, count=size), start)
    (rows,) = sweep(block, size if vectorises else 1, f"the Jacobian of {y.name} in blocks")
    rows = tf.reshape(rows, [size, -1])
    if narrow is not None:
        (onward,) = sweep(Rows(before).linear(0), None, f"the Jacobian of {narrow.name} by rows")
        rows = tf.matmul(rows, tf.reshape(onward, [narrow.shape.num_elements(), -1]))
    # Behind a V1 branch that is not taken there are dead tensors, which have no value to be kept.
    branches = any(op.type in MERGES for op in problem.between.ops)
    common = [] if branches else _in_common(rows, start, _can_be_kept if devices else _can_be_fed)
    _refuse_random(rows, common)
    return Runs(int(count), tuple(int(d) for d in shape), size, start, rows, feeds), common


def _size(linear: LinearMap, block_size: int | None, *elements: int) -> tuple[int, bool]:
    """How many rows a run takes, and whether they vectorise."""
    outcome = trial(linear, vectorise=block_size != 1)
    vectorises = block_size != 1 and not outcome.reason
    if block_size is None:
        block_size = _UNVECTORISED
        if vectorises:
            each = outcome.bytes_per_vector + outcome.bytes_per_unknown * max(elements)
            each += elements[1] * linear.targets[0].dtype.size  # a row, which behind a waist the trial does not see
            block_size = max(1, _limits.current().block_bytes // max(1, each))
    return max(1, min(block_size, elements[0])), vectorises


def _size_in_frames(linear: LinearMap, block_size: int | None, *elements: int) -> tuple[int, bool]:
    """The same through V1 loops, where a trial is not possible: each run goes through the loop and back."""
    vectorises = block_size != 1 and linear.vectorisable
    if block_size is None and not vectorises:
        block_size = _UNVECTORISED_IN_FRAMES
    elif block_size is None:
        each = linear.bytes_each + elements[1] * linear.targets[0].dtype.size
        block_size = max(2, _limits.current().block_bytes // each)
    return max(1, min(block_size, elements[0])), vectorises


def _in_common(rows: tf.Tensor, start: tf.Tensor, keep: Callable[[tf.Tensor], bool]) -> list[tf.Tensor]:
    """The tensors to `keep` that the rows of a run are computed from and that do not change from run to run.

    Of what cannot be kept, as the lists of loops, every run computes what lies behind the kept.
    """
    depends = dependents(start)
    needed = [op for op in _walk.ancestors([rows], every=True) if op in depends]
    todo = [t for op in needed for t in op.inputs if t.op not in depends]
    seen: set[int] = set()
    kept: dict[tf.Tensor, None] = {}
    while todo:
        tensor = todo.pop(0)
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if keep(tensor):
            kept[tensor] = None
        else:
            todo += tensor.op.inputs
    return list(kept)


def _can_be_fed(tensor: tf.Tensor) -> bool:
    """Variables and constants stay where they are."""
    op = tensor.op
    while op.type == "Identity":
        op = op.inputs[0].op
    return op.type not in _SOURCES and _is_movable(tensor)


def _can_be_kept(tensor: tf.Tensor) -> bool:
    """Constants are copied, if they are small."""
    return (tensor.op.type != "Const" or stays(tensor.op)) and _is_movable(tensor)


def _is_movable(tensor: tf.Tensor) -> bool:
    carrier = tensor.dtype.base_dtype in (tf.resource, tf.variant)
    return not carrier and tensor.graph.is_feedable(tensor) and tensor.graph.is_fetchable(tensor)


def _refuse_random(rows: tf.Tensor, common: Sequence[tf.Tensor]) -> None:
    """Raise ControlFlowError if each run would draw other random numbers."""
    fed = {id(t) for t in common}
    for op in reach([rows.op], lambda op: (t.op for t in op.inputs if id(t) not in fed)):
        if "seed2" in op.node_def.attr:
            raise ControlFlowError(
                f"{op.type} {op.name!r} would draw other numbers for each block of rows; draw them outside of the loop "
                "or branch, with tf.random.stateless_*, or take symgrad.jacobian"
            )
