"""A problem copied into a graph of its own, where something can be tried without a trace in the user's graph."""

from collections.abc import Iterable, Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._control_flow import rebuild
from .._op_types import FUNCTIONAL, V1_CONTROL_FLOW
from .._problem import Problem
from ..errors import ControlFlowError


def copied(problem: Problem) -> Problem:
    """The same problem in a graph that has copies of the ops behind ys and xs.

    Raises:
      ControlFlowError: ys are in a function body, which is no graph of its own.
    """
    graph = problem.ys[0].graph
    if isinstance(graph, _tf.FuncGraph):
        raise ControlFlowError("plans are for graphs; inside of a tf.function, loop or branch there is none")
    tensors = [*problem.ys, *problem.tensors, *problem.stop]
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(_part(graph, {t.op.name for t in tensors}), name="")
        for op in copy.get_operations():
            _tell(op, graph.get_operation_by_name(op.name))
    if any(op.type in V1_CONTROL_FLOW for op in copy.get_operations()):
        rebuild(copy)
    with copy.as_default():
        xs = [_tensors.Input(_readable(copy, x), _in(copy, x.tensor), x.label) for x in problem.xs]
        return Problem(_all_in(copy, problem.ys), xs, _all_in(copy, problem.stop))


def _part(graph: tf.Graph, names: Iterable[str]) -> tf.GraphDef:
    definition = tf.graph_util.extract_sub_graph(graph.as_graph_def(), sorted(names))
    for node in definition.node:
        node.attr.pop("_class", None)  # may be colocated with what is not copied
    return definition


def _tell(op: tf.Operation, original: tf.Operation) -> None:
    """What a GraphDef does not say of an op."""
    if op.type not in FUNCTIONAL:  # a tf.function hangs its own gradient on each of its calls
        op._gradient_function = original._gradient_function
    for new, old in zip(op.outputs, original.outputs, strict=True):
        new.set_shape(old.shape)
        _tf.copy_handle_data(old, new)


def _in(copy: tf.Graph, tensor: tf.Tensor) -> tf.Tensor:
    return copy.get_tensor_by_name(tensor.name)


def _all_in(copy: tf.Graph, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [_in(copy, t) for t in tensors]


def _readable(copy: tf.Graph, x: _tensors.Input) -> tf.Tensor:
    """What says dtype, shape and value of an x: for a variable, whose handle says none of them, a read."""
    tensor = _in(copy, x.tensor)
    if tensor.dtype != tf.resource:
        return tensor
    read = tf.raw_ops.ReadVariableOp(resource=tensor, dtype=x.dtype)
    read.set_shape(x.shape)
    return read
