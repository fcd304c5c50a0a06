"""Mending what `tf.gradients` gets wrong in the loops that it builds."""

import tensorflow.compat.v1 as tf

from ._in_context import inside


def mend_zero_gradients(graph: tf.Graph, first: int) -> None:
    """Give the zeros that go round a backward loop the dtype of the gradient.

    Where a loop variable does not depend on its own last value and its shape is not known, `tf.gradients` sends float32
    zeros round, whatever the dtype is, and no session accepts the graph (`PostProcessing` in TensorFlow's
    control_flow_state.py, 2.15 to 2.21).

    Args:
      graph: where gradients were built.
      first: how many ops it had before.
    """
    for op in graph.get_operations()[first:]:
        if op.type == "Merge" and op.inputs[1].dtype.base_dtype != op.inputs[0].dtype.base_dtype:
            with inside(graph, op._get_control_flow_context()):
                zeros = tf.cast(op.inputs[1].op.inputs[0], op.inputs[0].dtype.base_dtype)
                op._update_input(1, tf.raw_ops.NextIteration(data=zeros))
