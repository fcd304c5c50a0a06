"""Rows that start behind a linear last layer are the rows of the whole backward pass, by fewer products."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import rules
from symgrad._jacobians._linear_end import WIDE, linear_end

ROUNDING = 1e-13  # of sums of a dozen terms in float64


def layers(rng, batch, transposed, dtype=tf.float64):
    """x [batch, 2] -> h [batch, 3] -> y of WIDE elements."""
    wide = WIDE // batch
    x = tf.constant(rng.standard_normal((batch, 2)), dtype)
    w = rng.standard_normal((3, wide)) + (1j * rng.standard_normal((3, wide)) if dtype.is_complex else 0)
    w = tf.constant(w.T if transposed else w, dtype)
    h = tf.tanh(x @ tf.constant(rng.standard_normal((2, 3)), dtype))
    y = tf.nn.bias_add(tf.matmul(h, w, transpose_b=transposed), tf.ones([wide], dtype))
    return tf.reshape(1 + y, [-1]) - 3, x, h, w


@pytest.mark.parametrize("dtype", [tf.float64, tf.complex128])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_it_gives_the_same_rows(session, rng, batch, transposed, dtype):
    y, x, h, _ = layers(rng, batch, transposed, dtype)
    assert linear_end(rules.between([y], [x]), y).start is h
    want = session.run(symgrad.jacobian(y, x, mode="columns", block_size=1))
    for size in (1, 200, None):
        got = session.run(symgrad.jacobian(y, x, mode="rows", block_size=size))
        np.testing.assert_allclose(got, want, rtol=ROUNDING, atol=ROUNDING)


def test_what_is_no_linear_end(rng):
    y, x, h, w = layers(rng, 1, False)

    def end(y, *xs):
        return linear_end(rules.between([y], list(xs)), y)

    assert end(y, x) is not None
    assert end(y, x, w) is None  # the weights move too
    assert end(y, y) is None  # y is x
    assert end(tf.sin(y), x) is None
    assert end(5 - y, x) is None
    assert end(y + tf.reduce_sum(h), x) is None  # two paths
    assert end(y[: WIDE - 1], x) is None  # not wide enough
    assert end(tf.constant(0.5, tf.float64) * y, x) is None
