"""ScipyOptimizer and ScipyLeastSquares on problems whose solutions are known."""

import concurrent.futures
import itertools
import logging
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import errors
from symgrad._optimizing._evaluate import Evaluator
from symgrad.optimizers import ScipyLeastSquares, ScipyOptimizer

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def variable(value, name="v", dtype=tf.float64, resource=True):
    return tf.get_variable(name, initializer=tf.constant(value, dtype), use_resource=resource)


def initialise(session):
    session.run(tf.global_variables_initializer())


METHODS = [None, "CG", "BFGS", "TNC", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg", "trust-constr"]
METHODS += ["Nelder-Mead", "Powell"]


def rosenbrock(v):
    return tf.reduce_sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2)


def test_an_old_script_with_the_defaults(session):
    """The example of the old class: nothing but the name of the class is changed."""
    vector = variable([7.0, 7.0], dtype=tf.float32, resource=False)
    loss = tf.reduce_sum(tf.square(vector))
    optimizer = ScipyOptimizer(loss, options={"maxiter": 100})
    initialise(session)
    result = optimizer.minimize(session)
    assert result.success
    np.testing.assert_allclose(session.run(vector), [0.0, 0.0], atol=1e-5)  # float32


@pytest.mark.parametrize("method", METHODS)
def test_rosenbrock_by_every_kind_of_method(method, session):
    v = variable([-1.2, 1.0])
    if method == "dogleg":  # it wants a convex problem
        v, loss = v, tf.reduce_sum((v - 1.0) ** 4 + (v - 1.0) ** 2)
    else:
        loss = rosenbrock(v)
    optimizer = ScipyOptimizer(loss, **({"method": method} if method else {}))
    initialise(session)
    result = optimizer.minimize(session)
    np.testing.assert_allclose(session.run(v), [1.0, 1.0], atol=2e-3)  # the loosest default tolerance among them
    np.testing.assert_array_equal(session.run(v), result.x)


def test_the_hessian_saves_gradients(session):
    """As every evaluation of these methods makes a gradient, evaluations are counted."""
    v = variable(np.linspace(-1, 1, 10))
    counts = {}
    for method in ("trust-ncg", "L-BFGS-B"):
        optimizer = ScipyOptimizer(rosenbrock(v), method=method)
        initialise(session)
        counts[method] = optimizer.minimize(session).njev
    assert counts["trust-ncg"] < counts["L-BFGS-B"]


def test_rosenbrock_with_bounds(session):
    v = variable([-1.2, 1.0])
    optimizer = ScipyOptimizer(rosenbrock(v), var_to_bounds={v: (None, [0.5, np.inf])})
    initialise(session)
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(v), [0.5, 0.25], atol=1e-4)  # the bound on the first holds it; v1 = v0^2


def test_rosenbrock_on_a_line(session):
    """On x + y = 1 the derivative is a cubic, whose largest root is the lower one of two minima."""
    v = variable([0.5, 0.5])
    optimizer = ScipyOptimizer(rosenbrock(v), equalities=v[0] + v[1] - 1.0, method="SLSQP", tol=1e-10)
    initialise(session)
    assert optimizer.minimize(session).success
    valley, rest = np.polynomial.Polynomial([1.0, -1.0, -1.0]), np.polynomial.Polynomial([1.0, -1.0])
    x = np.max((100 * valley**2 + rest**2).deriv().roots().real)
    np.testing.assert_allclose(session.run(v), [x, 1 - x], atol=1e-5)


def test_a_bound_active_at_the_optimum(session):
    a, b = variable(3.0, "a"), variable([2.0], "b", tf.float32)
    loss = (a - 1.0) ** 2 + tf.cast(tf.reduce_sum((b + 2.0) ** 2), tf.float64)
    optimizer = ScipyOptimizer(loss, var_to_bounds={b: (-0.5, 10.0)})
    initialise(session)
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(a), 1.0, atol=1e-5)
    np.testing.assert_array_equal(session.run(b), [-0.5])


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA"])
def test_equality_and_inequality_constraints(method, session):
    """min x^2 + 2 y^2 subject to x + y = 1 and x <= 1/2: without the inequality (2/3, 1/3), with it (1/2, 1/2)."""
    v = variable([0.3, 0.3])
    loss = v[0] ** 2 + 2 * v[1] ** 2
    optimizer = ScipyOptimizer(
        loss, equalities=[tf.reduce_sum(v) - 1.0], inequalities=[0.5 - v[0], v + 10.0], method=method
    )
    initialise(session)
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(v), [0.5, 0.5], atol=2e-3)  # trust-constr stops inside the barrier


def test_a_curved_equality_with_its_hessian(session):
    """The point of the unit circle nearest to (2, 1)."""
    v = variable([0.5, 0.5])
    loss = tf.reduce_sum((v - tf.constant([2.0, 1.0], tf.float64)) ** 2)
    for method in ("SLSQP", "trust-constr"):
        optimizer = ScipyOptimizer(loss, equalities=tf.reduce_sum(v**2) - 1.0, method=method)
        initialise(session)
        optimizer.minimize(session)
        np.testing.assert_allclose(
            session.run(v), np.array([2.0, 1.0]) / np.sqrt(5), atol=1e-4
        )  # SLSQP stops at 1e-6 of the loss


def test_the_hessian_of_constraints_is_weighted_by_the_multipliers(session):
    v = variable([0.5, 2.0])
    optimizer = ScipyOptimizer(
        v[0] + v[1], inequalities=[v[0] ** 3, tf.stack([v[0] * v[1], v[1] ** 2])], method="trust-constr"
    )
    initialise(session)
    evaluate = Evaluator(optimizer._vector, optimizer._tensors, session, None, {})
    hessian = optimizer._constraint("ineq", "trust-constr", evaluate).hess(np.array([0.5, 2.0]), [5.0, 7.0, 11.0])
    np.testing.assert_allclose(hessian @ np.eye(2), [[5 * 6 * 0.5, 7.0], [7.0, 11 * 2.0]], rtol=1e-14)


def test_variables_of_several_shapes_and_dtypes_one_of_them_unused(session):
    a = variable([[1.0, 2.0], [3.0, 4.0]], "a", tf.float32)
    b = variable(5.0, "b", tf.float64, resource=False)
    unused = variable([6.0], "unused")
    loss = tf.reduce_sum(tf.cast(a, tf.float64) ** 2) + (b - 1.0) ** 2
    optimizer = ScipyOptimizer(loss, [a, b, unused])
    initialise(session)
    optimizer.minimize(session)
    got = session.run([a, b, unused])
    np.testing.assert_allclose(got[0], np.zeros((2, 2)), atol=1e-5)
    np.testing.assert_allclose(got[1], 1.0, atol=1e-5)
    np.testing.assert_array_equal(got[2], [6.0])


def test_sparse_gradients_of_a_reference_variable(session):
    table = tf.get_variable("t", initializer=np.ones((4, 2)), use_resource=False)
    loss = tf.reduce_sum((tf.gather(table, [1, 1, 3]) - 2.0) ** 2)
    optimizer = ScipyOptimizer(loss)
    initialise(session)
    optimizer.minimize(session)
    np.testing.assert_allclose(session.run(table), [[1, 1], [2, 2], [1, 1], [2, 2]], atol=1e-5)


def test_one_evaluation_a_point(session, monkeypatch):
    v = variable([-1.2, 1.0])
    points = []
    run = Evaluator._run
    monkeypatch.setattr(
        Evaluator,
        "_run",
        lambda self, f, extra: (points.append(v.name) if f is self._tensors else None, run(self, f, extra))[1],
    )
    optimizer = ScipyOptimizer(rosenbrock(v))
    initialise(session)
    result = optimizer.minimize(session)
    assert len(points) == result.nfev  # the gradient comes with the loss; the check at the start counts as the first


def test_feeds_fetches_and_callbacks(session):
    v, target = variable([0.0]), tf.placeholder(tf.float64, [1])
    seen, steps = [], []
    loss = tf.reduce_sum((v - target) ** 2)
    optimizer = ScipyOptimizer(loss)
    initialise(session)
    optimizer.minimize(
        session, {target: [3.0]}, fetches=[loss, v], loss_callback=lambda *f: seen.append(f), step_callback=steps.append
    )
    np.testing.assert_allclose(session.run(v), [3.0], atol=1e-6)
    assert [float(seen[0][0]), seen[0][1].tolist()] == [9.0, [0.0]]
    assert len(seen) > len(steps) >= 1
    np.testing.assert_allclose(steps[-1], [3.0], atol=1e-6)


def test_every_keyword_of_the_old_class(session):
    v, target = variable([3.0], dtype=tf.float32), tf.placeholder(tf.float32, [1])
    loss = tf.reduce_sum((v - target) ** 2)
    optimizer = ScipyOptimizer(
        loss,
        var_list=[v],
        equalities=[v - 1.0],
        inequalities=[v + 10.0],
        var_to_bounds={v: (-5.0, 5.0)},
        method="SLSQP",
        options={"maxiter": 20},
        tol=1e-6,
    )
    initialise(session)
    metadata, points, fetched = tf.RunMetadata(), [], []
    optimizer.minimize(
        session=session,
        feed_dict={target: [4.0]},
        fetches=[loss],
        step_callback=points.append,
        loss_callback=fetched.append,
        options=tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE),
        run_metadata=metadata,
    )
    np.testing.assert_allclose(session.run(v), [1.0], atol=1e-5)
    assert points
    assert fetched
    assert metadata.step_stats.dev_stats


def test_progress_shows_after_a_second_and_not_before(session, monkeypatch, capsys):
    v = variable([-1.2, 1.0])
    optimizer = ScipyOptimizer(rosenbrock(v))
    initialise(session)
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, as far as rich is concerned
    monkeypatch.setattr("symgrad.optimizers._progress.time", SimpleNamespace(monotonic=lambda: 0.0))
    optimizer.minimize(session, progress=True, step_callback=lambda x: True)
    assert capsys.readouterr().err == ""
    seconds = itertools.count()
    monkeypatch.setattr("symgrad.optimizers._progress.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    optimizer.minimize(session, progress=True, step_callback=lambda x: True)
    assert "L-BFGS-B: iteration 1," in capsys.readouterr().err


def test_a_callback_stops_and_a_second_call_goes_on(session):
    v = variable([-1.2, 1.0])
    optimizer = ScipyOptimizer(rosenbrock(v))
    initialise(session)
    count = []
    first = optimizer.minimize(session, step_callback=lambda x: count.append(x) or len(count) == 3)
    assert (first.nit, first.success, first.message) == (3, False, "stopped by the callback")
    np.testing.assert_array_equal(session.run(v), count[-1])
    second = optimizer.minimize(session)
    assert second.success
    np.testing.assert_allclose(session.run(v), [1.0, 1.0], atol=1e-4)


def test_mini_batches_change_with_the_iteration_only(session):
    v, batch = variable([5.0]), tf.placeholder(tf.float64, [1])
    asked = []

    def feed(iteration):
        asked.append(iteration)
        return {batch: [float(iteration % 2)]}

    optimizer = ScipyOptimizer(tf.reduce_sum((v - batch) ** 2), method="CG", options={"maxiter": 4})
    initialise(session)
    result = optimizer.minimize(session, feed)
    assert asked == list(range(result.nit + 1))


def test_an_end_without_convergence_is_logged_with_scipys_reason(session, caplog):
    v = variable([-1.2, 1.0])
    optimizer = ScipyOptimizer(rosenbrock(v), options={"maxiter": 2})
    initialise(session)
    with caplog.at_level(logging.WARNING, "symgrad"):
        result = optimizer.minimize(session)
    assert not result.success
    assert str(result.message) in caplog.text


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_the_best_point(failure, session):
    v = variable([-1.2, 1.0])
    loss = rosenbrock(v)
    losses = []

    def interrupt(value):
        losses.append(value)
        if len(losses) == 12:
            raise failure

    optimizer = ScipyOptimizer(loss)
    initialise(session)
    with pytest.raises(failure):
        optimizer.minimize(session, fetches=loss, loss_callback=interrupt)
    assert session.run(loss) == min(losses)


def test_a_session_that_dies_is_the_error_and_carries_the_best_point(session):
    v = variable([-1.2, 1.0])
    optimizer = ScipyOptimizer(rosenbrock(v))
    initialise(session)
    steps = []
    with pytest.raises((RuntimeError, tf.errors.CancelledError), match="closed"):
        optimizer.minimize(session, step_callback=lambda x: steps.append(x) or session.close())
    np.testing.assert_array_equal(optimizer.best, steps[0])


def test_bad_input_is_named(session):
    v, w = variable([1.0, 2.0]), variable([1.0], "w")
    loss = tf.reduce_sum(v**2)
    wrong = [
        (lambda: ScipyOptimizer(v), errors.ShapeError, "wanted a scalar"),
        (lambda: ScipyOptimizer(loss, method="L-BGFS"), errors.OptimizerError, "'L-BGFS' is unknown.*l-bfgs-b"),
        (lambda: ScipyOptimizer(loss, method="BFGS", equalities=v[0]), errors.OptimizerError, "knows no constraints"),
        (lambda: ScipyOptimizer(loss, jac=True), errors.OptimizerError, "'jac' is set by ScipyOptimizer"),
        (lambda: ScipyOptimizer(loss, var_list=[]), errors.OptimizerError, "no variables"),
        (lambda: ScipyOptimizer(loss, [v], var_to_bounds={w: (0, 1)}), errors.OptimizerError, "w:0"),
        (lambda: ScipyOptimizer(loss, var_to_bounds={v: ([0, 0, 0], 1)}), errors.ShapeError, r"v:0.*\(3,\).*\(2,\)"),
        (lambda: ScipyOptimizer(loss, var_to_bounds={v: 1}), errors.OptimizerError, r"wanted a pair"),
        (lambda: ScipyOptimizer(loss, var_to_bounds={v: (1, 0)}), errors.OptimizerError, "above its upper bound"),
        (lambda: ScipyOptimizer(loss, [tf.get_variable("i", initializer=1)]), errors.DtypeError, "int32"),
        (lambda: ScipyLeastSquares(v, fun=None), errors.OptimizerError, "'fun' is set by ScipyLeastSquares"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()
    initialise(session)
    optimizer = ScipyOptimizer(tf.reduce_sum(tf.log(-v)), [v])
    with pytest.raises(errors.OptimizerError, match="not finite at the start"):
        optimizer.minimize(session)
    np.testing.assert_array_equal(session.run(v), [1.0, 2.0])


def test_without_a_session():
    optimizer = ScipyOptimizer(tf.reduce_sum(variable([1.0]) ** 2))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # where there is no default session
        error = pool.submit(optimizer.minimize).exception()
    assert isinstance(error, errors.OptimizerError)
    assert "needs a session" in str(error)


@pytest.mark.parametrize("options", [{"dense": True}, {"dense": False}, {"method": "lm"}, {"loss": "soft_l1"}])
def test_least_squares_fit_of_a_decay(options, session):
    """Data without noise: the parameters come back."""
    t = np.linspace(0, 4, 30)
    v = variable([1.0, 0.5])
    fit = ScipyLeastSquares(v[0] * tf.exp(-v[1] * t) - 2.5 * np.exp(-1.3 * t), **options)
    initialise(session)
    result = fit.minimize(session)
    assert result.success
    np.testing.assert_allclose(session.run(v), [2.5, 1.3], rtol=1e-5)


def test_least_squares_with_bounds_and_residuals_that_are_not_finite(session):
    v = variable([1.0, 1.0])
    fit = ScipyLeastSquares([v[:1] - 3.0, v[1] - 4.0], var_to_bounds={v: (0.0, 2.0)})
    initialise(session)
    fit.minimize(session)
    np.testing.assert_allclose(session.run(v), [2.0, 2.0], atol=1e-6)
    with pytest.raises(errors.OptimizerError, match="not finite at the start"):
        ScipyLeastSquares(tf.log(v - 5.0)).minimize(session)
