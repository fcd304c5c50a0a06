"""Every member of the family equals an independent system: TensorFlow's optimizer of the same formula."""

import functools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.optimizers import peers

# float32: both sides run one kernel on the same numbers, but sums over repeated rows may differ by an ulp that 200
# steps carry on. float64: the same, in double precision.
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}

BY_NAME = {member.name: member for member in peers.MEMBERS}
WITH_PEER = [name for name, member in BY_NAME.items() if member.theirs is not None]
WITH_KERNEL = [name for name, member in BY_NAME.items() if member.ours.kernel is not None]
# Keras's optimizers take no reference variables.
V1 = [name for name in WITH_PEER if not BY_NAME[name].keywords]


@functools.cache
def trained(name, dtype, use_resource=True):
    """Ours, TensorFlow's and our bare formula on copies of one problem, in one graph; the variables after 200 steps."""
    member = BY_NAME[name]
    formula = type("Formula", (member.ours,), {"kernel": None, "default_name": "Formula"})
    makers = {"ours": member.make} | ({"theirs": member.make_peer} if name in WITH_PEER else {})
    if name in WITH_KERNEL and dtype is np.float64:
        makers["formula"] = lambda dtype: formula(**member.tensors(dtype), **member.options)
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.placeholder(tf.int32, [None])
        problems = {who: peers.Problem(dtype, rows, use_resource) for who in makers}
        ops = [make(dtype).apply_gradients(problems[who].grads_and_vars) for who, make in makers.items()]
        session.run(tf.global_variables_initializer())
        step = session.make_callable(ops, feed_list=[rows])
        before = session.run(problems["ours"].losses, {rows: [0, 1, 2, 3]})
        for row in peers.lookups(member.every_row):
            step(row)
        assert np.all(np.array(session.run(problems["ours"].losses, {rows: [0, 1, 2, 3]})) < before)
        return {who: session.run(problem.variables) for who, problem in problems.items()}


def assert_same(ours, theirs, tolerance):
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", WITH_PEER)
def test_two_hundred_steps_equal_tensorflows(name, dtype):
    ends = trained(name, dtype)
    assert_same(ends["ours"], ends["theirs"], TOLERANCE[dtype])


@pytest.mark.parametrize("name", V1)
def test_reference_variables_equal_tensorflows(name):
    ends = trained(name, np.float32, use_resource=False)
    assert_same(ends["ours"], ends["theirs"], TOLERANCE[np.float32])


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_kernel_and_formula_agree(name):
    ends = trained(name, np.float64)
    # The formula rounds in another order; the Rosenbrock problem carries that on for 200 steps.
    assert_same(ends["formula"], ends["ours"], 1e-9)
