"""What TensorFlow's vectoriser converts wrongly: rows in blocks of any size, against central differences."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad._control_flow import v2_control_flow
from symgrad.testing import numeric_jacobian

pytestmark = pytest.mark.core

INDICES, SEGMENTS = [0, 3, 3], [0, 0, 2]


def gathered(x):
    with v2_control_flow():
        array = tf.TensorArray(tf.float64, 4, element_shape=[2], clear_after_read=False).scatter([2, 0, 1, 3], x * x)
        return array.gather([1, 1, 2]) * 2.0


def convolved(x):
    image = tf.constant(np.random.default_rng(0).standard_normal((2, 4, 5, 1)))
    return tf.nn.conv2d(image, tf.reshape(x, [2, 2, 1, 2]), 1, [[0, 0], [1, 0], [2, 1], [0, 0]])


FUNCTIONS = {
    "an empty segment of a sum": lambda x: tf.sparse.segment_sum(x, INDICES, SEGMENTS, num_segments=5),
    "an empty segment of a mean": lambda x: tf.sparse.segment_mean(x, INDICES, SEGMENTS, num_segments=5),
    "an empty segment of a root": lambda x: tf.sparse.segment_sqrt_n(x, INDICES, SEGMENTS, num_segments=5),
    "some elements of a list": gathered,
    "explicit paddings": convolved,
}


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_are_right_in_blocks_of_any_size(run, rng, name, size):
    x = tf.constant(rng.standard_normal((4, 2)))
    y = FUNCTIONS[name](x)
    found = run(symgrad.jacobian(y, x, mode="rows", block_size=size))
    # Differences of functions that are linear or square are exact up to rounding over a step of 1e-5.
    np.testing.assert_allclose(found, numeric_jacobian(y, x, session=run.session), atol=1e-8)
