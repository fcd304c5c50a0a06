"""Running averages of the variables equal their formulas, and can take the variables' place."""

import contextlib

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD, ema, swa

MODES = ["eager", "function", "resource", "reference"]


def trained(mode, average, steps):
    """x and its average after each step of SGD on 3 x^2, beginning with the first values."""
    optimizer = SGD(0.1, transforms=[average])
    if mode in ("eager", "function"):
        x = tf.compat.v2.Variable(1.0)
        step = lambda: optimizer.minimize(lambda: 3.0 * x * x, [x])  # noqa: E731
        step = tf.function(step) if mode == "function" else step
        places = [(1.0, 1.0)]
        for _ in range(steps):
            step()
            places.append((x.numpy(), average.average(x).numpy()))
        return np.array(places).T
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(1.0, use_resource=mode == "resource")
        step = optimizer.minimize(3.0 * x * x)
        session.run(tf.global_variables_initializer())
        places = [session.run([x, average.average(x)])]
        for _ in range(steps):
            session.run(step)
            places.append(session.run([x, average.average(x)]))
        return np.array(places).T


@pytest.mark.parametrize("mode", MODES)
def test_exponential_average(mode):
    x, average = trained(mode, ema(0.75), 5)
    want = [1.0]
    for value in x[1:]:
        want.append(0.75 * want[-1] + 0.25 * value)
    np.testing.assert_allclose(average, want, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_mean_of_the_last_part(mode):
    """From step 3 on every second result counts."""
    x, average = trained(mode, swa(start=3, every=2), 8)
    want = [*x[:4], x[3], x[[3, 5]].mean(), x[[3, 5]].mean(), x[[3, 5, 7]].mean(), x[[3, 5, 7]].mean()]
    np.testing.assert_allclose(average, want, rtol=1e-6)


def test_tensorflows_averages_restore(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable([1.0, 2.0], name="x")
        theirs = tf.train.ExponentialMovingAverage(0.5)
        update = theirs.apply([x])
        session.run(tf.global_variables_initializer())
        session.run([tf.assign(x, [3.0, 4.0]), update])
        session.run(update)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        want = session.run(theirs.average(x))
    with tf.Graph().as_default(), tf.Session() as session:
        x, average = tf.Variable([0.0, 0.0], name="x"), ema(0.5)
        SGD(transforms=[average]).minimize(x * x)
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(average.average(x)), want)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_variables_hold_the_averages_for_a_while(use_resource, graph, session):
    x, average = tf.Variable([1.0, 2.0], use_resource=use_resource), ema(0.5)
    step = SGD(0.1, transforms=[average]).minimize(3.0 * x * x)
    session.run(tf.global_variables_initializer())
    session.run(step)
    before, averaged = session.run([x, average.average(x)])
    graph.finalize()
    with contextlib.suppress(KeyError), average.applied(session):
        np.testing.assert_array_equal(session.run(x), averaged)
        raise KeyError
    np.testing.assert_array_equal(session.run(x), before)
    np.testing.assert_array_equal(session.run(average.average(x)), averaged)


def test_variables_hold_the_averages_in_eager_code():
    x, average = tf.compat.v2.Variable(1.0), ema(0.5)
    with pytest.raises(OptimizerError, match="no average yet"):
        average.swap()
    SGD(0.1, transforms=[average]).minimize(lambda: 3.0 * x * x, [x])
    with average.applied():
        assert x.numpy() == pytest.approx(0.7)
    assert x.numpy() == pytest.approx(0.4)
