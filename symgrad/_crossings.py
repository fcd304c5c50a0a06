"""What loops and branches lie between xs and ys, and what that means for many derivatives at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from . import _sources, _tensors, _walk
from ._control_flow import is_loop_switch
from ._op_types import (
    BRANCHES,
    ENTERS,
    EXITS,
    LOOPS,
    STACK_POPS,
    SWITCHES,
    is_array,
    is_array_of_gradients,
)


@dataclass(frozen=True)
class Crossings:
    """What paths cross, found in one look at their ops.

    Attributes:
      v1_loops: whether a V1 loop, or a TensorArray as V1 loops have them: each element of an array is written once in a
        run, and that of its gradients too, so no loop around may do it again.
      v1_branches: whether a V1 branch, in a loop or not.
      nested_v1_loops: whether a V1 loop inside of another one.
      v2_loops: whether a loop of V2.
      v2_branches: whether a branch of V2.
    """

    v1_loops: bool
    v1_branches: bool
    nested_v1_loops: bool
    v2_loops: bool
    v2_branches: bool

    @property
    def v1(self) -> bool:
        """True if V1 control flow is crossed, which no loop around it may enter."""
        return self.v1_loops or self.v1_branches

    @property
    def v2(self) -> bool:
        """True if a loop or branch of V2 is crossed."""
        return self.v2_loops or self.v2_branches


def crossings(between: _walk.Between) -> Crossings:
    """What the paths cross."""
    ops = between.ops
    return Crossings(
        v1_loops=any(op.type in ENTERS | EXITS or is_array(op.type) for op in ops),
        v1_branches=any(op.type in SWITCHES and not is_loop_switch(op) for op in ops),
        nested_v1_loops=any(_loops_around(op) > 1 for op in ops),
        v2_loops=any(op.type in LOOPS for op in ops),
        v2_branches=any(op.type in BRANCHES for op in ops),
    )


def crossed_v1_loops(between: _walk.Between) -> set[str]:
    """The names of the V1 loops on the paths."""
    return {op.get_attr("frame_name").decode() for op in between.ops if op.type in ENTERS}


def crossed_loops(between: _walk.Between) -> set:
    """The loops of either kind on the paths: V2 loops as ops, V1 loops as contexts."""
    v1 = {op._get_control_flow_context() for op in between.ops if op.type in EXITS}
    return v1 | {op for op in between.ops if op.type in LOOPS}


def bytes_on_the_way(between: _walk.Between) -> int:
    """The bytes of the tensors on the paths, as far as their shapes are known: what depends on one vector."""
    tensors = [t for op in between.ops for t in op.outputs if _tensors.is_floating(t)]
    return sum((t.shape.num_elements() or 0) * t.dtype.size for t in tensors)


def takes_stacked_tangents(between: _walk.Between) -> bool:
    """True if tangents can be pushed many at once: not backwards through V1 loops, arrays and branches.

    There values come from stacks in an order of their own, and ops belong to no branch that would bind them. Nor where
    the flow of an array, a scalar, does not show that it is one.
    """
    arrays = any(is_array(op.type) for op in between.ops)
    if arrays and any(t.shape.rank is None for op in between.ops for t in op.outputs):
        return False
    for op in between.ops:
        context = op._get_control_flow_context()
        if op.type in STACK_POPS or (context is not None and context.grad_state is not None):
            return False
        unbound = context is None or not context.IsCondContext()
        if unbound and op.type in SWITCHES and not is_loop_switch(op):
            return False
        if is_array(op.type) and is_array_of_gradients(_sources.maker_of(op).type):
            return False
    return True


def _loops_around(op) -> int:
    """In how many V1 loops an op lies."""
    return sum(context.IsWhileContext() for context in _with_outer(op._get_control_flow_context()))


def _with_outer(context) -> Iterator:
    while context is not None:
        yield context
        context = context.outer_context
