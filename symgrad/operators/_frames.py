"""Jacobians through loops of V1 control flow, which no loop around them may enter."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import tensorflow.compat.v1 as tf

from .. import _tensors, _walk
from .._pfor import reason, strict_pfor
from ..control_flow import is_loop_switch
from ..errors import ControlFlowError, SymgradError
from . import _limits

if TYPE_CHECKING:
    from ._maps import LinearMap

# TensorFlow adds hundreds of ops for each derivative through a V1 loop, and the vectoriser more.
MOST_STEPS = 64
MOST_BLOCKS = 8

_SEVERAL_LOOPS = "one loop lies inside of another, or the way leads back through a loop"

_log = logging.getLogger("symgrad")


def crosses_v1_loops(between: _walk.Between) -> bool:
    """True if a path crosses a V1 loop."""
    return any(op.type in ("Enter", "RefEnter", "Exit", "RefExit") for op in between.ops)


def crosses_v1_branches(between: _walk.Between) -> bool:
    """True if a path crosses a V1 branch, in a loop or not."""
    return any(op.type in ("Switch", "RefSwitch") and not is_loop_switch(op) for op in between.ops)


def crosses_control_flow(between: _walk.Between) -> bool:
    """True if a path crosses a loop or a branch of either kind."""
    kinds = ("Case", "Enter", "If", "RefEnter", "RefSwitch", "StatelessCase", "StatelessIf", "StatelessWhile", "Switch",
             "While")  # fmt: skip
    return any(op.type in kinds for op in between.ops)


def bytes_on_the_way(between: _walk.Between) -> int:
    """The bytes of the tensors on the paths, as far as their shapes are known: what depends on one vector."""
    tensors = [t for op in between.ops for t in op.outputs if _tensors.is_floating(t)]
    return sum((t.shape.num_elements() or 0) * t.dtype.size for t in tensors)


def takes_stacked_tangents(between: _walk.Between) -> bool:
    """True if tangents can be pushed many at once: not backwards through V1 loops, arrays and branches.

    There values come from stacks in an order of their own, and ops belong to no branch that would bind them. Nor where
    the flow of an array, a scalar, does not show that it is one.
    """
    arrays = any(op.type.startswith("TensorArray") for op in between.ops)
    if arrays and any(t.shape.rank is None for op in between.ops for t in op.outputs):
        return False
    for op in between.ops:
        context = op._get_control_flow_context()
        if op.type in _walk.STACK_POPS or (context is not None and context.grad_state is not None):
            return False
        unbound = context is None or not context.IsCondContext()
        if unbound and op.type in ("Switch", "RefSwitch") and not is_loop_switch(op):
            return False
        if op.type.startswith("TensorArray") and _walk.maker_of(op).type.startswith("TensorArrayGrad"):
            return False
    return True


def crosses_nested_loops(between: _walk.Between) -> bool:
    """True if a path crosses a V1 loop inside of another one."""
    for op in between.ops:
        context = op._get_control_flow_context()
        if sum(c.IsWhileContext() for c in _with_outer(context)) > 1:
            return True
    return False


def _with_outer(context) -> Iterator:
    while context is not None:
        yield context
        context = context.outer_context


def sweep_unrolled(linear: "LinearMap", block_size: int | None, label: str) -> list[tf.Tensor | None]:
    """The results of `linear` for the whole basis, vectorised at once or in a few blocks, or one after the other.

    A trial in a scratch graph is of no use, as loops of this graph are differentiated in place.
    """
    if block_size is None and linear.together is None and linear.bytes_each:
        block_size = max(2, _limits.current().block_bytes // linear.bytes_each)
    if block_size != 1 and linear.vectorisable:
        try:
            with _v1_control_flow():
                return _joined(_one_after_the_other(linear, _blocks(linear, block_size, label)))
        except SymgradError:
            raise
        except Exception as error:
            cause = reason(error)
    else:
        cause = "one at a time was asked for" if linear.vectorisable else _SEVERAL_LOOPS
    if block_size != 1:
        _log.info("%s goes one vector at a time, since it does not vectorise: %s", label, cause)
    if not isinstance(linear.count, int) or linear.count > MOST_STEPS:
        raise ControlFlowError(
            f"{label} crosses V1 control flow and takes {linear.count} derivatives, which cannot be vectorised "
            f"({cause}); of these {MOST_STEPS} can be built. Build the loop with tf.enable_control_flow_v2() on, or "
            "take products with symgrad.Lop and symgrad.Rop"
        )
    steps = [linear.apply(linear.seeds(tf.constant([i]))[0]) for i in range(linear.count)]
    return _joined([[None if r is None else r[tf.newaxis] for r in results] for results in steps])


def _blocks(linear: "LinearMap", block_size: int | None, label: str) -> list[tf.Tensor]:
    """The indices of each block."""
    if block_size is None or not isinstance(linear.count, int) or linear.count <= block_size:
        return [tf.range(linear.count)]
    if linear.count > MOST_BLOCKS * block_size:
        larger = -(-linear.count // MOST_BLOCKS)
        _log.info("%s goes in blocks of %d: blocks of %d through a V1 loop are too many", label, larger, block_size)
        block_size = larger
    return [tf.range(i, min(i + block_size, linear.count)) for i in range(0, linear.count, block_size)]


def _one_after_the_other(linear: "LinearMap", blocks: Sequence[tf.Tensor]) -> list[list[tf.Tensor | None]]:
    """The results of each block. A block of rows begins when the one before is over: their memory is that of one."""
    found: list[list[tf.Tensor | None]] = []
    for indices in blocks:
        before = [r for r in found[-1] if r is not None] if found and linear.together is None else []
        with tf.control_dependencies(before):
            seeds = tf.identity(linear.seeds(tf.identity(indices)))
        found.append(_vectorised(linear, seeds))
    return found


def _vectorised(linear: "LinearMap", seeds: tf.Tensor) -> list[tf.Tensor | None]:
    count = seeds.shape[0] if seeds.shape[0] is not None else tf.shape(seeds)[0]
    if linear.together is not None:
        return linear.together(seeds, count)
    present: list[bool] = []

    def one(j):
        found = linear.apply(tf.gather(seeds, j))
        present[:] = [r is not None for r in found]
        return [r for r in found if r is not None]

    found = iter(strict_pfor(one, count))
    return [next(found) if p else None for p in present]


def _joined(blocks: Sequence[Sequence[tf.Tensor | None]]) -> list[tf.Tensor | None]:
    return [None if column[0] is None else tf.concat(column, 0) for column in zip(*blocks)]


@contextlib.contextmanager
def _v1_control_flow() -> Iterator[None]:
    """The loops that the vectoriser makes of V1 loops are V1 loops, or it mistakes their insides for its own."""
    switch = tf.control_flow_v2_enabled()
    if switch:
        tf.disable_control_flow_v2()
    try:
        yield
    finally:
        if switch:
            tf.enable_control_flow_v2()
