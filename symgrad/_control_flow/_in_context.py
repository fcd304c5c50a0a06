"""Building ops inside a control flow context that exists, and in that of V1."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf


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


def frame_of(context: Any) -> Any:
    """The innermost V1 loop or branch of a context; what XLA is to compile is a context as well, and none of these."""
    while context is not None and not (context.IsWhileContext() or context.IsCondContext()):
        context = context.outer_context
    return context


_SWITCH = threading.RLock()


def v1_control_flow() -> contextlib.AbstractContextManager[None]:
    """Loops and branches built in the block are those of V1."""
    return _switched(False)


def v2_control_flow() -> contextlib.AbstractContextManager[None]:
    """Loops and branches built in the block are those of V2."""
    return _switched(True)


@contextlib.contextmanager
def _switched(to_v2: bool) -> Iterator[None]:
    """TensorFlow's switch is one for the process: two threads that put it back would leave it as neither found it."""
    with _SWITCH:
        before = _tf.is_switched_to_v2()
        _switch(to_v2)
        try:
            yield
        finally:
            _switch(before)


def _switch(to_v2: bool) -> None:
    if to_v2 and not _tf.is_switched_to_v2():
        tf.enable_control_flow_v2()
    elif not to_v2 and _tf.is_switched_to_v2():
        tf.disable_control_flow_v2()
