"""Control flow of either kind, whatever is on for the process."""

import contextlib

import pytest
import tensorflow.compat.v1 as tf


@pytest.fixture
def control_flow_v2():
    """A context in which tf.cond and tf.while_loop build V2 ops, or V1 frames."""

    @contextlib.contextmanager
    def switched(on):
        was = tf.control_flow_v2_enabled()
        (tf.enable_control_flow_v2 if on else tf.disable_control_flow_v2)()
        try:
            yield
        finally:
            (tf.enable_control_flow_v2 if was else tf.disable_control_flow_v2)()

    return switched
