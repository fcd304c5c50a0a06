"""What is known to mislead methods that use curvature: each trap is named, or no longer bites."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import linops
from symgrad.errors import ShapeError
from symgrad.optimizers import HessianFree, LevenbergMarquardt


def test_more_residuals_than_weights(session, rng):
    """J J^T is singular then; the smaller Gram matrix is taken, so that an undamped step solves the problem."""
    A, b = rng.standard_normal((40, 3)), rng.standard_normal((40, 1))
    v = tf.get_variable("v", initializer=np.zeros((3, 1)), use_resource=True)
    step = LevenbergMarquardt(1e-12).minimize(A @ v - b)
    session.run(tf.global_variables_initializer())
    session.run(step)
    # Normal equations of condition below 1e2; the wrong matrix leaves 1e-3.
    np.testing.assert_allclose(session.run(v), np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-9)


def test_conjugate_gradients_in_float32_run_on_past_convergence(session, rng):
    """Their own residual goes on to fall when the true one does not, until 0 / 0: no step is NaN, none is worse."""
    eigenvalues = np.logspace(0, -2, 20)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    A = (np.sqrt(eigenvalues)[:, np.newaxis] * Q.T).astype(np.float32)
    b = A @ np.ones((20, 1), np.float32)
    v = tf.get_variable("v", initializer=np.zeros((20, 1), np.float32), use_resource=True)
    y = A @ v - b
    minimizer = HessianFree(1e-12, iterations=400, tolerance=1e-30)
    step = minimizer.minimize(0.5 * tf.reduce_sum(y**2), y)
    session.run(tf.global_variables_initializer())
    told = [session.run([step, minimizer.report])[1] for _ in range(3)]
    assert np.isfinite(session.run(tf.global_variables()[-1])).all()
    losses = [t["loss"] for t in told]
    assert losses == sorted(losses, reverse=True)
    # Rounding of float32, 6e-8, times the condition 1e2, and room for 400 steps.
    np.testing.assert_allclose(session.run(v), 1.0, atol=1e-3)


def test_relu_has_an_indefinite_hessian_and_a_definite_gauss_newton_matrix(session, rng):
    x, labels = rng.standard_normal((20, 3)), rng.standard_normal((20, 1))
    w, u = (tf.get_variable(n, initializer=rng.standard_normal(s)) for n, s in (("w", (3, 4)), ("u", (4, 1))))
    y = tf.nn.relu(tf.constant(x) @ w) @ u
    loss = tf.reduce_mean((y - labels) ** 2)
    session.run(tf.global_variables_initializer())
    H = linops.Hessian(loss, [w, u], session=session)
    (found,) = linops.check(H)
    assert found.cause is linops.Flaw.NOT_POSITIVE
    assert "symgrad.linops.GGN" in found.advice
    lowest = np.linalg.eigvalsh(H @ np.eye(16))[0]
    assert lowest < 0
    # With a damping above its size the Hessian is as definite as the other matrix.
    assert np.linalg.eigvalsh(H @ np.eye(16) - 1.01 * lowest * np.eye(16))[0] > 0
    assert linops.check(linops.GGN(loss, y, [w, u], session=session)) == []


def test_batch_norm_couples_examples(session, rng):
    """Its second derivatives are whole; derivatives of single examples, which do not exist, are refused."""
    data = rng.standard_normal((8, 3))
    x = tf.placeholder_with_default(data, [None, 3])
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 2)))
    z = x @ w
    normal = tf.nn.batch_normalization(z, *tf.nn.moments(z, [0]), None, None, 1e-3)
    with pytest.raises(ShapeError, match="moments"):
        symgrad.example_jacobian(normal, w, rows=x)
    # Not tf.nn.moments, which holds its mean by a stop_gradient and so loses a part of the second derivative.
    centred = z - tf.reduce_mean(z, 0)
    loss = tf.reduce_mean(tf.reduce_sum(tf.sin(centred / tf.sqrt(tf.reduce_mean(centred**2, 0) + 1e-3)), 1))
    session.run(w.initializer)
    slope, at = symgrad.gradients(loss, w)[0], session.run(w)

    def gradient_at(value):
        w.load(value, session)
        return np.ravel(session.run(slope))

    sides = 1e-5 * np.eye(6).reshape(6, 3, 2)
    want = np.stack([(gradient_at(at + d) - gradient_at(at - d)) / 2e-5 for d in sides])
    w.load(at, session)
    H = linops.Hessian(loss, w, session=session)
    # Central differences with 1e-5: 1e-10 of truncation and 1e-16 / 1e-5 of rounding, times derivatives of some tens.
    np.testing.assert_allclose(H @ np.eye(6), want, atol=1e-7)
    halves = [{x: data[:4]}, {x: data[4:]}]
    batched = linops.Hessian(loss, w, session=session, batches=halves)
    parts = [linops.Hessian(loss, w, session=session, feed_dict=half) @ np.eye(6) for half in halves]
    np.testing.assert_allclose(batched @ np.eye(6), (parts[0] + parts[1]) / 2, atol=1e-12)
    assert np.max(np.abs(batched @ np.eye(6) - want)) > 1e-2  # the mean of halves is another function's curvature
