"""Jacobians shared out over the processors of this machine: the numbers of one device, from copies on each."""

import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES, v1_control_flow

import symgrad
from symgrad.errors import ControlFlowError, DeviceError

ROUNDING = 1e-12  # of sums in float64
TWO = ["CPU:1", "/device:CPU:2"]


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        yield session


def collect(y, x, session, **options):
    """The whole of what jacobian_blocks gives in any order, and the slices."""
    whole = np.full((y.shape.num_elements(), *x.shape.as_list()), np.nan)
    slices = []
    for rows, block in symgrad.jacobian_blocks(y, x, session=session, **options):
        whole[rows] = block
        slices.append((rows.start, rows.stop))
    return whole, sorted(slices)


def device_of_ops(session, fetch):
    """Types of ops that a run executes, by the number of the processor."""
    metadata = tf.RunMetadata()
    session.run(fetch, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    types = {op.name: op.type for op in session.graph.get_operations()}
    found = {}
    for device in metadata.step_stats.dev_stats:
        number = re.search(r"CPU:(\d)$", device.device)
        if number:
            names = [n.node_name.split(":")[0] for n in device.node_stats]
            found[int(number[1])] = {types[name] for name in names if name in types}
    return found


@pytest.mark.parametrize(("mode", "size"), [("auto", None), ("rows", 2), ("columns", 1), ("columns", 3)])
def test_each_mode_and_block_size(session, network, mode, size):
    y, x = network
    got = symgrad.jacobian(y, x, mode=mode, block_size=size, devices=TWO)
    assert got.shape == [1, 7, 1, 4]
    want = session.run(symgrad.jacobian(y, x, mode=mode))
    np.testing.assert_allclose(session.run(got), want, rtol=ROUNDING, atol=ROUNDING)


def test_each_device_has_its_own_forward_pass(session, network):
    y, x = network
    found = device_of_ops(session, symgrad.jacobian(y, x, mode="rows", devices=TWO))
    for device in (1, 2):
        assert {"MatMul", "Tanh", "TanhGrad"} <= found[device]
    assert "VarHandleOp" in found[0]  # the variables exist once
    assert not {"Tanh", "TanhGrad", "MatMul"} & found[0]


@pytest.mark.parametrize(("size", "slices"), [(None, [(0, 4), (4, 7)]), (2, [(0, 2), (2, 4), (4, 6), (6, 7)])])
def test_blocks(session, network, size, slices):
    y, x = network
    got, given = collect(y, x, session, block_size=size, devices=TWO)
    assert given == slices  # one block that would hold all is split
    want = session.run(symgrad.jacobian(y, x))[0]
    np.testing.assert_allclose(got, want, rtol=ROUNDING, atol=ROUNDING)


def test_more_devices_than_rows(session):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = tf.reduce_sum(x**2)[tf.newaxis]
    np.testing.assert_array_equal(session.run(symgrad.jacobian(y, x, mode="rows", devices=TWO)), [[2, 4, 6]])
    np.testing.assert_array_equal(collect(y, x, session, devices=TWO)[0], [[2, 4, 6]])


def test_through_a_waist_to_several_xs(session, rng):
    a, b = tf.constant(rng.standard_normal((1, 30))), tf.constant(rng.standard_normal((1, 20)))
    h = tf.sin(tf.concat([a, b], 1) @ tf.constant(rng.standard_normal((50, 4))))
    y = tf.exp(h) @ tf.constant(rng.standard_normal((4, 41)))
    want = session.run(symgrad.jacobian([y, a], [a, b]))
    got = session.run(symgrad.jacobian([y, a], [a, b], devices=TWO))
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=ROUNDING)
    blocks, _ = collect(y, a, session, block_size=10, devices=TWO)
    np.testing.assert_allclose(blocks, want[0][0][0], rtol=ROUNDING, atol=ROUNDING)


KINDS = {"complex_fft", "cond_v1", "embedding_of_a_variable", "while_loop_v2_by_data"}


@pytest.mark.parametrize("case", [c for c in CASES if c.name in KINDS], ids=lambda c: c.name)
def test_each_kind_of_graph(session, rng, case):
    ys, xs = case(rng)
    session.run(tf.global_variables_initializer())
    want, got = session.run([symgrad.jacobian(ys, xs), symgrad.jacobian(ys, xs, devices=TWO)])
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10), got, want)
    y, x = tf.nest.flatten(ys)[0], tf.nest.flatten(xs)[0]
    want = tf.nest.flatten(want)[0].reshape(-1, *x.shape)
    for rows, block in symgrad.jacobian_blocks(y, x, session=session, block_size=2, devices=TWO):
        np.testing.assert_allclose(block, want[rows], rtol=1e-10, atol=1e-10)


def test_sizes_that_are_not_known(session, rng):
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 2)), use_resource=True)
    y = tf.tanh(x @ w)
    session.run(w.initializer)
    feeds = {x: rng.standard_normal((5, 3))}
    shared, local = symgrad.jacobian(y, w, devices=TWO), symgrad.jacobian(y, w)
    got, want = session.run([shared, local], feeds)
    np.testing.assert_allclose(got, want, rtol=ROUNDING, atol=ROUNDING)
    blocks = dict.fromkeys(range(10))
    for rows, block in symgrad.jacobian_blocks(y, w, session=session, feed_dict=feeds, block_size=3, devices=TWO):
        blocks.update(zip(range(10)[rows], block, strict=True))
    np.testing.assert_allclose([blocks[i] for i in range(10)], want.reshape(10, 3, 2), rtol=ROUNDING, atol=ROUNDING)


def test_random_numbers_are_drawn_and_python_is_called_once_for_all(session):
    x = tf.ones([40], tf.float64)
    calls = []
    counted = tf.py_func(lambda: calls.append(1) or np.float64(2), [], tf.float64)
    counted.set_shape([])
    mask = tf.cast(tf.random.uniform([40]) > 0.5, tf.float64)
    y = tf.reduce_sum(x * mask) * x * counted
    blocks, slices = collect(y, x, session, block_size=7, devices=TWO)
    assert len(slices) == 6
    assert len(calls) == 1
    whole = session.run(symgrad.jacobian(y, x, devices=TWO))
    for found in (blocks, whole):
        off = found - np.diag(np.diag(found))  # dy_i/dx_j = 2 mask_j + (i == j) 2 sum(mask)
        masks = np.where(np.eye(40, dtype=bool), np.nan, off)
        assert np.nanmax(np.nanmax(masks, 0) - np.nanmin(masks, 0)) == 0
        assert 0 < np.nanmean(masks) < 2


def test_variables_may_change_between_blocks(session):
    x = tf.get_variable("x", initializer=np.arange(1.0, 7.0), use_resource=True)
    y = x**2
    session.run(x.initializer)
    blocks = symgrad.jacobian_blocks(y, x, session=session, block_size=1, devices=TWO)
    session.run(x.assign(np.zeros(6)))
    found = {rows.start: block[0] for rows, block in blocks}
    np.testing.assert_array_equal([found[i] for i in range(6)], np.diag(2 * np.arange(1.0, 7.0)))


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_nothing_stays_on_the_devices(session, network, taken):
    y, x = network
    blocks = symgrad.jacobian_blocks(y, x, session=session, block_size=1, devices=TWO)
    kept = [op for op in session.graph.get_operations() if op.type == "VarHandleOp" and "symgrad_" in str(op.node_def)]
    there = []
    for op in kept:
        with tf.device(op.device):
            there.append(tf.raw_ops.VarIsInitializedOp(resource=op.outputs[0]))
    assert there
    assert all(session.run(there))
    for _ in range(taken):
        next(blocks)
    blocks.close()
    assert not any(session.run(there))


def test_it_can_be_differentiated_again(session):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    square = symgrad.jacobian(tf.sin(x) * x[::-1], x, mode="rows", devices=TWO)
    other = symgrad.jacobian(tf.sin(x) * x[::-1], x, mode="rows")
    got, want = session.run([symgrad.gradients(tf.reduce_sum(j**2), x) for j in (square, other)])
    np.testing.assert_allclose(got, want, rtol=ROUNDING)


def test_x_may_be_fed(session):
    x = tf.identity([1.0, 2.0])
    fed = {x: [3.0, 4.0]}
    want = np.diag([6.0, 8.0])
    np.testing.assert_array_equal(session.run(symgrad.jacobian(x**2, x, devices=TWO), fed), want)
    for rows, block in symgrad.jacobian_blocks(x**2, x, session=session, feed_dict=fed, devices=TWO):
        np.testing.assert_array_equal(block, want[rows])


def test_control_dependencies_around_the_call_are_kept(session):
    x = tf.constant([1.0, 2.0], tf.float64)
    y = tf.sin(x)
    counter = tf.get_variable("n", initializer=0.0, use_resource=True)
    session.run(counter.initializer)
    with tf.control_dependencies([counter.assign_add(1.0)]):
        J = symgrad.jacobian(y, x, devices=TWO)
    session.run(J)
    assert session.run(counter) == 1.0


@pytest.mark.parametrize("devices", ["CPU:0", [], ["no device"], [""], [None], 3])
def test_what_is_no_list_of_devices(session, devices):
    x = tf.constant([1.0, 2.0])
    with pytest.raises(DeviceError, match="devices"):
        symgrad.jacobian(x * x, x, devices=devices)
    with pytest.raises(DeviceError, match="devices"):
        symgrad.jacobian_blocks(x * x, x, session=session, devices=devices)


def test_a_device_that_is_not_there(session):
    x = tf.constant([1.0, 2.0])
    with pytest.raises(DeviceError, match=r"no device /device:CPU:7; it has .*CPU:0"):
        symgrad.jacobian_blocks(x * x, x, session=session, devices=["CPU:1", "CPU:7"])


def test_what_cannot_be_copied(session):
    x = tf.constant([1.0, 2.0])
    with v1_control_flow():
        loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v)), [0, x])[1]
    with pytest.raises(ControlFlowError, match="cannot be copied"):
        symgrad.jacobian(loop, x, devices=TWO)

    def inside(v):
        with pytest.raises(ControlFlowError, match=r"inside of a tf\.function"):
            symgrad.jacobian(v * v, v, devices=TWO)
        return v

    tf.function(inside, autograph=False)(x)
