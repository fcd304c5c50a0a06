"""Two replicas with half of the batch each end where one device with the whole batch does."""

import json
import pathlib
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD
from tests.optimizers.replicas import CASES


@pytest.fixture(scope="module")
def apart():
    """How far apart they end, for each optimizer, mode and reduction with the loss that belongs to it."""
    root = pathlib.Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "tests.optimizers.replicas"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", [f"{n} {mode} {reduction}" for n in CASES for mode, reduction in CASES[n]])
def test_two_replicas_equal_one_device(apart, case):
    # float32: sums over halves of a batch are rounded in another order.
    assert apart[case] < 1e-6


@pytest.mark.parametrize("way", ["onto two", "onto one"])
def test_a_checkpoint_goes_on_with_another_number_of_replicas(apart, way):
    assert apart[f"restored {way}"] < 1e-6


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_a_layer_in_a_loop_written_by_hand(apart, library):
    assert apart[f"model of {library}"] < 1e-6


def test_outside_the_replicas_the_error_says_where_it_belongs():
    strategy = tf.compat.v2.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        x = tf.compat.v2.Variable(1.0)
        with pytest.raises(OptimizerError, match=r"inside the function that strategy\.run runs"):
            SGD(0.1).apply_gradients([(tf.constant(1.0), x)])
