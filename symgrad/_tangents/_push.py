"""The driver: plan which ops are to be pushed through and in what order, then push each one once.

What is particular to an op type is a handler, `handler("Enter")(function of (push, op))`; every other op goes through
`_single_op.through`.
"""

import collections
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _sizes, _tensors, _tf, _walk, rules
from .._control_flow import (
    alias,
    can_inline,
    encloses,
    graft,
    home_of,
    inside,
    leads_to_the_call,
    private,
    rebuild_for,
    refuse_side_effects,
)
from .._op_types import CALLS, EXITS, NEXT_ITERATIONS
from ..errors import MissingRuleError
from . import _single_op, _stacked

Handler = Callable[["Push", tf.Operation], None]

# What to do at ops that are more than a function of their inputs; the others go through `_single_op.through`.
HANDLERS: dict[str, Handler] = {}


# What to do before the first op.
PREPARATIONS: list[Callable[["Push"], None]] = []


def handler(*op_types: str) -> Callable[[Handler], Handler]:
    """The decorator that makes a function the handler of these op types; it takes the driver and the op."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(op_types, function))
        return function

    return register


def push(
    between: _walk.Between,
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    tangents: Sequence[tf.Tensor],
    count: _stacked.Count | None = None,
) -> list[tf.Tensor | None]:
    """The tangents of ys when each x moves along its tangent, or along each of several that are stacked.

    A tangent enters at its own x and adds to what flows in from xs upstream; the same x twice adds both.

    Args:
      between: what lies between xs and ys, walked along paths on which a derivative exists.
      ys: tensors.
      xs: tensors; for variables their handles.
      tangents: for each x a tensor of the shape and dtype of its values, or [count] + that shape.
      count: how many tangents are stacked; None: each is one.

    Returns:
      For each y its tangent, stacked like those of xs; None for a y that no tangent reaches.

    Raises:
      MissingRuleError: an op on the way has a derivative that nobody computes.
      ControlFlowError: an op belongs to control flow that tangents cannot pass.
      NotLinearError: the gradient function of an op is not linear in the incoming gradient.
      ValueError: tangents are stacked, and an op cannot take several at once.
    """
    driver = pushed(between, ys, xs, tangents, count)
    return [driver.result(y) for y in ys]


def pushed(between, ys, xs, tangents, count) -> "Push":
    """The driver that knows all tangents between xs and ys; arguments as for `push`."""
    require_rules(between)
    rebuild_for(between.ops, ys[0].graph)
    driver = Push(between, count)
    for x, tangent in zip(xs, tangents):
        driver.add(x, tangent)
    for prepare in PREPARATIONS:
        prepare(driver)
    driver.run()
    return driver


class Push:
    """Tangents on their way through a graph.

    Attributes:
      between: the planned ops, in order, and which of their inputs lie on a path.
      count: how many tangents are pushed at once, stacked along a new first dimension; None: one, as it is.
      deferred: what is to be done before anything leaves a V1 loop, by its context: back edges to be closed.
      turns: for each V1 loop what keeps the order in which it uses the stacks of tangents.
    """

    def __init__(self, between: _walk.Between, count: _stacked.Count | None = None):
        self.between = between
        self.count = count
        self.deferred: dict[Any, list[Callable[[], None]]] = {}
        self.turns: dict[Any, Any] = {}
        self._tangents: dict[int, tf.Tensor] = {}
        self._home = tf.get_default_graph()._get_control_flow_context()
        self._kept: list[tf.Tensor] = []  # ids are good as long as the tensors live

    def of(self, tensor: tf.Tensor) -> tf.Tensor | None:
        """The tangent of a tensor; None if it does not move."""
        return self._tangents.get(id(self.between.sources.outer(tensor)))

    def add(self, tensor: tf.Tensor, tangent: tf.Tensor) -> None:
        """Let `tensor` move along `tangent` besides what it does already."""
        self._kept.append(tensor)
        before = self._tangents.get(id(tensor))
        self._tangents[id(tensor)] = tangent if before is None else before + tangent

    def result(self, y: tf.Tensor) -> tf.Tensor | None:
        """The tangent of a y under a name of its own."""
        tangent = self.of(y)
        with self.beside(y.op):
            return None if tangent is None else tf.identity(tangent, name="tangent")

    @contextlib.contextmanager
    def beside(self, op: tf.Operation) -> Iterator[None]:
        """Ops made in the block lie where the outputs of `op` do; where that is around the call, in its context."""
        context = op._get_control_flow_context()
        if op.type in EXITS:
            context = context.outer_context
        if tf.get_default_graph() is not op.graph:  # in a function body, which captures what lies outside
            yield
            return
        with self._at_home(op.graph) if encloses(context, self._home) else inside(op.graph, context):
            yield

    def _at_home(self, graph: tf.Graph) -> Any:
        """Where the call stands, which may be left for the context of another op by now."""
        here = graph._get_control_flow_context()
        return contextlib.nullcontext() if self._home is None or here is self._home else inside(graph, self._home)

    def zeros(self, tensor: tf.Tensor) -> tf.Tensor:
        """A tangent of zeros, alive where and when `tensor` is; `tf.zeros_like` may give a constant, always alive."""
        return tf.raw_ops.ZerosLike(x=tensor) if self.count is None else _stacked.zeros(tensor, self.count)

    def static(self, tensor: tf.Tensor, tangent: tf.Tensor) -> tf.TensorShape:
        """The static shape of `tangent`, which belongs to `tensor`, as far as that of `tensor` tells."""
        if tensor.dtype.base_dtype != tangent.dtype.base_dtype:  # the handle of a variable
            return tangent.shape
        if self.count is None or _stacked.is_single(tangent):
            return tensor.shape
        return _sizes.stacked(self.count, tensor.shape)

    def shaped(self, tangent: tf.Tensor, tensor: tf.Tensor) -> tf.Tensor:
        """`tangent` with the static shape that the tangent of `tensor` has."""
        tangent.set_shape(self.static(tensor, tangent))
        return tangent

    def inputs(self, op: tf.Operation) -> list[tf.Tensor | None]:
        """The tangents of the inputs of `op`; None for those that do not move or do not matter."""
        active = set(self.between.active_inputs(op))
        return [self.of(t) if i in active else None for i, t in enumerate(op.inputs)]

    def needed(self, op: tf.Operation) -> list[bool]:
        """For each output of `op`, whether its tangent leads to some y."""
        return [id(t) in self.between.tensors for t in op.outputs]

    def run(self) -> None:
        """Push through every op."""
        for op in self.between.ops if self.count is None else _loops_first(self.between):
            if op.type in EXITS and self.count is not None:
                self._close(op._get_control_flow_context())
            handler = _to_the_call if leads_to_the_call(op) else HANDLERS.get(op.type, through)
            handler(self, op)
        for context in list(self.deferred):
            self._close(context)

    def _close(self, context: Any) -> None:
        for close in self.deferred.pop(context, ()):
            close()


def _loops_first(between: _walk.Between) -> list[tf.Operation]:
    """The ops on the way in an order in which a V1 loop is over before what leaves it is used.

    The vectoriser looks at the whole of a loop whose Exit it meets.
    """
    turning = collections.Counter(op._get_control_flow_context() for op in between.ops if op.type in NEXT_ITERATIONS)
    ordered: list[tf.Operation] = []
    todo = between.ops
    while todo:
        held: dict[tf.Operation, None] = {}
        for op in todo:
            context = op._get_control_flow_context()
            reads = [t.op for t in between.sources.of(op) if not _walk.is_back_edge(op, t)]
            if (op.type in EXITS and turning[context]) or any(r in held for r in reads):
                held[op] = None
                continue
            ordered.append(op)
            if op.type in NEXT_ITERATIONS:
                turning[context] -= 1
        if len(held) == len(todo):
            return ordered + todo
        todo = list(held)
    return ordered


def _to_the_call(driver: Push, op: tf.Operation) -> None:
    """Hand on the tangent of what comes from outside: it is made in the context around the call, or brought there."""
    tangent = driver.of(op.inputs[0])
    for tensor in op.outputs if tangent is not None else ():
        driver.add(tensor, tangent)


def through(driver: Push, op: tf.Operation) -> None:
    """Push through an op that is a function of its inputs."""
    tangents = driver.inputs(op)
    if all(t is None for t in tangents):
        return
    with driver.beside(op), tf.name_scope(f"{op.name.rsplit('/', 1)[-1]}_tangent"):
        if driver.count is None:
            outputs = _single_op.through(op, tangents, driver.needed(op))
        else:
            outputs = _stacked.through(op, tangents, driver.needed(op), driver.count)
    for tensor, tangent in zip(op.outputs, outputs):
        if tangent is not None and _tensors.is_differentiable(tensor):
            driver.add(tensor, tangent)


@handler(*CALLS)
def _through_call(driver: Push, op: tf.Operation) -> None:
    """Push through the ops of the body, put in the place of the call."""
    tangents = driver.inputs(op)
    moving = [i for i, t in enumerate(tangents) if t is not None]
    if not can_inline(op):
        return through(driver, op)
    with driver.beside(op):  # by another name what comes in is told apart from what the call came from
        inputs = [alias(t) if i in moving else t for i, t in enumerate(op.inputs)]
    outputs, ops = _inlined(op, inputs)
    needed = [(old, new) for old, new, n in zip(op.outputs, outputs, driver.needed(op)) if n]
    xs = [inputs[i] for i in moving]
    between = rules.between([new for _, new in needed], xs, within=ops)
    found = push(between, [new for _, new in needed], xs, [tangents[i] for i in moving], driver.count)
    for (old, _), tangent in zip(needed, found):
        if tangent is not None:
            driver.add(old, tangent)


def _inlined(op: tf.Operation, inputs: list[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """The outputs of a call on `inputs`, computed by copies of the ops of its body, and these."""
    if tf.get_default_graph() is op.graph:
        return private(op, inputs, home_of(op))
    refuse_side_effects(op)
    copies: list[tf.Operation] = []  # in a function body that is being built, where the tangents are
    outputs = graft(_tf.function_graph(op, [t.shape for t in op.inputs], op.get_attr("f").name), inputs, copies)
    return outputs, copies


def require_rules(between: _walk.Between) -> None:
    """Raise MissingRuleError if an op on the way has neither a pushforward rule nor a gradient for some input."""
    for op, index, cut in rules.gaps(between):
        if not _single_op.has_rule(op, index):
            raise MissingRuleError(
                f"no tangent through op {op.name!r} of type {op.type} from its input {index} "
                f"({op.inputs[index].name}): {cut.value}. Give a rule with "
                f"symgrad.rules.pushforward({op.type!r}), or wrap the input in tf.stop_gradient if it is meant to be a "
                "constant"
            )
