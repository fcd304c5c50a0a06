"""Levenberg-Marquardt in the graph: against the same steps in NumPy, and what it refuses."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow, eager

from symgrad.errors import DisconnectedError, DtypeError, OptimizerError, ShapeError
from symgrad.optimizers import LevenbergMarquardt

pytestmark = pytest.mark.core


def in_numpy(residuals, jacobian, x, steps, damping=1e-3):
    """The steps by the textbook (Madsen, Nielsen and Tingleff 2004, algorithm 3.16), and the damping after them."""
    growth = 2.0
    for _ in range(steps):
        r, J = residuals(x), jacobian(x)
        g = J.T @ r
        d = -np.linalg.solve(J.T @ J + damping * np.eye(len(x)), g)
        rho = (r @ r - np.sum(residuals(x + d) ** 2)) / (d @ (damping * d - g))
        if rho > 0:
            x, damping, growth = x + d, damping * max(1 / 3, 1 - (2 * rho - 1) ** 3), 2.0
        else:
            damping, growth = damping * growth, growth * 2
    return x, damping


@pytest.mark.parametrize("kernel", [None, True, False])
@pytest.mark.parametrize("known", [True, False])
def test_the_steps_of_the_textbook(session, kernel, known):
    """Rosenbrock's function as a sum of squares, whose second step overshoots."""
    start = np.array([-1.2, 1.0])
    v = tf.get_variable("v", initializer=start, use_resource=True)
    r = tf.stack([10 * (v[1] - v[0] ** 2), 1 - v[0]])
    r = r if known else tf.gather(r, tf.placeholder_with_default([0, 1], [None]))
    minimizer = LevenbergMarquardt(kernel=kernel)
    step = minimizer.minimize(r)
    session.run(tf.global_variables_initializer())
    told = []
    for _ in range(7):
        told.append(session.run([step, minimizer.report])[1]["rho"])
    want, damping = in_numpy(
        lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]),
        lambda x: np.array([[-20 * x[0], 10.0], [-1.0, 0.0]]),
        start,
        7,
    )
    assert min(told) < 0 < max(told)  # some were refused
    np.testing.assert_allclose(session.run(v), want, rtol=1e-9)  # seven solutions of systems of condition 1e3
    np.testing.assert_allclose(session.run(minimizer.damping), damping, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_linear_problem_takes_one_step(session, rng, dtype):
    A, b = rng.standard_normal((6, 3)), rng.standard_normal((6, 1))
    v, w = (
        tf.get_variable(n, initializer=np.zeros(s, dtype), use_resource=True) for n, s in (("v", (2, 1)), ("w", (1, 1)))
    )
    step = LevenbergMarquardt(1e-12).minimize(A.astype(dtype) @ tf.concat([v, w], 0) - b.astype(dtype))
    session.run(tf.global_variables_initializer())
    session.run(step)
    want = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(np.concatenate(session.run([v, w])), want, rtol=1e-4 if dtype is np.float32 else 1e-9)


def test_a_refused_step_changes_no_bit(session):
    """Gauss-Newton overshoots on the arcus tangent of 3."""
    v = tf.get_variable("v", initializer=[3.0, -0.0])
    minimizer = LevenbergMarquardt(1e-9)
    step = minimizer.minimize(tf.atan(v))
    session.run(tf.global_variables_initializer())
    told = session.run([step, minimizer.report])[1]
    assert told["rho"] < 0
    assert session.run(v).tobytes() == np.array([3.0, -0.0], np.float32).tobytes()
    # 2 times the damping that was used
    np.testing.assert_allclose(session.run(minimizer.damping), 2 * told["damping"], rtol=1e-15)


def test_what_is_not_finite_is_refused(session):
    v = tf.get_variable("v", initializer=0.0)
    step = LevenbergMarquardt().minimize(tf.sqrt(v) - 1.0)  # its slope is infinite
    session.run(tf.global_variables_initializer())
    session.run([step, step])
    assert session.run(v) == 0.0


def problem(rng):
    """Residuals of a small network in two groups, the second of which does not know the last bias."""
    w, b = (
        tf.get_variable(n, initializer=rng.standard_normal(s), use_resource=True)
        for n, s in (("w", (2, 4)), ("b", (4,)))
    )
    x, y, z = (tf.placeholder_with_default(rng.standard_normal((5, k)), [None, k]) for k in (2, 1, 2))
    inside = tf.reduce_sum(tf.tanh(x @ w + b), 1, keepdims=True) - y
    return [inside[:, 0], tf.reduce_sum(tf.sin(z @ w), 1)], [[x, y], z]


def test_rows_change_nothing_but_the_time(session, rng):
    residuals, rows = problem(rng)
    steps = [LevenbergMarquardt().minimize(residuals, rows=r) for r in (None, rows)]
    found = []
    for step in steps:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(step)
        found.append(session.run(tf.trainable_variables()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)  # the Jacobians differ by rounding, the steps by its condition


def test_a_saver_resumes_bit_for_bit_in_a_finalized_graph(session, rng, tmp_path):
    residuals, rows = problem(rng)
    count = tf.train.get_or_create_global_step()
    step = LevenbergMarquardt().minimize(residuals, rows=rows, global_step=count)
    saver, initialise, all_of_it = tf.train.Saver(), tf.global_variables_initializer(), tf.global_variables()
    tf.get_default_graph().finalize()
    session.run(initialise)
    for _ in range(3):
        session.run(step)
    path = saver.save(session, str(tmp_path / "state"))
    after = []
    for _ in range(2):
        for _ in range(2):
            session.run(step)
        after.append(session.run(all_of_it))
        saver.restore(session, path)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*after, strict=True))
    assert session.run(count) == 3


def lookup(v):
    return tf.nn.embedding_lookup(v, [2, 0, 2]) ** 2 - 1.0


def loop(v2):
    def through(v):
        with control_flow(v2=v2):
            return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) + v), [0, tf.ones([3])])[1]

    return through


def held(v):
    return v * tf.stop_gradient(tf.exp(v)) - 1.0


@pytest.mark.parametrize("through", [lookup, loop(False), loop(True), held])
@pytest.mark.parametrize("resource", [True, False])
def test_the_loss_after_a_step(session, through, resource):
    """What the step takes for the loss afterwards is what it is then, but for what is held."""
    v = tf.get_variable("v", initializer=[0.3, 0.5, 1.5], use_resource=resource)
    loss = 0.5 * tf.reduce_sum(through(v) ** 2)
    minimizer = LevenbergMarquardt(1.0)
    step = minimizer.minimize(through(v), [v])
    session.run(tf.global_variables_initializer())
    before, old = session.run([loss, v])
    told = session.run([step, minimizer.report])[1]
    new = session.run(v)
    assert told["rho"] > 0
    np.testing.assert_allclose(told["loss"], before, rtol=1e-6)
    if through is held:
        after = 0.5 * np.sum((new * np.exp(old) - 1.0) ** 2)
        slope, curvature = (old * np.exp(old) - 1.0) * np.exp(old), np.exp(2 * old)
        promised = -(slope * (new - old) + 0.5 * curvature * (new - old) ** 2).sum()
        np.testing.assert_allclose(told["rho"], (before - after) / promised, rtol=1e-4)
    else:
        assert session.run(loss) < before


def test_bad_arguments(graph, rng):
    residuals, rows = problem(rng)
    with pytest.raises(OptimizerError, match="damping is 0"):
        LevenbergMarquardt(0)
    with pytest.raises(OptimizerError, match="builds its step in a graph"):
        LevenbergMarquardt().minimize(lambda: 1.0, [tf.trainable_variables()[0]])
    with pytest.raises(OptimizerError, match="an item for each of the 2"):
        LevenbergMarquardt().minimize(residuals, rows=[rows[0]])
    constant = tf.constant(rng.standard_normal((5, 1)), name="targets")
    with pytest.raises(ShapeError, match="rows lacks a tensor"):
        LevenbergMarquardt().minimize(residuals[0][:, tf.newaxis] - constant, rows=rows[0])
    with pytest.raises(DisconnectedError, match="nothing to minimize"):
        LevenbergMarquardt().minimize(tf.ones([3]))
    z = tf.get_variable("z", initializer=tf.zeros([2], tf.complex64), use_resource=True, trainable=False)
    with pytest.raises(DtypeError, match="complex64"):
        LevenbergMarquardt().minimize(tf.abs(z), [z])
    once = LevenbergMarquardt()
    assert once.damping == 1e-3
    once.minimize(residuals[0], tf.trainable_variables()[:2])
    with pytest.raises(OptimizerError, match="has a step already"):
        once.minimize(residuals[0])


@eager
def test_eager_mode_is_refused(eagerly):
    with pytest.raises(OptimizerError, match="builds its step in a graph"):
        eagerly(lambda: LevenbergMarquardt().minimize(tf.ones([2]), [tf.compat.v2.Variable([1.0])]))
