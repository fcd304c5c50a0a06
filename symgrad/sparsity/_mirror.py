"""A copy of the user's graph to work in, and what its integers are; the user's own graph keeps its ops."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _sources, _tf, _walk
from .._op_types import EXITS, PLACEHOLDERS, RANDOM, REFERENCE_VARIABLES, V1_CONTROL_FLOW
from .._reach import reach
from .._tensors import FLOATING
from .._where import made_at
from ..errors import PatternError


class Mirror:
    """A copy of the ops behind ys, in which placeholders have the shapes that they are fed.

    Attributes:
      graph: the copy; ops have the names they have in the user's graph.
      original: the user's graph.
      feeds: what is fed, by name of the tensor.
    """

    def __init__(self, tensors: Sequence[tf.Tensor], feed_dict: dict | None):
        self.original = tensors[0].graph
        definition = self.original.as_graph_def()
        if not any(node.op in V1_CONTROL_FLOW for node in definition.node):  # whole loops are kept whole
            _prune(definition, {t.op.name for t in tensors})
        self.feeds = {t.name: np.asarray(v) for t, v in _by_tensor(self.original, feed_dict)}
        for node in definition.node:
            value = self.feeds.get(f"{node.name}:0")
            if value is not None and node.op in ("Placeholder", "PlaceholderWithDefault"):
                node.attr["shape"].shape.CopyFrom(tf.TensorShape(value.shape).as_proto())
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.graph_util.import_graph_def(definition, name="")
        for op in self.graph.get_operations():
            for copy, old in zip(op.outputs, self.original.get_operation_by_name(op.name).outputs, strict=True):
                if copy.shape.is_compatible_with(old.shape):
                    copy.set_shape(old.shape)
                _tf.copy_handle_data(old, copy)

    def of(self, tensor: tf.Tensor) -> tf.Tensor:
        """The copy of a tensor of the user's graph."""
        return self.graph.get_tensor_by_name(tensor.name)

    def where(self, op: tf.Operation) -> str | None:
        """The line of user code that made an op, or made the op next before it that the user's graph has."""
        return _nearest(op, self.original)


def _nearest(op: tf.Operation, original: tf.Graph) -> str | None:
    queue, seen = [op], {op}
    for near in queue:
        if len(queue) > 200:
            return None
        try:
            return made_at(original.get_operation_by_name(near.name))
        except KeyError:
            fresh = [t.op for t in near.inputs if t.op not in seen]
            seen.update(fresh)
            queue.extend(fresh)
    return None


def _prune(definition: tf.GraphDef, ends: set[str]) -> None:
    """Leave the ops that the ops named `ends` need."""
    reads = {node.name: [i.lstrip("^").split(":")[0] for i in node.input] for node in definition.node}
    kept = reach(ends, reads.__getitem__)
    nodes = [node for node in definition.node if node.name in kept]
    del definition.node[:]
    definition.node.extend(nodes)


def _by_tensor(graph: tf.Graph, feed_dict: dict | None) -> list[tuple[tf.Tensor, Any]]:
    return [
        (key if isinstance(key, tf.Tensor) else graph.get_tensor_by_name(key), value)
        for key, value in (feed_dict or {}).items()
    ]


class Scratch:
    """The same for graphs with gradients of the user's own, whose closures hold tensors of the user's graph.

    A function body that is never run: what is made in it reads the user's tensors themselves.
    """

    def __init__(self, original: tf.Graph, feed_dict: dict | None):
        self.graph = _tf.FuncGraph("scratch")
        self.original = original
        self.feeds = {t.name: np.asarray(v) for t, v in _by_tensor(original, feed_dict)}

    def of(self, tensor: tf.Tensor) -> tf.Tensor:
        """The tensor itself."""
        return tensor

    def where(self, op: tf.Operation) -> str | None:
        """The line of user code that made an op, or made the op next before it that the user's graph has."""
        return _nearest(op, self.original)


def mirror_of(tensors: Sequence[tf.Tensor], feed_dict: dict | None) -> "Mirror | Scratch":
    """The place to work in for derivatives of these tensors."""
    ops = _walk.ancestors(tensors)
    framed = any(op.type in V1_CONTROL_FLOW for op in ops)
    if not framed and any(_tf.has_attribute(op, "_gradient_op_type") for op in ops):
        return Scratch(tensors[0].graph, feed_dict)
    return Mirror(tensors, feed_dict)


class Values:
    """What tensors are that do not depend on the floating inputs: indices, axes, conditions."""

    def __init__(self, mirror: "Mirror | Scratch", session: tf.Session | None, xs: Sequence[tf.Tensor]):
        self._mirror, self._session = mirror, session
        self._sources = _sources.Sources()
        self._xs = {x.op for x in xs}
        self._known: dict[int, np.ndarray | None] = {}
        self._runner: tf.Session | None = None

    def close(self) -> None:
        """Give back the session of the copy, if one was needed."""
        if self._runner is not None:
            self._runner.close()

    def of(self, tensor: tf.Tensor) -> np.ndarray | None:
        """Its value; None if it is not known, changes with xs, or is drawn by chance."""
        if id(tensor) not in self._known:
            outer = self._sources.outer(tensor)
            above = _above(outer)
            free = any(op in self._xs or _drawn(op) or _is_parameter(op) for op in above)
            value = None if free else tf.get_static_value(outer)
            self._known[id(tensor)] = self._run(outer, above, {}) if value is None and not free else value
        return self._known[id(tensor)]

    def _run(self, tensor: tf.Tensor, above: Sequence[tf.Operation], feed: dict[str, Any]) -> np.ndarray | None:
        given = None if isinstance(tensor.graph, _tf.FuncGraph) else self._feed(above)
        if given is None:
            return None
        try:
            return self._session_of_copy(tensor.graph).run(tensor, {**feed, **given})
        except (tf.errors.OpError, ValueError, RuntimeError, TypeError):  # not fed, or inside a loop
            return None

    def _feed(self, above: Sequence[tf.Operation]) -> dict[str, Any] | None:
        """What a run of these ops is fed: the user's feeds, and variables by the user's session; None without one."""
        feed: dict[str, Any] = {}
        for op in above:
            feed.update((t.name, self._mirror.feeds[t.name]) for t in op.outputs if t.name in self._mirror.feeds)
            if op.type in _READS and op.outputs[0].name not in feed:
                if self._session is None:
                    return None
                feed[op.outputs[0].name] = self._session.run(op.outputs[0].name)
        return feed

    def _session_of_copy(self, graph: tf.Graph) -> tf.Session:
        if self._runner is None:
            self._runner = tf.Session(graph=graph, config=tf.ConfigProto(device_count={"GPU": 0}))
        return self._runner

    def runner_of(self, tensors: Sequence[tf.Tensor]) -> Callable[[dict], list[np.ndarray]]:
        """A function from what is fed besides to the values of tensors at the point of the user's session."""
        if not tensors:
            return lambda feed: []
        if isinstance(tensors[0].graph, _tf.FuncGraph):
            raise PatternError(
                "method='probe' cannot run a graph with gradients of your own (tf.custom_gradient): use the method "
                "'structure'"
            )
        feed = self._feed(_walk.ancestors(tensors, every=True))
        if feed is None:
            raise PatternError("method='probe' runs the graph, which reads variables: give session=")

        def run(more: dict) -> list[np.ndarray]:
            try:
                return self._session_of_copy(tensors[0].graph).run(list(tensors), {**feed, **more})
            except (tf.errors.OpError, ValueError) as error:
                said = str(getattr(error, "message", error)).strip().split("\n")[0]
                raise PatternError(f"method='probe' could not run the graph; feed_dict= feeds it: {said}") from None

        return run

    def settle(self, ys: Sequence[tf.Tensor], tangents: Sequence[tf.Tensor] = ()) -> None:
        """Give tensors behind ys, whose shape is not known, the one that they have in a run; tangents are fed zeros."""
        ops = [op for op in _walk.ancestors(ys) if op._get_control_flow_context() is None]
        ops = [op for op in ops if op.type not in V1_CONTROL_FLOW - EXITS]  # which may have to take several shapes
        unknown = [t for op in ops for t in op.outputs if not t.shape.is_fully_defined() and t.dtype in FLOATING]
        if not unknown or not isinstance(self._mirror, Mirror):
            return
        with unknown[0].graph.as_default():
            shapes = [tf.shape(t) for t in unknown]
        zeros = {t.name: np.zeros(t.shape, t.dtype.as_numpy_dtype) for t in tangents}
        for t, shape in zip(unknown, shapes, strict=True):
            above = _walk.ancestors([shape], every=True)
            found = None if any(map(_drawn, above)) else self._run(shape, above, zeros)
            if found is not None and _entered(t).is_compatible_with(found.tolist()):
                t.set_shape(found.tolist())


_READS = REFERENCE_VARIABLES | {"ReadVariableOp"}
_OF_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})


def _entered(tensor: tf.Tensor) -> tf.TensorShape:
    """The shape with which what comes out of a V1 loop went in, which it must keep to be rebuilt; unknown of others."""
    if tensor.op.type not in EXITS:
        return tf.TensorShape(None)
    merge = tensor.op.inputs[0].op.inputs[0].op
    return merge.inputs[0].op.inputs[0].shape  # Enter itself may have a wider one, by shape_invariants


def _above(tensor: tf.Tensor) -> list[tf.Operation]:
    """The ops that a tensor is computed from; those of which only a shape that is known is read do not count."""

    def read(op: tf.Operation) -> list[tf.Operation]:
        by_shape = op.type in _OF_SHAPES and all(tf.get_static_value(t) is not None for t in op.outputs)
        return [] if by_shape else [t.op for t in op.inputs]

    return list(reach([tensor.op], read))


def _is_parameter(op: tf.Operation) -> bool:
    """Whether an op brings floating numbers into the graph that may be others in the next run."""
    return op.type in PLACEHOLDERS | _READS and op.outputs[0].dtype.base_dtype in FLOATING


def _drawn(op: tf.Operation) -> bool:
    """Whether the numbers of an op are others in the next run."""
    return op.type in RANDOM
