"""Loops and branches with Python graphs of their own, which TensorFlow's gradient code may change."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import BRANCHES, CASES, LOOPS
from ._inline import graft


class _Place(NamedTuple):
    """A function attribute of a loop or branch.

    Attributes:
      function: its value.
      cache: the name of the attribute of the Python object where TensorFlow's gradient code looks for the graph.
      kind: the class that the graph has where TensorFlow makes it.
    """

    function: Any
    cache: str
    kind: type


def own_bodies(op: tf.Operation) -> None:
    """Give a loop or branch, and those nested in it, Python graphs of their own under names that nothing else bears.

    TensorFlow rewrites a body under its name with a suffix, and functions are shared by all graphs of the process: the
    bodies of two copies would clash. The bodies are built op by op, and not read from the definition of the function,
    which does not say what variable or list is behind an input: without that TensorFlow takes the variable for one
    that has no gradient, and gives zeros.
    """
    for place in _places(op):
        offset = 0 if op.type in LOOPS else 1
        shapes = [t.shape for t in (op.outputs if op.type in LOOPS else op.inputs[1:])]
        source = _tf.function_graph(op, shapes, place.function.name)
        setattr(op, place.cache, _own(source, op, place, list(op.inputs)[offset:]))
    _tell_outputs(op)


def bodies(op: tf.Operation) -> list[tf.Graph]:
    """The Python graphs of the branches, or of the body, of a private V2 branch or loop."""
    caches = [place.cache for place in _places(op) if place.kind is not _tf.WhileCondFuncGraph]
    return [graph for graph in (getattr(op, name, None) for name in caches) if graph is not None]


def _places(op: tf.Operation) -> Iterator[_Place]:
    if op.type in LOOPS:
        yield _Place(op.get_attr("cond"), "_cond_graph", _tf.WhileCondFuncGraph)
        yield _Place(op.get_attr("body"), "_body_graph", _tf.WhileBodyFuncGraph)
    elif op.type in CASES:
        for i, function in enumerate(op.get_attr("branches")):
            yield _Place(function, f"_branch_graph_{i}", _tf.CondBranchFuncGraph)
    elif op.type in BRANCHES:
        yield _Place(op.get_attr("then_branch"), "_true_graph", _tf.CondBranchFuncGraph)
        yield _Place(op.get_attr("else_branch"), "_false_graph", _tf.CondBranchFuncGraph)


def _own(source: tf.Graph, op: tf.Operation, place: _Place, given: list[tf.Tensor]) -> tf.Graph:
    """A copy of the body `source`, which runs in `op` on `given`."""
    with op.graph.as_default():
        body = place.kind(f"{place.function.name}_copy_{_tf.uid()}")
    with body.as_default():
        for old, outer in zip(source.inputs, given, strict=True):
            placeholder = tf.placeholder(old.dtype, old.shape, name=old.op.name)
            _tf.copy_handle_data(outer, placeholder)
            body.inputs.append(placeholder)
        made: dict[tf.Operation, list[tf.Operation]] = {}
        body.outputs = graft(source, body.inputs, [], made=own_bodies, done=made)
        body.structured_outputs = list(body.outputs)
        body.control_outputs = [new for old in source.control_outputs for new in made.get(old, ())]
    return body


def _tell_outputs(op: tf.Operation) -> None:
    """Let the outputs of a branch know what the results of its bodies know of the variables and lists behind them.

    And the other way round: a body gives a stand-in for a list that only another one fills. If the op knows that the
    list holds integers, TensorFlow leaves its gradient out, and must do so in each body.
    """
    if op.type in BRANCHES:
        for told in (False, True):
            for body in bodies(op):
                for inner, outer in zip(body.outputs, op.outputs, strict=True):
                    _tf.copy_handle_data(*((outer, inner) if told else (inner, outer)))
