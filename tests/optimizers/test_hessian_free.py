"""Hessian-free optimization in the graph: quadratics in one step, the rule of the damping, state, refusals."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

from symgrad.errors import ControlFlowError, DisconnectedError, OptimizerError, ShapeError
from symgrad.optimizers import HessianFree

pytestmark = pytest.mark.core


def least_squares(rng, dtype=np.float64):
    A, b = (rng.standard_normal(s).astype(dtype) for s in ((8, 4), (8, 1)))
    v = tf.get_variable("v", initializer=np.zeros((3, 1), dtype), use_resource=True)
    w = tf.get_variable("w", initializer=np.ones((1, 1), dtype), use_resource=True)
    y = A @ tf.concat([v, w], 0) - b
    return A, b, y, 0.5 * tf.reduce_sum(y**2)


def test_an_undamped_step_solves_a_quadratic(session, rng):
    A, b, y, loss = least_squares(rng)
    minimizer = HessianFree(1e-12, tolerance=1e-12)
    step = minimizer.minimize(loss, y)
    session.run(tf.global_variables_initializer())
    told = session.run([step, minimizer.report])[1]
    want = np.linalg.lstsq(A, b, rcond=None)[0]
    got = np.concatenate(session.run(tf.trainable_variables()))
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-7)
    assert told["rate"] == 1.0
    np.testing.assert_allclose(told["rho"], 1.0, rtol=1e-6)  # the model is the loss
    np.testing.assert_allclose(session.run(minimizer.damping), 1e-12 * 2 / 3, rtol=1e-6)


def test_a_damped_step_against_a_dense_solution(session, rng):
    """Softmax regression: J^T H J is known."""
    x, labels = rng.standard_normal((20, 3)), rng.integers(0, 4, 20)
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 4)), use_resource=True)
    logits = tf.constant(x) @ w
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    minimizer = HessianFree(0.5, tolerance=1e-12)
    step = minimizer.minimize(loss, logits)
    session.run(tf.global_variables_initializer())
    before, p = session.run([w, tf.nn.softmax(logits)])
    told = session.run([step, minimizer.report])[1]
    G = sum(np.kron(np.outer(a, a), np.diag(q) - np.outer(q, q)) for a, q in zip(x, p, strict=True)) / 20
    g = (x.T @ (p - np.eye(4)[labels]) / 20).ravel()
    want = -np.linalg.solve(G + 0.5 * np.eye(12), g)
    d = (session.run(w) - before).ravel()
    # Of the points on the way the one with the lowest loss is taken, which lies beside the last.
    np.testing.assert_allclose(d, want, atol=1e-3 * np.linalg.norm(want))
    z = x @ (before + d.reshape(3, 4))
    after = np.mean(np.log(np.sum(np.exp(z), 1)) - z[np.arange(20), labels])
    rho = (after - told["loss"]) / (g @ d + 0.5 * d @ G @ d)
    np.testing.assert_allclose(told["rho"], rho, rtol=1e-9)
    factor = 2 / 3 if rho > 0.75 else 1.5 if rho < 0.25 else 1.0
    np.testing.assert_allclose(session.run(minimizer.damping), 0.5 * factor, rtol=1e-6)


def test_a_refused_step_changes_no_bit(session):
    """A loss that says it falls and does not."""
    v = tf.get_variable("v", initializer=[1.0, -0.0], use_resource=True)
    y = tf.identity(v)

    @tf.custom_gradient
    def uphill(x):
        return tf.reduce_sum(x**2), lambda dy: -2 * x * dy

    minimizer = HessianFree()
    step = minimizer.minimize(uphill(y), y)
    session.run(tf.global_variables_initializer())
    told = session.run([step, minimizer.report])[1]
    assert told["rate"] == 0.0
    assert session.run(v).tobytes() == np.array([1.0, -0.0], np.float32).tobytes()


def test_what_is_not_finite_is_refused_and_damped(session):
    v = tf.get_variable("v", initializer=-1.0, use_resource=True)
    y = tf.log(v)
    minimizer = HessianFree()
    step = minimizer.minimize(y**2, y)
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run(v) == -1.0
    assert session.run(minimizer.damping) == 4.0
    assert np.isfinite(session.run(tf.global_variables()[-1])).all()


def network(rng, through=None):
    x, labels = rng.standard_normal((30, 3)), rng.integers(0, 2, (30, 1)).astype(float)
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 3)), use_resource=True)
    u = tf.get_variable("u", initializer=rng.standard_normal((3, 1)), use_resource=True)
    h = tf.tanh(tf.constant(x) @ w)
    if through is not None:
        h = through(h, w)
    logits = h @ u
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)), logits


def loop(h, w):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a @ w)), [0, h])[1]


def test_through_a_loop_of_v2(session, rng):
    with control_flow(v2=True):
        loss, logits = network(rng, loop)
    step = HessianFree(iterations=30).minimize(loss, logits)
    session.run(tf.global_variables_initializer())
    losses = []
    for _ in range(6):
        losses.append(session.run(loss))
        session.run(step)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.01


def test_a_loop_of_v1_is_refused_with_the_way_out(graph, rng):
    with control_flow(v2=False):
        loss, logits = network(rng, loop)
    before = len(graph.get_operations())
    with pytest.raises(ControlFlowError, match=r"symgrad\.linops\.GGN"):
        HessianFree().minimize(loss, logits)
    assert len(graph.get_operations()) == before


def test_a_saver_resumes_bit_for_bit_in_a_finalized_graph(session, rng, tmp_path):
    loss, logits = network(rng)
    step = HessianFree(iterations=20).minimize(loss, logits)
    saver, initialise, all_of_it = tf.train.Saver(), tf.global_variables_initializer(), tf.global_variables()
    tf.get_default_graph().finalize()
    session.run(initialise)
    session.run(step)
    path = saver.save(session, str(tmp_path / "state"))
    after = []
    for _ in range(2):
        session.run(step)
        session.run(step)
        after.append(session.run(all_of_it))
        saver.restore(session, path)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*after, strict=True))


def test_one_dropout_mask_a_step(session, rng):
    """The mask does not hang on the variables, so every product and every trial of one run sees the same."""
    A, b, y, _ = least_squares(rng)
    mask = tf.nn.dropout(tf.ones([8, 1], tf.float64), rate=0.5)
    minimizer = HessianFree(1e-12, tolerance=1e-12)
    step = minimizer.minimize(0.5 * tf.reduce_sum((y * mask) ** 2), y)
    session.run(tf.global_variables_initializer())
    _, drawn, told = session.run([step, mask, minimizer.report])
    np.testing.assert_allclose(told["rho"], 1.0, rtol=1e-6)
    got = np.concatenate(session.run(tf.trainable_variables()))
    # The gradient of the same masked problem is zero at the solution.
    np.testing.assert_allclose((A * drawn**2).T @ (A @ got - b), 0.0, atol=1e-5)


def test_bad_arguments(graph, rng):
    loss, logits = network(rng)
    variables = tf.trainable_variables()
    with pytest.raises(OptimizerError, match="iterations is 0"):
        HessianFree(iterations=0)
    with pytest.raises(OptimizerError, match="decay is 2"):
        HessianFree(decay=2)
    with pytest.raises(OptimizerError, match="has the variable w"):
        HessianFree().minimize(loss, variables[0])
    with pytest.raises(ShapeError, match="wanted a scalar"):
        HessianFree().minimize(logits, logits)
    with pytest.raises(DisconnectedError):
        HessianFree().minimize(loss, tf.sin(logits))
