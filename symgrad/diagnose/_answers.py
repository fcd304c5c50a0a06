"""Which inputs a gradient function answers with None: asked on a scratch copy of the op, never in the user's graph."""

import contextlib
import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _bodies, _tensors, _tf, rules
from .._control_flow import behind
from .._copies import op_like
from .._op_types import V1_CONTROL_FLOW

# What registered gradient functions raise to say that there is none. Whatever else one raises may be for want of what
# surrounds the op, which a copy of it lacks.
_REFUSALS = (LookupError, NotImplementedError)


class Answers:
    """What gradient functions answer; asked once for each op type, and for each op that is a case of its own."""

    def __init__(self) -> None:
        self._known: dict[Any, list[bool] | Exception] = {}
        self._cuts: dict[Any, rules.Cut | None] = {}
        self._foreign: dict[str, bool] = {}
        self._last: tf.Operation | None = None
        self._kind: Any = None

    def cut_at(self, op: tf.Operation, index: int) -> rules.Cut | None:
        """`rules.cut_at` of a differentiable input, and in addition what only the gradient function can tell."""
        if op is not self._last:  # asked for its inputs one after the other
            self._last, self._kind = op, op if self._is_foreign(op.type) else rules.judged_by(op)
        key = self._kind, index
        if key not in self._cuts:
            self._cuts[key] = rules.cut_at(op, index) or self._unanswered(op, index, rules.has_own_gradient(op))
        return self._cuts[key]

    def _unanswered(self, op: tf.Operation, index: int, own: bool) -> rules.Cut | None:
        # The gradient functions of V1 control flow look at what is around the op and cannot be asked about a copy; all
        # of them answer.
        if op.type in V1_CONTROL_FLOW or (op.type in rules.transpose and not own):
            return None
        key = op if own or self._is_foreign(op.type) else (op.type, len(op.inputs))
        if key not in self._known:
            self._known[key] = _ask(op)
        answers = self._known[key]
        if isinstance(answers, Exception):
            if own:
                return rules.Cut.CUSTOM_FAILS
            return rules.Cut.FAILS if type(answers) in _REFUSALS else None
        if index >= len(answers) or answers[index]:
            return None
        return rules.Cut.CUSTOM_NONE if own else rules.Cut.UNANSWERED

    def _is_foreign(self, op_type: str) -> bool:
        """True if the registered gradient is not TensorFlow's: what it answers may hang on anything of the op."""
        if op_type not in self._foreign:
            try:
                function = _tf.gradient_registry.lookup(op_type)
            except LookupError:
                function = None
            module = getattr(function, "__module__", "")
            self._foreign[op_type] = function is not None and not module.startswith("tensorflow.")
        return self._foreign[op_type]

    def error(self, op: tf.Operation) -> str:
        """What the gradient function of `op` raised, in one line."""
        raised = self._known.get(op) or self._known.get((op.type, len(op.inputs)))
        return (
            f"{type(raised).__name__}: {str(raised).strip().splitlines()[0]}" if isinstance(raised, Exception) else ""
        )


def _ask(op: tf.Operation) -> list[bool] | Exception:
    """For each input, whether the gradient function of `op` answers; or what it raised."""
    try:
        function = _tf.get_gradient_function(op)
    except LookupError:  # no registry knows the type: a rule of ours answers for it, or the function that it calls
        function = _bodies.declared_gradient(op)
    if function is None or isinstance(function, str):  # a function of the graph gives a gradient of each input
        return []
    with op.graph.as_default():
        scratch = _tf.FuncGraph("scratch")  # reads tensors of the graph around it without adding to it
    if _bodies.runs_bodies(op):
        _tf.share_functions(op.graph, scratch)
    try:
        in_users_hands = behind([op]) if rules.has_own_gradient(op) else []
        with scratch.as_default(), _spared(in_users_hands):
            copied = _copy(op)
            answers = function(copied, *(_incoming(t) for t in copied.outputs))
    except Exception as error:  # a user's function may raise anything
        return error
    answers = answers if isinstance(answers, list | tuple) else [answers]
    return [a is not None for a in answers]


@contextlib.contextmanager
def _spared(ops: list[tf.Operation]) -> Iterator[None]:
    """Let loops, branches and calls answer by what their bodies link: asked itself, TensorFlow would change them."""
    linked = {op: links for op in ops if (links := rules.links(op)) is not None}
    own = {op: op._gradient_function for op in linked}
    for op, links in linked.items():
        op._gradient_function = functools.partial(_by_links, links)
    try:
        yield
    finally:
        for op, function in own.items():
            op._gradient_function = function


def _by_links(links: Sequence[int], op: tf.Operation, *cotangents: tf.Tensor | None) -> list[tf.Tensor | None]:
    masks = [mask for mask, cotangent in zip(links, cotangents, strict=True) if cotangent is not None]
    heard = functools.reduce(operator.or_, masks, 0)
    return [_incoming(t) if heard >> i & 1 else None for i, t in enumerate(op.inputs)]


def _copy(op: tf.Operation) -> tf.Operation:
    """An op like `op` in the default graph that reads placeholders."""
    inputs = [_stand_in(t) for t in op.inputs]
    attrs = {name: value for name, value in op.node_def.attr.items() if name not in ("_class", "_gradient_op_type")}
    return op_like(op, inputs, attributes=attrs)


def _stand_in(tensor: tf.Tensor) -> tf.Tensor:
    # Gradient functions read axes and the like from constants.
    if tensor.op.type == "Const":
        return op_like(tensor.op, []).outputs[0]
    copied = tf.placeholder(tensor.dtype.base_dtype, tensor.shape)
    _tf.copy_handle_data(tensor, copied)
    return copied


def _incoming(tensor: tf.Tensor) -> tf.Tensor | None:
    return tf.placeholder(tensor.dtype.base_dtype, tensor.shape) if _tensors.is_differentiable(tensor) else None
