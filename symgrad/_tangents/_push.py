"""The driver: plan which ops are to be pushed through and in what order, then push each one once.

What is pushed are the coefficients of Taylor series; of a Rop there is one term, the tangent. What is particular to an
op type is a handler, `handler("Enter")(function of (push, op))`, asked for each term, or `whole("While")(function of
(series, op))`, asked once; every other op goes through `_coefficients.through`.
"""

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _sizes, _vjp, _walk, rules
from .._control_flow import encloses, inside, leads_to_the_call, rebuild_for
from .._op_types import EXITS, NEXT_ITERATIONS
from ..errors import MissingRuleError
from . import _single_op, _stacked
from ._algebra import Algebra, along
from ._handlers import HANDLERS, OTHERS, PREPARATIONS, WHOLE, Handler, is_handled, kind_of


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
    series = pushed(between, ys, xs, [{0: t} for t in tangents], along(1, count=count))
    return [series.pushes[0].result(y) for y in ys]


def pushed(
    between: _walk.Between,
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    given: Sequence[dict[int, tf.Tensor]],
    algebra: Algebra,
) -> "Series":
    """The series of all tensors between xs and ys.

    Args:
      between, ys, xs: as for `push`.
      given: for each x its coefficients by the number of the term. Along a dimension in which it does not change a
        coefficient may have the size one.
      algebra: the terms.
    """
    require_rules(between)
    rebuild_for(between.ops, ys[0].graph)
    series = Series(between, algebra)
    series.start(xs, given)
    for prepare in PREPARATIONS:
        for driver in series.pushes:
            prepare(driver)
    series.run()
    return series


def push_one(
    between: _walk.Between,
    op: tf.Operation,
    given: Sequence[tuple[tf.Tensor, Sequence[tf.Tensor]]],
    *,
    instead: _vjp.Instead,
) -> None:
    """Push coefficients, which are given with their tensors, each from the first on, through one op on the way."""
    series = Series(dataclasses.replace(between, ops=[op]), along(len(given[0][1])), instead)
    series.start([t for t, _ in given], [dict(enumerate(terms)) for _, terms in given])
    series.through(op)


class Series:
    """Taylor series on their way through a graph: one `Push` for each term.

    Attributes:
      between: the planned ops, in order, and which of their inputs lie on a path.
      algebra: the terms.
      pushes: what is known of each term, by its number.
      memo: what serves several terms, by op and kind.
      instead: gradient functions for what users' gradient functions on the way might differentiate themselves.
      loose: whether coefficients may have the size one along dimensions in which they do not change.
    """

    def __init__(self, between: _walk.Between, algebra: Algebra, instead: _vjp.Instead | None = None):
        self.between = between
        self.algebra = algebra
        self.loose = algebra.order > 1 and not any(is_handled(op) for op in between.ops)
        self.pushes = [Push(self, term) for term in algebra.terms]
        self.memo: dict[Any, Any] = {}
        self.instead = _vjp.in_users_hands(between.ops) if instead is None else instead

    def start(self, xs: Sequence[tf.Tensor], given: Sequence[dict[int, tf.Tensor]]) -> None:
        """Let each x move along its coefficients."""
        for x, terms in zip(xs, given, strict=True):
            for term, coefficient in terms.items():
                driver = self.pushes[term]
                driver.add(x, coefficient if self.loose else driver.widened(x, coefficient))

    def coefficient(self, tensor: tf.Tensor, term: int | None) -> tf.Tensor | None:
        """A coefficient of a tensor, maybe of size one where it does not change; of no term, the tensor itself."""
        return tensor if term is None else self.pushes[term].raw(tensor)

    def moves(self, tensor: tf.Tensor) -> bool:
        """True if some coefficient is known."""
        return any(driver.raw(tensor) is not None for driver in self.pushes)

    def given(self, op: tf.Operation) -> dict[int, dict[int, tf.Tensor]]:
        """For each input of `op` that moves, by its number, the coefficients that are known, by their terms."""
        found: dict[int, dict[int, tf.Tensor]] = {}
        for driver in self.pushes:
            for i, tangent in enumerate(driver.inputs(op)):
                if tangent is not None:
                    found.setdefault(i, {})[driver.term] = tangent
        return found

    def run(self) -> None:
        """Push through every op, all terms of one before the next."""
        stacked = any(driver.count is not None for driver in self.pushes)
        for op in _loops_first(self.between) if stacked else self.between.ops:
            if op.type in EXITS and stacked:
                self._close(op._get_control_flow_context())
            if leads_to_the_call(op):
                self._step(_to_the_call, op)
            elif kind_of(op) in WHOLE:
                WHOLE[kind_of(op)](self, op)
            else:
                self._step(HANDLERS.get(op.type, HANDLERS[OTHERS]), op)
        for driver in self.pushes:
            for context in list(driver.deferred):
                driver.close(context)

    def through(self, op: tf.Operation) -> None:
        """Push through an op as through one that is a function of its inputs."""
        self._step(HANDLERS[OTHERS], op)

    def _step(self, handle: Handler, op: tf.Operation) -> None:
        for driver in self.pushes:
            handle(driver, op)

    def _close(self, context: Any) -> None:
        for driver in self.pushes:
            driver.close(context)


class Push:
    """The coefficients of one term, for a Rop the tangents, on their way through a graph.

    Attributes:
      series: that of all terms.
      between: the planned ops, in order, and which of their inputs lie on a path.
      term: its number.
      count: how many tangents are pushed at once, stacked along a new first dimension; None: one, as it is.
      deferred: what is to be done before anything leaves a V1 loop, by its context: back edges to be closed.
      stack_orders: for each V1 loop what keeps the order in which it uses the stacks of tangents.
    """

    def __init__(self, series: Series, term: int):
        self.series = series
        self.between = series.between
        self.term = term
        self.count = series.algebra.counts[term]
        self.deferred: dict[Any, list[Callable[[], None]]] = {}
        self.stack_orders: dict[Any, Any] = {}
        self._tangents: dict[int, tf.Tensor] = {}
        self._home = tf.get_default_graph()._get_control_flow_context()
        self._kept: list[tf.Tensor] = []  # ids are good as long as the tensors live

    def of(self, tensor: tf.Tensor) -> tf.Tensor | None:
        """The tangent of a tensor; None if it does not move."""
        outer = self.between.sources.outer(tensor)
        tangent = self._tangents.get(id(outer))
        if tangent is None or not self.series.loose:
            return tangent
        self._tangents[id(outer)] = self.widened(outer, tangent)
        return self._tangents[id(outer)]

    def raw(self, tensor: tf.Tensor) -> tf.Tensor | None:
        """The same, maybe of size one along dimensions in which it does not change."""
        return self._tangents.get(id(self.between.sources.outer(tensor)))

    def add(self, tensor: tf.Tensor, tangent: tf.Tensor) -> None:
        """Let `tensor` move along `tangent` besides what it does already."""
        self._kept.append(tensor)
        before = self._tangents.get(id(tensor))
        self._tangents[id(tensor)] = tangent if before is None else before + tangent

    def result(self, y: tf.Tensor) -> tf.Tensor | None:
        """The tangent of a y under a name of its own."""
        with self.where_outputs_lie(y.op):
            tangent = self.of(y)
            return None if tangent is None else tf.identity(tangent, name="tangent")

    def widened(self, tensor: tf.Tensor, tangent: tf.Tensor) -> tf.Tensor:
        """`tangent` in the whole shape of `tensor`, of which it is a coefficient."""
        if self.count is None:
            return _stacked.widened(tensor, tangent, None)
        return tangent if _stacked.is_single(tangent) else _stacked.widened(tensor, tangent, self.count)

    @contextlib.contextmanager
    def where_outputs_lie(self, op: tf.Operation) -> Iterator[None]:
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

    def close(self, context: Any) -> None:
        """Do what is to be done before anything leaves a V1 loop."""
        for close in self.deferred.pop(context, ()):
            close()


def _loops_first(between: _walk.Between) -> list[tf.Operation]:
    """The ops on the way in an order in which a V1 loop is over before what leaves it is used.

    The vectoriser looks at the whole of a loop whose Exit it meets.
    """
    going_on = collections.Counter(op._get_control_flow_context() for op in between.ops if op.type in NEXT_ITERATIONS)
    ordered: list[tf.Operation] = []
    todo = between.ops
    while todo:
        held: dict[tf.Operation, None] = {}
        for op in todo:
            context = op._get_control_flow_context()
            reads = [t.op for t in between.sources.of(op) if not _walk.is_back_edge(op, t)]
            if (op.type in EXITS and going_on[context]) or any(r in held for r in reads):
                held[op] = None
                continue
            ordered.append(op)
            if op.type in NEXT_ITERATIONS:
                going_on[context] -= 1
        if len(held) == len(todo):
            return ordered + todo
        todo = list(held)
    return ordered


def _to_the_call(driver: Push, op: tf.Operation) -> None:
    """Hand on the tangent of what comes from outside: it is made in the context around the call, or brought there."""
    tangent = driver.of(op.inputs[0])
    for tensor in op.outputs if tangent is not None else ():
        driver.add(tensor, tangent)


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
