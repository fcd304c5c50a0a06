"""Copies of computations on other devices: what is free of state is computed there anew, the rest is sent there."""

from collections.abc import Container, Sequence

import tensorflow.compat.v1 as tf

from .. import _tf
from ..errors import ControlFlowError

# Bytes above which a constant is sent instead of being copied into the graph once for each device.
_LARGE = 2**20


class Copies:
    """Copies on one device of the ops that some tensors are computed from.

    Variables, placeholders, random numbers, queues, Python functions and what else has a state stay where they are and
    exist once: the copy reads what they give.

    Args:
      device: where the copies go, as for `tf.device`.
      instead: what the copies read instead of a tensor, (tensor, other) for each.
      always: ops to copy even so.
    """

    def __init__(
        self,
        device: str,
        instead: Sequence[tuple[tf.Tensor, tf.Tensor]] = (),
        always: Container[tf.Operation] = frozenset(),
    ):
        self._device, self._always = device, always
        self._instead = {id(t): other for t, other in instead}

    def of(self, tensors: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
        """The tensors' counterparts on the device; those that nothing has to be copied for are given as they are."""
        ops = self._copied(tensors)
        if not ops:
            return [self._source(t) for t in tensors]
        graph = tensors[0].graph
        definition = tf.GraphDef(versions=graph.graph_def_versions)
        outside: dict[str, tf.Tensor] = {}
        for op in ops:
            definition.node.append(self._node(op, ops))
            for t in op.inputs:
                if not self._is_copied(t, ops):
                    _refuse_handle(op, t, self._device)
                    outside[t.name] = self._source(t)
        with graph.as_default(), tf.device(None), tf.control_dependencies(None):
            wanted = [op.name for op in ops]
            made = tf.import_graph_def(definition, input_map=outside, return_elements=wanted, name=name)
        copies = dict(zip(ops, made))
        for op, copy in copies.items():
            waits = [c for c in op.control_inputs if c not in ops]
            if waits:
                copy._add_control_inputs(waits)
        return [self._counterpart(t, copies) for t in tensors]

    def _counterpart(self, tensor: tf.Tensor, copies: dict[tf.Operation, tf.Operation]) -> tf.Tensor:
        if not self._is_copied(tensor, copies):
            return self._source(tensor)
        copy = copies[tensor.op].outputs[tensor.value_index]
        copy.set_shape(tensor.shape)
        return copy

    def _source(self, tensor: tf.Tensor) -> tf.Tensor:
        return self._instead.get(id(tensor), tensor)

    def _is_copied(self, tensor: tf.Tensor, ops) -> bool:
        return id(tensor) not in self._instead and tensor.op in ops

    def _copied(self, tensors: Sequence[tf.Tensor]) -> dict[tf.Operation, None]:
        """The ops to copy, in the order of the graph, for names that are the same each time."""
        found: set[tf.Operation] = set()
        todo = [t.op for t in tensors if id(t) not in self._instead]
        while todo:
            op = todo.pop()
            if op in found or (stays(op) and op not in self._always):
                continue
            found.add(op)
            todo += [t.op for t in op.inputs if id(t) not in self._instead]
            todo += op.control_inputs
        return {op: None for op in tensors[0].graph.get_operations() if op in found}

    def _node(self, op: tf.Operation, ops) -> "tf.NodeDef":
        node = tf.NodeDef()
        node.CopyFrom(op.node_def)
        node.device = self._device
        node.attr.pop("_class", None)  # what it was colocated with is elsewhere
        del node.input[:]
        node.input.extend(t.name for t in op.inputs)
        node.input.extend(f"^{c.name}" for c in op.control_inputs if c in ops)
        return node


def stays(op: tf.Operation) -> bool:
    """True for an op that exists once, where it is: it has a state, reads one, or is fed."""
    if op.type.startswith("Placeholder") or _tf.is_stateful(op.type):
        return True
    if any(t.dtype == tf.resource or t.dtype._is_ref_dtype for t in (*op.inputs, *op.outputs)):
        return True
    return op.type == "Const" and op.outputs[0].shape.num_elements() * op.outputs[0].dtype.size > _LARGE


def dependents(tensor: tf.Tensor) -> set[tf.Operation]:
    """The op of a tensor, and all that read it or wait for it, directly or through others."""
    # In the order in which they were made: ops wait for each other too, as gradient functions make them.
    found = {tensor.op}
    for op in tensor.graph.get_operations():
        if any(t.op in found for t in op.inputs) or not found.isdisjoint(op.control_inputs):
            found.add(op)
    return found


def _refuse_handle(op: tf.Operation, tensor: tf.Tensor, device: str) -> None:
    if tensor.dtype == tf.resource:
        raise ControlFlowError(
            f"{op.type} {op.name!r}, which is to run on {device}, reads {tensor.op.name!r} in its body, a variable or "
            "array that lives elsewhere; read it outside of the loop, branch or function, or leave devices= away"
        )
