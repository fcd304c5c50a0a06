"""Words for the common shapes of a pushforward rule, so that an op type is one row of a table.

The rules that these words make take None for the tangent of an input that does not move; a function that a user
registers gets zeros there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._copies import op_like
from ._csr import variant_sum
from ._registry import Rule, pushforward, transpose

Moves = int | tuple[int, ...] | Callable[[tf.Operation], Sequence[int]] | None


class Row:
    """A pushforward rule made by one of the words.

    Attributes:
      rule: from the op and the tangents of its inputs, None for those that do not move, to those of its outputs.
      kind: the word that made it.
      moves: which inputs it speaks for; None: all floating ones.
      elementwise: whether it is declared that each element of the output depends on that at its place only.
    """

    def __init__(self, rule: Rule, kind: str, moves: Moves, *, elementwise: bool = False):
        self.rule = rule
        self.kind = kind
        self.moves = moves
        self.elementwise = elementwise

    def __call__(self, op: tf.Operation, *tangents: tf.Tensor | None) -> Any:
        return self.rule(op, *tangents)

    def inputs(self, op: tf.Operation) -> list[int]:
        """The numbers of the inputs that it speaks for."""
        if callable(self.moves):
            return list(self.moves(op))
        if self.moves is None:
            return [i for i, t in enumerate(op.inputs) if _tensors.is_differentiable(t)]
        return [self.moves] if isinstance(self.moves, int) else list(self.moves)


def _register(op_types: Sequence[str], row: Row) -> None:
    moves = None if callable(row.moves) else row.moves
    for op_type in op_types:
        pushforward.add(op_type, row, answers=(moves,) if isinstance(moves, int) else moves)


def reapply(
    op: tf.Operation, inputs: Sequence[tf.Tensor], *, shaped: bool = True, leave: Sequence[str] = ()
) -> list[tf.Tensor]:
    """The outputs of an op of the type and with the attributes of `op` on other inputs.

    Args:
      op: the op to copy.
      inputs: what the new op reads.
      shaped: whether the outputs have the static shapes of those of `op`.
      leave: attributes that get their default values instead.
    """
    attributes = {k: v for k, v in op.node_def.attr.items() if not k.startswith("_") and k not in leave}
    return op_like(op, [_here(t) for t in inputs], attributes=attributes, name=op.type, shaped=shaped).outputs


def _here(tensor: tf.Tensor) -> tf.Tensor:
    """A constant of the graph around a function body made anew in the body: captured, its value would not be known."""
    if tensor.graph is tf.get_default_graph() or tensor.op.type != "Const" or _tensors.is_floating(tensor):
        return tensor
    return tf.constant(tf.get_static_value(tensor))


def linear(*op_types: str, moves: Moves = None) -> None:
    """A row: the op is linear in these inputs together, so its tangent is the op itself on their tangents.

    Args:
      *op_types: what `op.type` says.
      moves: the number of the input, a tuple of numbers, or a function from the op to them; by default all floating
        inputs.
    """
    row = Row(_jointly, "linear", moves)
    row.rule = lambda op, *tangents: _jointly(op, tangents, row.inputs(op))
    _register(op_types, row)


def _jointly(op, tangents, moving):
    inputs = list(op.inputs)
    for i in moving:
        inputs[i] = tf.zeros_like(inputs[i]) if tangents[i] is None else tangents[i]
    return reapply(op, inputs)


def multilinear(*op_types: str, moves: Moves = None) -> None:
    """A row: the op is linear in each of these inputs alone; its tangent is a sum with one term for each of them."""
    row = Row(_jointly, "multilinear", moves)
    row.rule = lambda op, *tangents: _one_by_one(op, tangents, row.inputs(op))
    _register(op_types, row)


def _one_by_one(op, tangents, moving):
    terms = []
    for i in moving:
        if tangents[i] is not None:
            inputs = list(op.inputs)
            inputs[i] = tangents[i]
            terms.append(reapply(op, inputs))
    return total(terms)


def total(terms: Sequence[Sequence[tf.Tensor | None]]) -> list[tf.Tensor | None]:
    """Output by output, the sum of what is there."""
    outputs = []
    for parts in zip(*terms, strict=True):
        there = [p for p in parts if p is not None and _tensors.is_differentiable(p)]
        outputs.append(_sum(there) if there else None)
    return outputs


def _sum(terms: Sequence[tf.Tensor]) -> tf.Tensor:
    if terms[0].dtype == tf.variant:
        return variant_sum(terms)
    return tf.add_n(terms) if len(terms) > 1 else terms[0]


def identity(*op_types: str) -> None:
    """A row: what goes out moves as what goes in, output by output."""
    _register(op_types, Row(lambda op, *tangents: list(tangents[: len(op.outputs)]), "identity", None))


def symmetric(*op_types: str, elementwise: bool = False) -> None:
    """A row: an op of one floating input and one output whose Jacobian is symmetric (of elementwise ones: diagonal).

    Then J v = conj(J^H conj(v)), and J^H is the op type's own gradient function.
    """
    _register(op_types, Row(_by_own_gradient, "symmetric", 0, elementwise=elementwise))


def _by_own_gradient(op, tangent, *_):
    function = transpose.rule_of(op) or _tf.get_gradient_function(op)
    if not op.outputs[0].dtype.base_dtype.is_complex:
        return _first(function(op, tangent))
    return tf.math.conj(_first(function(op, tf.math.conj(tangent))))


def _first(found):
    return found[0] if isinstance(found, list | tuple) else found


def by_input(*op_types: str) -> Callable[..., None]:
    """A row with one term per input: `by_input("Sub")(lambda op, dx: dx, lambda op, dy: -dy)`; the driver adds them up.

    Each term is given a tangent and returns its contribution to the (one) output; broadcasting to the shape of the
    output is done here.
    """

    def register(*terms: Rule) -> None:
        row = Row(lambda op, *tangents: _terms(op, terms, tangents), "by_input", tuple(range(len(terms))))
        _register(op_types, row)

    return register


def _terms(op, terms, tangents):
    parts = [term(op, t) for term, t in zip(terms, tangents, strict=False) if t is not None]
    if len(parts) == 1:
        return broadcast(parts[0], op.outputs[0])
    return sum(parts[1:], parts[0])


def broadcast(value: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """`value` in the shape of `like`; an op only where the two may differ."""
    if value.shape.is_fully_defined() and like.shape.is_fully_defined() and value.shape == like.shape:
        return value
    shape = like.shape.as_list() if like.shape.is_fully_defined() else tf.shape(like)
    return tf.broadcast_to(value, shape)
