"""Steps that are put together, left out or scaled: in graphs of both kinds of variables, functions and eager code."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.optimizers import SGD, Adam, accumulate, clip_by_global_norm, loss_scale, skip_nonfinite

MODES = ["eager", "function", "resource", "reference"]


def run_steps(mode, optimizer, factors):
    """x after each step on factor * 3 x^2, and how many steps were counted."""
    loss_of = lambda x, factor: factor * 3.0 * x * x  # noqa: E731
    if mode in ("eager", "function"):
        x = tf.compat.v2.Variable(1.0)
        step = lambda factor: optimizer.minimize(lambda: loss_of(x, factor), [x])  # noqa: E731
        step = tf.function(step) if mode == "function" else step
        places = []
        for factor in factors:
            count = int(step(tf.constant(factor)))
            places.append(x.numpy())
        return places, count
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(1.0, use_resource=mode == "resource")
        factor, global_step = tf.placeholder(tf.float32, []), tf.train.get_or_create_global_step()
        step = optimizer.minimize(loss_of(x, factor), global_step=global_step)
        session.run(tf.global_variables_initializer())
        places = []
        for value in factors:
            session.run(step, {factor: value})
            places.append(session.run(x))
        return places, session.run(global_step)


@pytest.mark.parametrize("mode", MODES)
def test_accumulated_steps_equal_one_with_the_mean(mode):
    places, count = run_steps(mode, Adam(0.1, transforms=[accumulate(3)]), [0.5, 1.0, 3.0, 1.0, 1.0, 1.0, 7.0])
    whole, _ = run_steps(mode, Adam(0.1), [1.5, 1.0])
    # float32: the mean of three gradients against one with the mean factor.
    np.testing.assert_allclose(places, [1.0, 1.0, *[whole[0]] * 3, *[whole[1]] * 2], rtol=1e-6)
    assert count == 2


def test_accumulated_sums(graph):
    places, _ = run_steps("resource", SGD(0.1, transforms=[accumulate(2, "sum")]), [0.5, 0.5])
    np.testing.assert_allclose(places, [1.0, 0.4], rtol=1e-6)


def test_accumulated_sparse_gradients(graph, session):
    table = tf.Variable(tf.ones([3, 2]))
    row = tf.placeholder(tf.int32, [])
    step = SGD(1.0, transforms=[accumulate(2)]).minimize(tf.reduce_sum(tf.gather(table, [row])))
    session.run(tf.global_variables_initializer())
    for value in (0, 2):
        session.run(step, {row: value})
    np.testing.assert_array_equal(session.run(table), [[0.5, 0.5], [1.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize("mode", MODES)
def test_steps_that_are_not_finite_are_left_out_and_counted(mode):
    """Adam ends where it would have without them: slots, powers and counters have not moved."""
    skip = skip_nonfinite()
    chain = [clip_by_global_norm(10.0), skip]
    places, count = run_steps(mode, Adam(0.1, transforms=chain), [1.0, np.nan, 1.0, np.inf, 1.0])
    clean, _ = run_steps(mode, Adam(0.1, transforms=[clip_by_global_norm(10.0)]), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(places, [clean[0], clean[0], clean[1], clean[1], clean[2]])
    assert count == 3
    if mode in ("eager", "function"):
        assert int(skip.skipped) == 2


def test_the_counter_of_left_out_steps_in_a_graph(graph, session):
    x, skip = tf.Variable(1.0), skip_nonfinite()
    step = SGD(0.1, transforms=[skip]).minimize(tf.sqrt(x - 1.0))  # infinite slope
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    assert session.run([skip.skipped, x]) == [3, 1.0]
    assert skip.skipped in tf.global_variables()


@pytest.mark.parametrize("mode", MODES)
def test_a_scaled_loss_gives_the_same_steps(mode):
    places, _ = run_steps(mode, SGD(0.1, transforms=[loss_scale(1024.0)]), [1.0, 1.0])
    plain, _ = run_steps(mode, SGD(0.1), [1.0, 1.0])
    # Powers of two change no digit.
    np.testing.assert_array_equal(places, plain)


def test_the_scale_falls_where_gradients_overflow_and_grows_where_they_do_not(graph, session):
    x, factor = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    scaling = loss_scale(16.0, interval=2)
    step = SGD(0.0, transforms=[scaling]).minimize(factor * x)
    session.run(tf.global_variables_initializer())
    seen = []
    for value in (np.inf, 1.0, 1.0, 1.0, np.nan, 1.0, 1.0):
        session.run(step, {factor: value})
        seen.append(session.run(scaling.scale))
    assert seen == [8.0, 8.0, 16.0, 16.0, 8.0, 8.0, 16.0]


def test_small_gradients_survive_half_precision(graph, session):
    """A gradient of 2^-26 is zero in float16, unless the loss is scaled; it is divided in float32."""
    x = tf.Variable(0.0)
    tiny = tf.constant(2.0**-13, tf.float16)
    loss = tf.cast(tf.cast(x, tf.float16) * tiny * tiny, tf.float32)
    plain, scaled = (SGD(1.0, transforms=chain).compute_gradients(loss)[0][0] for chain in ([], [loss_scale(1024.0)]))
    session.run(tf.global_variables_initializer())
    assert session.run([plain, scaled]) == [0.0, 2.0**-26]
