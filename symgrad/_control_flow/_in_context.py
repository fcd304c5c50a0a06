"""Building ops inside a control flow context that exists."""

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf


@contextlib.contextmanager
def inside(graph: tf.Graph, context: Any) -> Iterator[None]:
    """Ops made in the block belong to `context` (None: to no loop or branch) and wait for nothing outside of it."""
    with graph.as_default(), tf.control_dependencies(None):  # this also leaves the context around the call
        outer = graph._get_control_flow_context()
        graph._set_control_flow_context(context)
        try:
            yield
        finally:
            graph._set_control_flow_context(outer)


@contextlib.contextmanager
def in_place_of(op: tf.Operation, context: Any) -> Iterator[None]:
    """Ops made in the block stand for `op` in `context`; where that is its own, they wait for what `op` waits for."""
    with inside(op.graph, context):
        waits = op.control_inputs if context is op._get_control_flow_context() else []
        with tf.control_dependencies(list(waits)):
            yield
