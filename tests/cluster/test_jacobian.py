"""Jacobians over the workers of a cluster, and over workers that die."""

import concurrent.futures
import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import DeviceError

ROUNDING = 1e-12  # of sums in float64


@pytest.fixture
def wide():
    """y of 2,000 elements and x of 400, with weights on the parameter server, in a graph of its own."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        x = tf.constant(rng.standard_normal((1, 400)), name="x")
        y = x
        for i, shape in enumerate([(400, 300), (300, 2000)]):
            with tf.device("/job:ps/task:0"):
                w = tf.get_variable(f"w{i}", initializer=rng.standard_normal(shape) / 20, use_resource=True)
            y = tf.tanh(y @ w)
        yield y, x


@pytest.fixture
def session(connected, wide):
    session = connected(wide[0].graph)
    session.run(tf.global_variables_initializer())
    return session


@pytest.fixture
def expected(session, wide):
    """dy/dx by the formula."""
    first, second = session.run(tf.global_variables())
    h, y = session.run([wide[0].op.inputs[0].op.inputs[0], wide[0]])
    inner = (1 - h.reshape(-1, 1) ** 2) * first.T
    return (1 - y.reshape(-1, 1) ** 2) * (second.T @ inner)


def tasks_of(session, fetch, op_type):
    """The tasks on which a run executes ops of a type, and its result."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    result = session.run(fetch, options=options, run_metadata=metadata)
    types = {op.name: op.type for op in session.graph.get_operations()}
    return result, {
        re.search(r"/job:\w+|$", device.device)[0] + re.search(r"/task:\d+|$", device.device)[0]
        for device in metadata.step_stats.dev_stats
        if any(types.get(n.node_name.split(":")[0]) == op_type for n in device.node_stats)
    }


def test_rows_and_columns_are_shared_within_one_block(fresh, session, wide, expected):
    y, x = wide
    for mode in ("rows", "columns"):
        whole = symgrad.jacobian(y, x, mode=mode, block_size=2000, devices=fresh.devices())
        result, tasks = tasks_of(session, whole, "TanhGrad")
        np.testing.assert_allclose(result.reshape(2000, 400), expected, rtol=1e-10, atol=ROUNDING)
        assert tasks == {"/job:worker/task:0", "/job:worker/task:1"}


def test_blocks_from_two_workers(fresh, session, wide, expected):
    y, x = wide
    found, slices = np.full((2000, 400), np.nan), []
    blocks = symgrad.jacobian_blocks(y, x, session=session, block_size=400, devices=fresh.devices())
    for rows, block in blocks:
        found[rows] = block.reshape(-1, 400)
        slices.append((rows.start, rows.stop))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=ROUNDING)
    assert sorted(slices) == [(i, i + 400) for i in range(0, 2000, 400)]
    (one, other) = symgrad.jacobian_blocks(y, x, session=session, block_size=2000, devices=fresh.devices())
    assert {one[0].start, other[0].start} == {0, 1000}


def test_a_task_that_does_not_exist(fresh, session, wide):
    y, x = wide
    with pytest.raises(DeviceError, match=r"no device /job:worker/task:5; it has /job:"):
        symgrad.jacobian_blocks(y, x, session=session, devices=["/job:worker/task:1", "/job:worker/task:5"])


def within_ten_seconds(function):
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return pool.submit(function).result(timeout=10)
    finally:
        pool.shutdown(wait=False)


@pytest.mark.parametrize("back", [False, True], ids=["for good", "and comes back"])
def test_a_worker_that_dies_in_the_middle_is_named(fresh, session, wide, back):
    y, x = wide
    blocks = symgrad.jacobian_blocks(y, x, session=session, block_size=20, devices=fresh.devices())
    next(blocks)
    fresh.kill("worker", 1)
    if back:
        fresh.restart("worker", 1)
    with pytest.raises(DeviceError, match=r"^/job:worker/task:1 stopped while rows \d+ to \d+ were computed"):
        within_ten_seconds(lambda: list(blocks))


def test_a_worker_that_is_dead_before(fresh, session, wide):
    y, x = wide
    fresh.kill("worker", 1)
    with pytest.raises(DeviceError, match=r"^/job:worker/task:1 stopped while the forward pass ran"):
        within_ten_seconds(lambda: symgrad.jacobian_blocks(y, x, session=session, devices=fresh.devices()))


def test_the_master_that_dies_is_named(fresh, session, wide):
    y, x = wide
    blocks = symgrad.jacobian_blocks(y, x, session=session, block_size=20, devices=fresh.devices())
    next(blocks)
    fresh.kill("worker", 0)
    with pytest.raises(DeviceError, match=f"{fresh.target('worker', 0)}, the master of the session"):
        within_ten_seconds(lambda: list(blocks))
