"""Function calls replaced by copies of the ops of their bodies.

TensorFlow differentiates a call by rules of its own, among which ours cannot be put, and a call that came from a file
it cannot differentiate twice at all. The ops of the body are differentiated like any others.
"""

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _bodies, _tf
from .._bodies import called, differentiates_bodies, is_call
from .._copies import behave_as, op_like
from ._in_context import in_place_of
from ._transplanted import TransplantedGradient

Made = Callable[[tf.Operation], None]
Gradient = Callable[..., Any]
Done = dict[tf.Operation, list[tf.Operation]]


def can_inline(op: tf.Operation) -> bool:
    """True for a function call that has no gradient of the user's own."""
    return is_call(op) and differentiates_bodies(op)


def inline(
    op: tf.Operation, inputs: Sequence[tf.Tensor], context: Any = None, made: Made | None = None
) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """The outputs of a call on `inputs`, computed by copies of the ops of the body; and these copies, in order.

    They lie in the V1 loop or branch `context`. What the body does besides its outputs (prints, assertions) is left to
    the call itself. Calls inside are inlined too. `made` is as for `graft`.
    """
    copies: list[tf.Operation] = []
    with in_place_of(op, context):
        outputs = _body(op, inputs, copies, device=op.device, made=made)
    for new, old in zip(outputs, op.outputs, strict=True):
        new.set_shape(old.shape)
    return outputs, copies


def _body(call, inputs, copies, *, device, made) -> list[tf.Tensor]:
    body = _tf.function_graph(call, [t.shape for t in call.inputs], called(call))
    with tf.name_scope(call.name.rsplit("/", 1)[-1]):
        return graft(body, inputs, copies, device=device, made=made)


def declared_gradient(op: tf.Operation) -> Gradient | None:
    """The gradient function of the call of a function to which Defun was given one; None for every other op.

    Where that is a function of a graph as well, the ops of its body are put in place, so that they have derivatives:
    what TensorFlow leaves there (SymbolicGradient) has none.
    """
    declared = _bodies.declared_gradient(op)
    return functools.partial(_by_function, declared) if isinstance(declared, str) else declared


def _by_function(name: str, op: tf.Operation, *cotangents: tf.Tensor | None) -> list[tf.Tensor]:
    vectors = [
        tf.zeros_like(y) if u is None else tf.convert_to_tensor(u) for y, u in zip(op.outputs, cotangents, strict=True)
    ]
    given = [*op.inputs, *vectors]
    return graft(_tf.function_graph(op, [t.shape for t in given], name, given), given, [], device=op.device)


def graft(
    body: tf.Graph,
    inputs: Sequence[tf.Tensor | None],
    copies: list[tf.Operation],
    *,
    ops: Container[tf.Operation] | None = None,
    device: str = "",
    made: Made | None = None,
    done: Done | None = None,
) -> list[tf.Tensor | None]:
    """The outputs of a function body on `inputs`, computed by copies of its ops in the default graph.

    What `inputs` know of the variables and lists behind them, the copies know too.

    Args:
      body: the Python graph of the function.
      inputs: one for each of its inputs; None for one that no op in `ops` reads.
      copies: takes the new ops, in order.
      ops: the ops to copy, if not all.
      device: for ops that have none.
      made: is given each new op before anything reads its outputs.
      done: takes for each op of the body what was made in its place.
    """
    tensors = {id(inner): outer for inner, outer in zip(body.inputs, inputs, strict=True)}
    done = {} if done is None else done
    for op in body.get_operations():
        if (ops is not None and op not in ops) or (op.outputs and all(id(t) in tensors for t in op.outputs)):
            continue
        reads, first = [tensors[id(t)] for t in op.inputs], len(copies)
        with tf.control_dependencies([new for c in op.control_inputs for new in done.get(c, ())]):
            if can_inline(op):
                outputs = _body(op, reads, copies, device=device, made=made)
            else:
                new = _copied(op, reads, done, device)
                own = TransplantedGradient.of(op, body, lambda t: tensors.get(id(t)), _grafted)
                if own is not None:
                    new._gradient_function = own
                copies.append(new)
                if made is not None:
                    made(new)
                outputs = new.outputs
        done[op] = copies[first:]
        for old, fresh in zip(op.outputs, outputs, strict=True):
            _tf.copy_handle_data(old, fresh)
            tensors[id(old)] = fresh
    return [tensors.get(id(t)) for t in body.outputs]


def _grafted(graph: tf.Graph, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
    return graft(graph, inputs, [])


def _copied(op: tf.Operation, inputs: list[tf.Tensor], done: Done, device: str) -> tf.Operation:
    """An op like `op` in the default graph, by which `done` names what stands for the ops it is colocated with."""
    graph = tf.get_default_graph()
    attributes = dict(op.node_def.attr)
    if "_class" in attributes:  # an op that is not there would keep the graph from being imported again
        attributes["_class"] = _colocated(op, done)
    _tf.share_function(op.graph, op.type, graph)
    new = op_like(op, inputs, attributes=attributes)
    behave_as(op, new, device=device)
    _tf.hand_on(new)
    return new


def _colocated(op: tf.Operation, done: Done) -> Any:
    """The attribute that colocates the copy of `op` with the copies of what `op` is colocated with."""
    groups = []
    for group in op.colocation_groups():
        try:
            other = op.graph.get_operation_by_name(group.decode().removeprefix("loc:@"))
        except KeyError:  # called after an op of the graph around the body, or after none (TensorFlow 2.15)
            continue
        groups += [b"loc:@" + new.name.encode() for new in done.get(other, ())[:1]]
    return tf.AttrValue(list=tf.AttrValue.ListValue(s=groups))
