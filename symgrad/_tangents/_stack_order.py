"""The order in which a loop uses the stacks of tangents.

The gradient of a V1 loop keeps its stacks in order by making the loop's own counter wait for every push. To make it
wait for the shadow's as well would change ops that a session may have run. So each loop with pushes or pops of tangents
gets one more variable, a token: a push or pop waits for the token of its iteration, and the token goes on once all have
been.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from .._control_flow import add_variable, inside
from .._op_types import SWITCHES
from ..rules import reapply
from ._push import Push


@dataclass
class StackOrder:
    """What keeps the order in one loop.

    Attributes:
      token: there once the accesses of all earlier iterations are over.
      next: the NextIteration of the token.
      start: the op before the first iteration.
      end: the op after the last one.
      sync: what `next` waits for in place of ops that a branch may leave out.
    """

    token: tf.Tensor
    next: tf.Operation
    start: tf.Operation
    end: tf.Operation
    sync: tf.Operation | None = None

    def wait_for(self, op: tf.Operation, *, always: bool) -> None:
        """Let the next iteration wait for `op`, which runs `always` or in a branch only."""
        if always:
            self.next._add_control_input(op)
            return
        if self.sync is None:
            with inside(op.graph, self.next._get_control_flow_context()):
                self.sync = tf.raw_ops.ControlTrigger()  # runs also after what did not run
            self.next._add_control_input(self.sync)
        self.sync._add_control_input(op)


def take(driver: Push, op: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
    """The output of an op like the push or pop `op` on a stack of tangents, run when its time in the loop has come."""
    order = _order_in(driver, _loop_around(op))
    with tf.control_dependencies([order.token]):
        made = reapply(op, inputs, shaped=driver.count is None)[0]
    in_a_branch = op._get_control_flow_context().IsCondContext() or inputs[0].op.type in SWITCHES
    order.wait_for(made.op, always=not in_a_branch)
    return made


def let_go_first(driver: Push, push: tf.Operation, pop: tf.Operation) -> None:
    """Let the loop of `pop` begin when that of `push` is over."""
    for first, then in zip(_loops_around(push), _loops_around(pop), strict=False):
        if first is not then:
            _order_in(driver, then).start._add_control_input(_order_in(driver, first).end)
            return


def _order_in(driver: Push, context: Any) -> StackOrder:
    if context not in driver.stack_orders:
        driver.stack_orders[context] = _new_order(driver, context)
    return driver.stack_orders[context]


def _new_order(driver: Push, context: Any) -> StackOrder:
    graph = context.loop_enters[0].graph
    around = context.outer_context and context.outer_context.GetWhileContext()
    outer = _order_in(driver, around) if around else None
    with inside(graph, context.outer_context):
        # The loop may lie in a branch that is not taken: then the token must not be there either.
        runs = tf.identity(context.loop_enters[0].op.inputs[0])
        with tf.control_dependencies([runs.op]):
            start = tf.identity(outer.token) if outer else tf.constant(0)
    merge, leaving, staying = add_variable(context.loop_enters[0].op, start)
    with inside(graph, context):
        token = tf.identity(staying)
        after = tf.raw_ops.NextIteration(data=token)
    merge._update_input(1, after)
    if outer:
        outer.wait_for(leaving.op, always=False)  # no context tells of the backward pass of a branch
    return StackOrder(token, after.op, start.op, leaving.op)


def _loop_around(op: tf.Operation) -> Any:
    return op._get_control_flow_context().GetWhileContext()


def _loops_around(op: tf.Operation) -> list[Any]:
    """The contexts of the loops around `op`, the outermost first."""
    loops = [_loop_around(op)]
    while loops[0].outer_context and loops[0].outer_context.GetWhileContext():
        loops.insert(0, loops[0].outer_context.GetWhileContext())
    return loops
