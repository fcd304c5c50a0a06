"""`gradients` against `tf.gradients`: the same for every argument, and more where TensorFlow stops."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES

import symgrad

pytestmark = pytest.mark.core


# What tf.gradients cannot: V1 TensorArrays while V2 control flow is on, sums of sparse matrices.
BEYOND_TENSORFLOW = {"scan_v1", "square_of_a_sparse_matrix"}


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in BEYOND_TENSORFLOW], ids=lambda c: c.name)
def test_equals_tf_gradients(case, run):
    ys, xs = case(np.random.default_rng(0))
    ys, xs = tf.nest.flatten(ys), tf.nest.flatten(xs)
    seeds = [tf.ones_like(y) for y in ys]  # for complex ys tf.gradients wants them
    ours, theirs = symgrad.gradients(ys, xs, seeds), tf.gradients(ys, xs, seeds)
    assert [type(a) for a in ours] == [type(b) for b in theirs]
    for a, b in zip(*run([ours, theirs]), strict=True):
        for p, q in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-12, atol=1e-14)  # float64, the same ops in possibly another order


def test_indexed_slices_none_and_zeros_are_kept(run):
    table = tf.get_variable("t", initializer=np.ones((4, 2)), use_resource=True)
    y = tf.gather(table, [1, 1, 3])
    slices, none = symgrad.gradients(y, [table, tf.constant(1.0)])
    assert isinstance(slices, tf.IndexedSlices)
    assert none is None
    np.testing.assert_array_equal(run(slices.indices), [1, 1, 3])
    zero = symgrad.gradients(y, tf.constant([1.0, 2.0]), unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    np.testing.assert_array_equal(run(zero), [0.0, 0.0])


def test_other_arguments_reach_tf_gradients(run):
    x = tf.constant([1.0, 2.0])
    y, z = x * x, tf.exp(x)
    seeded = symgrad.gradients([y, z], x, grad_ys=[tf.constant([1.0, 10.0]), None], stop_gradients=[z], name="back")[0]
    assert seeded.op.name.startswith("back")
    np.testing.assert_array_equal(run(seeded), [2.0, 40.0])
    with tf.device("/cpu:0"):
        w = tf.sin(x)
    colocated = symgrad.gradients(w, x, colocate_gradients_with_ops=True, gate_gradients=True)[0]
    assert colocated.op.colocation_groups() == w.op.colocation_groups()


def test_none_where_tensorflow_answers_none():
    x = tf.constant([1.0, 2.0])
    cut = [tf.stop_gradient(x), tf.cast(tf.argmax(x), tf.float32), tf.round(x), tf.constant(1.0)]
    assert [symgrad.gradients(y, x) for y in cut] == [[None]] * len(cut)


def test_first_order_through_v1_tensor_arrays_under_v2_control_flow(run):
    before = tf.control_flow_v2_enabled()
    case = next(c for c in CASES if c.name == "scan_v1")
    y, x = case(np.random.default_rng(0))
    r = run(x)
    a1, a2 = r[0] * r[1] + r[1], 0  # y = [r0, r0 r1 + r1, y1 r2 + r2]
    want = [1 + r[1] + r[1] * r[2], (r[0] + 1) * (1 + r[2]), a1 + 1 + a2]
    np.testing.assert_allclose(run(symgrad.gradients(y, x)[0]), want, rtol=1e-14)  # float64
    assert tf.control_flow_v2_enabled() == before
