"""Jacobians in blocks of rows, one run each, against the whole Jacobian and against central differences."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from loops import LOOPS
from worlds import control_flow

import symgrad
from symgrad.errors import ControlFlowError, DisconnectedError, ShapeError
from symgrad.testing import numeric_jacobian

ROUNDING = 1e-12  # of sums in float64
DIFFERENCES = 1e-6  # what central differences of step 6e-6 leave of smooth functions


def collect(y, x, session, **options):
    rows, blocks = zip(*symgrad.jacobian_blocks(y, x, session=session, **options), strict=True)
    assert [r.start for r in rows] == [0, *(r.stop for r in rows[:-1])]
    assert [len(b) for b in blocks] == [r.stop - r.start for r in rows]
    return np.concatenate(blocks), len(blocks)


@pytest.mark.parametrize(("size", "runs"), [(1, 7), (3, 3), (7, 1), (100, 1), (None, 1)])
def test_the_blocks_are_the_jacobian(session, network, size, runs):
    y, x = network
    got, count = collect(y, x, session, block_size=size)
    assert count == runs
    np.testing.assert_allclose(got, session.run(symgrad.jacobian(y, x))[0], rtol=ROUNDING, atol=ROUNDING)


def test_by_a_variable_with_a_fed_input_of_unknown_size(session, rng):
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 2)), use_resource=True)
    y = tf.tanh(x @ w)
    session.run(w.initializer)
    feeds = {x: rng.standard_normal((5, 3))}
    want = numeric_jacobian(y, w, session=session, feed_dict=feeds).reshape(10, 3, 2)
    with symgrad.operators.limits(block_bytes=1500):
        got, count = collect(y, w, session, feed_dict=feeds)
    assert count > 1
    np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES)


def test_through_a_waist_and_a_linear_end(session, rng):
    x = tf.constant(rng.standard_normal((1, 30)))
    h = tf.sin(x @ tf.constant(rng.standard_normal((30, 4))), name="narrow")
    y = tf.exp(h) @ tf.constant(rng.standard_normal((4, 600)))
    got, _ = collect(y, x, session, block_size=250)
    np.testing.assert_allclose(
        got, session.run(symgrad.jacobian(y, x, mode="columns"))[0], rtol=ROUNDING, atol=ROUNDING
    )


def test_the_budget_counts_the_rows_behind_a_waist(session, rng):
    x = tf.constant(rng.standard_normal((1, 900)))
    y = tf.sin(x @ tf.constant(rng.standard_normal((900, 2)))) @ tf.constant(rng.standard_normal((2, 600)))
    with symgrad.operators.limits(block_bytes=900 * 8 * 100):
        _, count = collect(y, x, session)
    assert count > 6  # a hundred rows of the result fit, not all 600


def test_the_forward_pass_runs_once_and_all_blocks_share_a_dropout_mask(session):
    x = tf.ones([40], tf.float64)
    calls = []
    counted = tf.py_func(lambda: calls.append(1) or np.float64(2), [], tf.float64)
    mask = tf.identity(tf.cast(tf.random.uniform([40]) > 0.5, tf.float64))
    counted.set_shape([])
    y = tf.reduce_sum(x * mask) * x * counted
    got, count = collect(y, x, session, block_size=7)
    assert count == 6
    assert len(calls) == 1
    # dy_i/dx_j = 2 mask_j + (i == j) 2 sum(mask): every row tells the same mask
    off = got - np.diag(np.diag(got))
    assert set(np.unique(np.round(off, 9))) == {0.0, 2.0}
    masks = np.where(np.eye(40, dtype=bool), np.nan, off)
    assert np.nanmax(np.nanmax(masks, 0) - np.nanmin(masks, 0)) == 0


def test_what_does_not_vectorise_goes_through(session, rng):
    x = tf.constant(rng.permutation(6) * 1.0)
    y = tf.nn.top_k(x, 4).values ** 2
    got, _ = collect(y, x, session)
    np.testing.assert_allclose(got, session.run(symgrad.jacobian(y, x)), rtol=ROUNDING)


def test_through_v1_branches_and_v2_loops(session):
    x = tf.constant([1.0, 2.0], tf.float64)
    with control_flow(v2=False):
        branch = tf.cond(x[0] > 0, lambda: tf.sin(x) * x, lambda: tf.exp(x))
    with control_flow(v2=True):
        loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1]
    for y in (branch, loop):
        want = numeric_jacobian(y, x, session=session)
        for size in (1, None):
            got, _ = collect(y, x, session, block_size=size)
            np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES)


@pytest.mark.parametrize(
    "row", [r for r in LOOPS if r.name in ("nested", "cond_in_loop", "lstm")], ids=lambda r: r.name
)
def test_through_v1_loops(row):
    with row.build().as_default() as graph, tf.Session() as session:
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        feeds = {x: row.point}
        want = numeric_jacobian(y, x, session=session, feed_dict=feeds).reshape(-1, *row.point.shape)
        for size in (2, None):
            got, count = collect(y, x, session, feed_dict=feeds, block_size=size)
            assert count == (1 if size is None else -(-len(want) // size))
            np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES)


def test_more_rows_in_a_run_through_v1_loops_than_are_built_one_by_one():
    row = next(r for r in LOOPS if r.name == "nested")  # whose rows do not vectorise
    with row.build().as_default() as graph, tf.Session() as session:
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        y = tf.concat([y, y**2, y**3, y**4], 0)
        want = numeric_jacobian(y, x, session=session, feed_dict={x: row.point})
        got, count = collect(y, x, session, feed_dict={x: row.point}, block_size=10)
        assert count == 2
        np.testing.assert_allclose(got, want, rtol=DIFFERENCES, atol=DIFFERENCES)


def test_random_numbers_that_every_run_would_draw_again_are_refused(session):
    x = tf.constant([1.0, 2.0], tf.float64)
    with control_flow(v2=False):
        y = tf.cond(x[0] > 0, lambda: x * tf.random.uniform([2], dtype=tf.float64), lambda: x)
    with pytest.raises(ControlFlowError, match=r"RandomUniform.*for each block"):
        symgrad.jacobian_blocks(y, x, session=session)


def test_arguments_are_checked_before_the_first_block(session):
    x = tf.constant([1.0, 2.0])
    with pytest.raises(DisconnectedError):
        symgrad.jacobian_blocks(x * 2, tf.ones([3]), session=session)
    with pytest.raises(ShapeError, match="one y and one x"):
        symgrad.jacobian_blocks([x, x], x, session=session)
    with pytest.raises(ShapeError, match="block_size"):
        symgrad.jacobian_blocks(x * 2, x, session=session, block_size=0)


def test_an_empty_y(session):
    x = tf.placeholder_with_default(np.zeros((0, 2)), [None, 2])
    assert list(symgrad.jacobian_blocks(tf.sin(x), x, session=session)) == []
