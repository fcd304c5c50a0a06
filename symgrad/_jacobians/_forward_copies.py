"""Copies of computations, on other devices or inside of a loop: what may run twice is copied, the rest is shared."""

from collections.abc import Callable, Container, Iterable, Sequence

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import PLACEHOLDERS
from .._reach import reach
from ..errors import ControlFlowError

# Bytes above which a constant is sent instead of being copied into the graph once for each device.
_LARGE = 2**20


class Copies:
    """Copies, in the default graph, of the ops that some tensors are computed from.

    The default graph is theirs or that of a function inside of it, into which what is shared is captured.

    Args:
      shared: whether an op exists once, where it is: the copies read what it gives.
      instead: what the copies read instead of a tensor, (tensor, other) for each.
      device: where the copies go, as for `tf.device`; None: where the ops are.
      resized: whether what is read instead has other sizes, so that the copies are not shaped like the originals.
      waiting: whether the copies wait for what the ops wait for outside; without, nothing is built there.

    Attributes:
      made: the copy of each op.
    """

    def __init__(
        self,
        shared: Callable[[tf.Operation], bool],
        instead: Sequence[tuple[tf.Tensor, tf.Tensor]] = (),
        device: str | None = None,
        *,
        resized: bool = False,
        waiting: bool = True,
    ):
        self._is_shared, self._device, self._resized, self._waiting = shared, device, resized, waiting
        self._instead = {id(t): other for t, other in instead}
        self._frame_suffix = f"_{_tf.uid()}".encode()  # two loops of one frame cannot run
        self.made: dict[tf.Operation, tf.Operation] = {}

    def of(self, tensors: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
        """The tensors' counterparts; those that nothing has to be copied for are given as they are."""
        ops = self._copied(tensors)
        if not ops:
            return [_here(self._source(t)) for t in tensors]
        definition = tf.GraphDef(versions=tensors[0].graph.graph_def_versions)
        outside: dict[str, tf.Tensor] = {}
        for op in ops:
            definition.node.append(self._node(op, ops))
            for t in op.inputs:
                if not self._is_copied(t, ops):
                    self._refuse_handle(op, t)
                    outside[t.name] = _here(self._source(t))
        with tf.device(None), tf.control_dependencies(None):
            wanted = [op.name for op in ops]
            made = tf.import_graph_def(definition, input_map=outside, return_elements=wanted, name=name)
        self.made = dict(zip(ops, made, strict=True))
        for op, copy in self.made.items():
            copy._gradient_function = op._gradient_function
        if self._waiting:
            self._wait_as(ops)
        return [self._counterpart(t) for t in tensors]

    def _wait_as(self, ops: dict[tf.Operation, None]) -> None:
        """Let the copies begin after what the ops wait for outside, such as an assignment; in a function, all of it."""
        waits = {op: [c for c in op.control_inputs if c not in ops] for op in ops if op.control_inputs}
        graph = next(iter(ops)).graph
        if any(waits.values()) and graph is not tf.get_default_graph():
            with graph.as_default(), tf.control_dependencies([c for before in waits.values() for c in before]):
                begin = tf.constant(0, name="begin")
            waits = {op: [_here(begin).op] for op, before in waits.items() if before}
        for op, before in waits.items():
            self.made[op]._add_control_inputs(before)

    def _counterpart(self, tensor: tf.Tensor) -> tf.Tensor:
        if not self._is_copied(tensor, self.made):
            return _here(self._source(tensor))
        copy = self.made[tensor.op].outputs[tensor.value_index]
        if not self._resized:
            copy.set_shape(tensor.shape)
        return copy

    def _source(self, tensor: tf.Tensor) -> tf.Tensor:
        return self._instead.get(id(tensor), tensor)

    def _is_copied(self, tensor: tf.Tensor, ops) -> bool:
        return id(tensor) not in self._instead and tensor.op in ops

    def _copied(self, tensors: Sequence[tf.Tensor]) -> dict[tf.Operation, None]:
        """The ops to copy, in the order of the graph, for names that are the same each time."""

        def own(sources: Iterable[tf.Tensor], waits: Iterable[tf.Operation]) -> list[tf.Operation]:
            ops = [*(t.op for t in sources if id(t) not in self._instead), *waits]
            return [op for op in ops if not self._is_shared(op)]

        found = reach(own(tensors, ()), lambda op: own(op.inputs, op.control_inputs))
        return {op: None for op in tensors[0].graph.get_operations() if op in found}

    def _node(self, op: tf.Operation, ops) -> "tf.NodeDef":
        node = tf.NodeDef()
        node.CopyFrom(op.node_def)
        if self._device is not None:
            node.device = self._device
        node.attr.pop("_class", None)  # what it was colocated with is elsewhere
        if "frame_name" in node.attr:
            node.attr["frame_name"].s += self._frame_suffix
        del node.input[:]
        node.input.extend(t.name for t in op.inputs)
        node.input.extend(f"^{c.name}" for c in op.control_inputs if c in ops)
        return node

    def _refuse_handle(self, op: tf.Operation, tensor: tf.Tensor) -> None:
        if op.type.startswith("Ref") and tf.get_default_graph() is not op.graph:
            raise ControlFlowError(
                f"{op.type} {op.name!r} takes the variable {tensor.op.name!r} itself into a loop or branch, of which "
                "there are no copies; read it outside, or use resource variables"
            )
        if self._device is not None and tensor.dtype == tf.resource:
            raise ControlFlowError(
                f"{op.type} {op.name!r}, which is to run on {self._device}, reads {tensor.op.name!r} in its body, a "
                "variable or array that lives elsewhere; read it outside of the loop, branch or function, or leave "
                "devices= away"
            )


def _here(tensor: tf.Tensor) -> tf.Tensor:
    """The tensor as the default graph knows it."""
    graph = tf.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def stays(op: tf.Operation) -> bool:
    """True for an op that exists once, where it is: it has a state, reads one, or is fed."""
    if op.type in PLACEHOLDERS or _tf.is_stateful(op.type):
        return True
    if any(t.dtype == tf.resource or t.dtype._is_ref_dtype for t in (*op.inputs, *op.outputs)):
        return True
    return op.type == "Const" and op.outputs[0].shape.num_elements() * op.outputs[0].dtype.size > _LARGE


def staying(copied: Container[tf.Operation] = frozenset()) -> Callable[[tf.Operation], bool]:
    """Whether an op stays where it is; those in `copied` do not."""
    return lambda op: op not in copied and stays(op)


def dependents(tensor: tf.Tensor) -> set[tf.Operation]:
    """The op of a tensor, and all that read it or wait for it, directly or through others."""
    # In the order in which they were made: ops wait for each other too, as gradient functions make them.
    found = {tensor.op}
    for op in tensor.graph.get_operations():
        if any(t.op in found for t in op.inputs) or not found.isdisjoint(op.control_inputs):
            found.add(op)
    return found
