"""However a run of SciPy's ends, the variables are at the best finite point seen; and what old scripts hand in."""

import keras
import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError
from symgrad.optimizers import ScipyOptimizer

METHODS = [
    "L-BFGS-B",
    "BFGS",
    "CG",
    "Newton-CG",
    "TNC",
    "SLSQP",
    "Powell",
    "Nelder-Mead",
    "COBYLA",
    "trust-constr",
    "trust-ncg",
]


def well(x):
    """Finite only where x > 1; a long first step leaves that."""
    return tf.reduce_sum(x * x - tf.math.log(x - 1.0))


@pytest.mark.filterwarnings("ignore")  # SciPy's own, about NaN
@pytest.mark.parametrize("method", METHODS)
def test_what_ends_in_nan_ends_at_the_best_point(method, graph, session):
    x = tf.get_variable("x", initializer=np.array([10.0, 9.0]))
    loss, seen = well(x), []
    session.run(x.initializer)
    found = ScipyOptimizer(loss, method=method).minimize(session, fetches=[loss], loss_callback=seen.append)
    assert session.run(loss) == pytest.approx(np.nanmin(seen), rel=1e-12)
    np.testing.assert_array_equal(found.x, session.run(x))
    assert found.fun == pytest.approx(session.run(loss), rel=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_an_end_that_is_not_finite_is_no_success(graph, session):
    x = tf.get_variable("x", initializer=np.array([10.0, 9.0]))
    loss = tf.reduce_sum(tf.where(x > 5.0, x, x * np.nan))
    session.run(x.initializer)
    found = ScipyOptimizer(loss, method="SLSQP").minimize(session)
    assert not found.success
    assert "best point seen" in found.message
    assert np.isfinite(session.run(loss))


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_leaves_the_best_point(method, graph, session):
    x = tf.get_variable("x", initializer=np.array([3.0, 2.0]))
    loss, seen = tf.reduce_sum(tf.square(x - [1.0, -1.0])) + x[0] ** 4, []
    session.run(x.initializer)

    def interrupt(value):
        seen.append(value)
        if len(seen) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ScipyOptimizer(loss, method=method).minimize(session, fetches=[loss], loss_callback=interrupt)
    assert session.run(loss) == pytest.approx(min(seen), rel=1e-12)


@pytest.mark.parametrize("method", ["SLSQP", "COBYLA", "trust-constr"])
def test_a_stopped_run_with_constraints_is_at_the_point_that_breaks_them_least(method, graph, session):
    """From a point outside; the best one is not the start."""
    x = tf.get_variable("x", initializer=np.array([5.0, 5.0]))
    loss, gap = tf.reduce_sum(x * x), 1.0 - tf.reduce_sum(x)
    session.run(x.initializer)
    seen = []

    def interrupt(value):
        seen.append(max(0.0, -value))
        if len(seen) == (3 if method == "SLSQP" else 8):  # SLSQP needs few more
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ScipyOptimizer(loss, inequalities=[gap], method=method).minimize(
            session, fetches=[gap], loss_callback=interrupt
        )
    # Within 1e-6 counts as kept; seen in float64.
    assert max(0.0, -session.run(gap)) <= min(seen) + 1e-6 < 9.0


def rosenbrock(x):
    return tf.reduce_sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_only_true_stops(graph, session):
    x = tf.get_variable("x", initializer=np.full(3, 3.0))
    optimizer = ScipyOptimizer(rosenbrock(x))
    for answer, stops in (
        (None, False),
        (1.0, False),
        (np.ones(3), False),
        ("yes", False),
        (True, True),
        (np.True_, True),
    ):
        session.run(x.initializer)
        found = optimizer.minimize(session, step_callback=lambda v, answer=answer: answer)
        assert (found.status == 99) == stops, answer


def test_batches_that_differ_by_a_constant_give_the_same_run(graph, session):
    x, c = tf.get_variable("x", initializer=np.full(4, 3.0)), tf.placeholder(tf.float64, [])
    optimizer, ends = ScipyOptimizer(rosenbrock(x) + c, options={"maxiter": 15}), []
    for offset in (0.0, 1.0, 64.0):
        session.run(x.initializer)
        found = optimizer.minimize(session, feed_dict=lambda i, offset=offset: {c: i * offset})
        ends.append((found.nit, session.run(rosenbrock(x))))
    assert {nit for nit, _ in ends} == {15}
    # A line search amplifies what the constants round off: 64 * 15 of 1e-16.
    np.testing.assert_allclose([end for _, end in ends], ends[0][1], rtol=1e-3)


def test_bounds_with_none_inside(graph, session):
    v, w = tf.get_variable("v", initializer=[7.0, 7.0]), tf.get_variable("w", initializer=[7.0, 7.0])
    bounds = {v: ([None, 2.0], None), w: (3.0, [None, 5.0])}
    optimizer = ScipyOptimizer(tf.reduce_sum(v * v + w * w), var_to_bounds=bounds)
    session.run([v.initializer, w.initializer])
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(v), [0.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(session.run(w), [3.0, 3.0], atol=1e-5)


@pytest.mark.parametrize("method", ["BFGS", "CG", "Newton-CG", "dogleg", "trust-exact"])
def test_bounds_that_a_method_does_not_know_are_an_error(method, graph):
    v = tf.get_variable("v", initializer=[7.0, 7.0])
    with pytest.raises(OptimizerError, match="knows no bounds; use one of"):
        ScipyOptimizer(tf.reduce_sum(v * v), var_to_bounds={v: (1.0, None)}, method=method)


def test_feeds_and_fetches_that_a_session_takes(graph, session):
    x = tf.get_variable("x", initializer=np.full(2, 2.0))
    matrix, p = tf.sparse_placeholder(tf.float64, [2, 2]), tf.placeholder(tf.float64, [])
    session.run(x.initializer)
    loss = tf.reduce_sum((tf.sparse_tensor_dense_matmul(matrix, x[:, None]) - p) ** 2)
    fed, seen = tf.SparseTensorValue([[0, 0], [1, 1]], [1.0, 2.0], [2, 2]), []
    ScipyOptimizer(loss, [x]).minimize(session, {matrix: fed, p: 3.0}, fetches=[p], loss_callback=seen.append)
    np.testing.assert_allclose(session.run(x), [3.0, 1.5], atol=1e-4)
    assert {float(value) for value in seen} == {3.0}


def test_keras_3_variables_and_a_method_of_ones_own(graph, session):
    from scipy.optimize import OptimizeResult

    layer = keras.layers.Dense(1)
    out = layer(tf.ones([2, 2]))
    optimizer = ScipyOptimizer(tf.reduce_sum((out - 1.0) ** 2), layer.trainable_variables)
    session.run(tf.global_variables_initializer())
    assert optimizer.minimize(session).fun < 1e-6

    def downhill(fun, x0, args=(), jac=None, **unused):
        x = x0
        for _ in range(50):
            x = x - 0.1 * jac(x)
        return OptimizeResult(x=x, fun=fun(x), success=True, message="fifty steps")

    y = tf.get_variable("y", initializer=np.ones(2))
    session.run(y.initializer)
    ScipyOptimizer(tf.reduce_sum(y * y), [y], method=downhill).minimize(session)
    np.testing.assert_allclose(session.run(y), 0.0, atol=2e-5)  # 0.8^50 = 1.4e-5
