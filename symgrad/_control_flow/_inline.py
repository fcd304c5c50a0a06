"""Function calls replaced by copies of the ops of their bodies.

TensorFlow differentiates a call by rules of its own, among which ours cannot be put, and a call that came from a file
it cannot differentiate twice at all. The ops of the body are differentiated like any others.
"""

from collections.abc import Container, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._bodies import CALLS, differentiates_bodies
from ._in_context import in_place_of


def can_inline(op: tf.Operation) -> bool:
    """True for a function call that has no gradient of the user's own."""
    return op.type in CALLS and differentiates_bodies(op)


def inline(
    op: tf.Operation, inputs: Sequence[tf.Tensor], context: Any = None
) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """The outputs of a call on `inputs`, computed by copies of the ops of the body; and these copies, in order.

    They lie in the V1 loop or branch `context`. What the body does besides its outputs (prints, assertions) is left to
    the call itself. Calls inside are inlined too.
    """
    copies: list[tf.Operation] = []
    with in_place_of(op, context):
        outputs = _body(op, inputs, op.device, copies)
    for new, old in zip(outputs, op.outputs):
        new.set_shape(old.shape)
    return outputs, copies


def _body(call, inputs, device, copies) -> list[tf.Tensor]:
    body = _tf.function_graph(call, [t.shape for t in call.inputs], call.get_attr("f").name)
    with tf.name_scope(call.name.rsplit("/", 1)[-1]):
        return graft(body, inputs, copies, device=device)


def graft(
    body: tf.Graph,
    inputs: Sequence[tf.Tensor | None],
    copies: list[tf.Operation],
    *,
    ops: Container[tf.Operation] | None = None,
    device: str = "",
) -> list[tf.Tensor | None]:
    """The outputs of a function body on `inputs`, computed by copies of its ops in the default graph.

    Args:
      body: the Python graph of the function.
      inputs: one for each of its inputs; None for one that no op in `ops` reads.
      copies: takes the new ops, in order.
      ops: the ops to copy, if not all.
      device: for ops that have none.
    """
    graph = tf.get_default_graph()
    made = {id(inner): outer for inner, outer in zip(body.inputs, inputs)}
    done: dict[tf.Operation, tf.Operation] = {}
    for op in body.get_operations():
        if (ops is not None and op not in ops) or (op.outputs and all(id(t) in made for t in op.outputs)):
            continue
        reads = [made[id(t)] for t in op.inputs]
        with tf.control_dependencies([done[c] for c in op.control_inputs if c in done]):
            if can_inline(op):
                outputs = _body(op, reads, device, copies)
            else:
                name = op.name.rsplit("/", 1)[-1]
                dtypes = [t.dtype for t in op.outputs]
                done[op] = new = graph.create_op(op.type, reads, dtypes, name=name, attrs=dict(op.node_def.attr))
                new._set_device(op.device or device)
                copies.append(new)
                outputs = new.outputs
        for old, fresh in zip(op.outputs, outputs):
            _tf.copy_handle_data(old, fresh)
            made[id(old)] = fresh
    return [made.get(id(t)) for t in body.outputs]


def inline_within(body: tf.Graph) -> None:
    """Inline the calls in a function body that is ours alone."""
    for op in body.get_operations():
        if can_inline(op):
            outputs, _ = inline(op, list(op.inputs))
            for old, new in zip(op.outputs, outputs):
                for reader in list(old.consumers()):
                    for i, tensor in enumerate(reader.inputs):
                        if tensor is old:
                            reader._update_input(i, new)
            replaced = {id(old): new for old, new in zip(op.outputs, outputs)}
            body.outputs = [replaced.get(id(t), t) for t in body.outputs]
