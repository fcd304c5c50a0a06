"""check_environment tells the truth about the layers of Keras 2, and names replacements that exist."""

import functools
import re
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.diagnose import REPLACEMENTS, check_environment

LAYERS = "tf.layers and tf.nn.rnn_cell"


def layers_work():
    try:
        with tf.Graph().as_default():
            tf.layers.dense(tf.placeholder(tf.float32, [1, 2]), 3)
    except AttributeError:
        return False
    return True


@pytest.mark.core
def test_legacy_layers_are_said_to_work_where_they_do():
    found = {check.name: check for check in check_environment()}
    assert found[LAYERS].ok == layers_work()
    assert found[LAYERS].ok or "TF_USE_LEGACY_KERAS=1" in found[LAYERS].advice
    assert found["TensorFlow"].found == tf.__version__
    assert found["TensorFlow"].ok


def test_legacy_layers_work_once_asked_for():
    pytest.importorskip("tf_keras")
    code = (
        "from symgrad.diagnose import check_environment\n"
        f"print([check.ok for check in check_environment() if check.name == {LAYERS!r}])"
    )
    environment = {
        "TF_USE_LEGACY_KERAS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PATH": "",
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "[True]\n"


@pytest.mark.parametrize("gone", REPLACEMENTS)
def test_a_replacement_of_ours_exists(gone):
    for name in re.findall(r"symgrad\.([\w.]+\w)", REPLACEMENTS[gone]):
        assert callable(functools.reduce(getattr, name.split("."), symgrad))
