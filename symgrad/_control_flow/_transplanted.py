"""A user's gradient function for the copy of its op in another graph.

`tf.custom_gradient` and `tf.recompute_grad` keep the tensors of the graph where the function was traced. In the copy of
a body these are strangers. So the gradient is built where it belongs, in a scratch graph around the traced one, and
what was built is put where the copy is, with the copies in the place of what the function had kept.
"""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from ..errors import MissingRuleError

# From a tensor of the traced graph to its copy; None for one that was not copied.
CopyOf = Callable[[tf.Tensor], tf.Tensor | None]
Graft = Callable[[tf.Graph, list[tf.Tensor]], list[tf.Tensor]]


class TransplantedGradient:
    """What TensorFlow calls as the gradient function of a copy.

    Attributes:
      of_user: the gradient function of the op that was traced.
      origin: that op.
    """

    def __init__(self, of_user: Callable[..., Any], origin: tf.Operation, copy_of: CopyOf, graft: Graft):
        self.of_user, self.origin = of_user, origin
        self._copy_of, self._graft = copy_of, graft

    @classmethod
    def of(cls, op: tf.Operation, body: tf.Graph, copy_of: CopyOf, graft: Graft) -> "TransplantedGradient | None":
        """The gradient for the copy of `op`, an op of `body`, whose tensors have copies; None if it has none of a user.

        Args:
          op: an op of `body`.
          body: the graph of a function: as it was traced, read from its definition, or a copy itself.
          copy_of: from a tensor of `body` to its copy.
          graft: puts copies of the ops of a graph, on some inputs, into the default graph; gives its outputs.
        """
        if not _tf.has_attribute(op, "_gradient_op_type"):
            return None
        origin, traced = op, _traced(op, body)
        if traced is not body and op._gradient_function is None and traced is not None:
            origin, in_body = traced.get_operation_by_name(op.name), copy_of
            copy_of = lambda t: _then(in_body, _namesake(t, traced, body))  # noqa: E731
        before = origin._gradient_function
        if isinstance(before, cls):
            return cls(before.of_user, before.origin, lambda t: _then(copy_of, before._copy_of(t)), graft)
        if before is not None or traced is None:
            return None
        return cls(_tf.get_gradient_function(op), origin, copy_of, graft)

    def __call__(self, op: tf.Operation, *cotangents: Any) -> list[Any]:
        """The gradients for the inputs of `op`, which is the copy."""
        present = [_tensors.densify(u) for u in cotangents if u is not None]
        with self.origin.graph.as_default():
            scratch = _tf.FuncGraph("gradient_of_user")
        with scratch.as_default():
            scratch.inputs = [tf.placeholder(u.dtype, u.shape) for u in present]
            stand_ins = iter(scratch.inputs[:])
            found = self.of_user(self.origin, *(None if u is None else next(stand_ins) for u in cotangents))
            gradients = [_tensors.densify(g) for g in (found if isinstance(found, list | tuple) else [found])]
            scratch.outputs = [tf.convert_to_tensor(g) for g in gradients if g is not None]
        outer = [self._here(t) for t in scratch.external_captures]
        scratch.inputs = scratch.inputs[: len(present)] + scratch.internal_captures
        grafted = iter(self._graft(scratch, present + outer))
        return [None if g is None else next(grafted) for g in gradients]

    def _here(self, tensor: tf.Tensor) -> tf.Tensor:
        body = self.origin.graph
        inside = next((inner for outer, inner in getattr(body, "captures", ()) if outer is tensor), tensor)
        copied = self._copy_of(inside)
        if copied is not None:
            return copied
        if inside.graph is not body:  # of a graph around the body, and of that around the copy
            return inside
        raise MissingRuleError(
            f"the gradient function of {self.origin.type} {self.origin.name!r} reads {tensor.name!r} of the function "
            f"body {tensor.graph.name!r}, which is not there in a copy of the body; let the function return it, or "
            "compute it again in the gradient function"
        )


def _then(copy_of: CopyOf, tensor: tf.Tensor | None) -> tf.Tensor | None:
    return None if tensor is None else copy_of(tensor)


def _traced(op: tf.Operation, body: tf.Graph) -> tf.Graph | None:
    """The graph in which the user's function ran: `body`, or that of which `body` was read from the definition."""
    traced = _tf.traced_graph(body, body.name) or _tf.traced_graph(tf.get_default_graph(), body.name)
    if traced is None or traced is body:
        return body
    try:
        known = traced.get_operation_by_name(op.name).type == op.type and len(traced.inputs) == len(body.inputs)
    except KeyError:
        return None
    return traced if known else None


def _namesake(tensor: tf.Tensor, traced: tf.Graph, body: tf.Graph) -> tf.Tensor | None:
    """The tensor of `body` that stands for a tensor of the graph that `body` was traced as."""
    if tensor.graph is not traced:
        return None
    for given, inner in zip(traced.inputs, body.inputs, strict=True):
        if given is tensor:
            return inner
    try:
        return body.get_operation_by_name(tensor.op.name).outputs[tensor.value_index]
    except KeyError:
        return None
