"""The behaviour of TensorFlow that the tests run in: that of version 2, or what `tf.disable_v2_behavior()` leaves.

Most TF1 code begins with that line: V1 shapes, V1 control flow, reference variables. It holds for the whole process.
"""

import contextlib
import os

import pytest
import tensorflow.compat.v1 as tf

from symgrad import _tf

WORLD = os.environ.get("SYMGRAD_WORLD", "v2")
if WORLD not in ("v1", "v2"):
    raise ValueError(f"SYMGRAD_WORLD={WORLD!r}; wanted 'v1' or 'v2'")
if WORLD == "v1":
    tf.disable_v2_behavior()

eager = pytest.mark.skipif(WORLD == "v1", reason="tf.disable_v2_behavior() ends eager execution")


@contextlib.contextmanager
def control_flow(*, v2: bool):
    """Loops and branches made here are V2 ops, or V1 frames and switches, whatever the behaviour."""
    before = _tf.is_switched_to_v2()  # in a function body TensorFlow's own question says true, however it stands
    (tf.enable_control_flow_v2 if v2 else tf.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf.enable_control_flow_v2 if before else tf.disable_control_flow_v2)()
