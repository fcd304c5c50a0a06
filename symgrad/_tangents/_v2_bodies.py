"""Tangents inside of function bodies: those of V2 loops and branches."""

from collections.abc import Callable, Sequence

import tensorflow.compat.v1 as tf

from .. import _tf, rules
from .._control_flow import graft
from ._algebra import Algebra
from ._push import pushed

Signature = Sequence[tuple[tf.Tensor, tf.TensorShape]]


def function(name: str, signature: Signature, outputs: Callable[[list[tf.Tensor]], list[tf.Tensor]]) -> tf.Graph:
    """A function body with inputs like the tensors of a signature, of these shapes; what it captures comes last."""
    graph = _tf.FuncGraph(f"{name}_{_tf.uid()}")
    with graph.as_default():
        for tensor, shape in signature:
            placeholder = tf.placeholder(tensor.dtype, shape)
            _tf.copy_handle_data(tensor, placeholder)
            graph.inputs.append(placeholder)
        inputs = list(graph.inputs)
        graph.structured_outputs = outputs(inputs)
    graph.outputs.extend(graph.structured_outputs)
    graph.inputs[:] = inputs + graph.internal_captures
    return graph


def tangents_within(
    body: tf.Graph,
    values: Sequence[tf.Tensor],
    given: dict[int, dict[int, tf.Tensor]],
    wanted: Sequence[int],
    algebra: Algebra,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """What copies of the ops of a body make of `values`, and the tangents of its `wanted` outputs, zeros included.

    Args:
      body: the Python graph of a function.
      values: for its inputs; those that move are tensors of the graph that is built in.
      given: the coefficients of its inputs by their numbers, of each by the terms.
      wanted: numbers of outputs.
      algebra: the terms; of each output all of them come one after the other.
    """
    copies: list[tf.Operation] = []
    after = graft(body, values, copies)
    ys, xs = [after[i] for i in wanted], [values[i] for i in given]
    series = pushed(rules.between(ys, xs, within=copies), ys, xs, list(given.values()), algebra)
    tangents = [(driver, y, driver.of(y)) for y in ys for driver in series.pushes]
    return after, [driver.zeros(y) if t is None else t for driver, y, t in tangents]
