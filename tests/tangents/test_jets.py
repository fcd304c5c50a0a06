"""Taylor series pushed through graphs: against functions by mpmath, against nested Rops, along curves."""

import math

import mpmath
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from series import close, line, nested

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def in_a_graph(graph):
    """Make the test's graph the default one."""


# Of one variable, as TensorFlow and as mpmath, which knows nothing of any op; the place and the order.
FUNCTIONS = {
    "sin": (tf.sin, mpmath.sin, 0.4, 8),
    "cos": (tf.cos, mpmath.cos, 0.4, 8),
    "tan": (tf.tan, mpmath.tan, 0.6, 8),
    "exp": (tf.exp, mpmath.exp, 0.4, 8),
    "expm1": (tf.math.expm1, mpmath.expm1, 0.4, 6),
    "log": (tf.log, mpmath.log, 0.7, 8),
    "log1p": (tf.log1p, lambda x: mpmath.log(1 + x), 0.7, 6),
    "sinh": (tf.sinh, mpmath.sinh, 0.4, 6),
    "cosh": (tf.cosh, mpmath.cosh, 0.4, 6),
    "tanh": (tf.tanh, mpmath.tanh, 0.4, 8),
    "asin": (tf.asin, mpmath.asin, 0.3, 6),
    "acos": (tf.acos, mpmath.acos, 0.3, 6),
    "atan": (tf.atan, mpmath.atan, 0.6, 6),
    "asinh": (tf.asinh, mpmath.asinh, 0.6, 6),
    "acosh": (tf.acosh, mpmath.acosh, 1.8, 6),
    "atanh": (tf.atanh, mpmath.atanh, 0.3, 6),
    "sigmoid": (tf.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), 0.4, 8),
    "softplus": (tf.nn.softplus, lambda x: mpmath.log(1 + mpmath.exp(x)), 0.4, 6),
    "softsign": (tf.nn.softsign, lambda x: x / (1 + x), 0.4, 6),
    "elu": (tf.nn.elu, mpmath.expm1, -0.4, 6),
    "swish": (lambda x: x * tf.sigmoid(x), lambda x: x / (1 + mpmath.exp(-x)), 0.4, 6),
    "gelu": (lambda x: x * 0.5 * (1 + tf.math.erf(x / 2**0.5)), lambda x: x * mpmath.ncdf(x), 0.4, 6),
    "erf": (tf.math.erf, mpmath.erf, 0.4, 8),
    "erfc": (tf.math.erfc, mpmath.erfc, 0.4, 6),
    "lgamma": (tf.lgamma, mpmath.loggamma, 1.3, 6),
    "digamma": (tf.digamma, mpmath.digamma, 1.3, 6),
    "sqrt": (tf.sqrt, mpmath.sqrt, 0.7, 6),
    "rsqrt": (tf.rsqrt, lambda x: 1 / mpmath.sqrt(x), 0.7, 6),
    "reciprocal": (tf.reciprocal, lambda x: 1 / x, 0.7, 6),
    "square": (tf.square, lambda x: x**2, 0.7, 6),
    "cube": (lambda x: x**3, lambda x: x**3, 0.7, 6),
    "fifth_at_zero": (lambda x: x**5, lambda x: x**5, 0.0, 6),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5), 0.7, 6),
    "power_of_two": (lambda x: 2.0**x, lambda x: mpmath.mpf(2) ** x, 0.7, 6),
    "x_to_the_x": (lambda x: tf.pow(x, x), lambda x: x**x, 0.7, 6),
    "quotient": (lambda x: tf.sin(x) / (1 + x * x), lambda x: mpmath.sin(x) / (1 + x**2), 0.7, 6),
    "atan2": (lambda x: tf.atan2(x, 1 + x * x), lambda x: mpmath.atan(x / (1 + x**2)), 0.5, 6),
    "xlogy": (lambda x: tf.math.xlogy(x, x), lambda x: x * mpmath.log(x), 0.7, 6),
    "gaussian": (lambda x: tf.exp(-tf.square(x)), lambda x: mpmath.exp(-(x**2)), 0.7, 8),
    "log_sum": (lambda x: tf.reduce_logsumexp([x, 2 * x]), lambda x: x + mpmath.log(1 + mpmath.exp(x)), 0.4, 6),
}  # fmt: skip


def test_functions_of_one_variable_have_the_derivatives_that_analysis_gives(run):
    found = {}
    for name, (function, _, place, order) in FUNCTIONS.items():
        x = tf.constant(place, tf.float64)
        found[name] = symgrad.jet(function(x), x, line(1.0, order))
    for name, got in run(found).items():
        _, function, place, order = FUNCTIONS[name]
        with mpmath.workdps(40):
            want = [float(mpmath.diff(function, mpmath.mpf(place), n)) for n in range(1, order + 1)]
        # The rounding of the recurrences grows as the coefficients do, by up to a digit in the last ones.
        for n, (g, w) in enumerate(zip(got, want, strict=True), 1):
            assert abs(g - w) <= 1e-12 * max(abs(w), math.factorial(n)), (name, n, g, w)


# Ops without a row of their own, and such that mix, in the shape [3, 4].
OPS = {
    "softmax": tf.nn.softmax,
    "product": lambda x: tf.matmul(tf.sin(x), tf.exp(x), transpose_b=True),
    "einsum": lambda x: tf.einsum("ij,kj,kl->il", tf.sin(x), x, tf.exp(x)),
    "difference": lambda x: tf.math.squared_difference(x, tf.sin(x)),
    "mean": lambda x: tf.reduce_mean(tf.exp(x), 0),
    "broadcast": lambda x: tf.sin(x) * tf.exp(x[0]) + x[1] / tf.exp(x) - tf.cos(x[:, :1]),
    "normal": lambda x: tf.nn.l2_normalize(x, 1),
    "norm": lambda x: tf.norm(x, axis=1),
    "solve": lambda x: tf.linalg.solve(x[:3, :3] + 3 * tf.eye(3, dtype=x.dtype), tf.exp(x)),
    "cholesky": lambda x: tf.linalg.cholesky(x @ tf.transpose(x) + 2 * tf.eye(3, dtype=x.dtype)),
    "inverse": lambda x: tf.linalg.inv(x[:, :3] + 3 * tf.eye(3, dtype=x.dtype)),
    "vectors": lambda x: tf.linalg.svd(x)[1][:, 0] ** 2,  # P reads the results that nobody needs
    "eigenvalues": lambda x: tf.linalg.eigvalsh(x @ tf.transpose(x)),
    "maximum": lambda x: tf.maximum(x * x, tf.sin(x)),
    "largest": lambda x: tf.nn.top_k(tf.sin(x), 2)[0],
    "gathered": lambda x: tf.gather(tf.exp(x), [2, 0, 2]),
    "cumulated": lambda x: tf.cumprod(tf.exp(x), 1),
    "joined": lambda x: tf.concat([tf.sin(x), x[:1]], 0)[::2],
    "layer_norm": lambda x: (x - tf.reduce_mean(x, 1)[:, None]) * tf.rsqrt(tf.nn.moments(x, 1, keepdims=True)[1] + 0.1),
    "cross_entropy": lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=x * x),
    "fourier": lambda x: tf.abs(tf.spectral.rfft(tf.sin(x))) ** 2,
    "complex": lambda x: tf.math.real(tf.exp(tf.complex(x, x * x)) * tf.math.conj(tf.complex(x, 1 + x))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_a_jet_is_what_nested_rops_give(name, run, rng):
    x, v = (tf.constant(rng.uniform(low, 0.8, (3, 4))) for low in (0.2, -0.8))
    y = OPS[name](x)
    got, want = run([symgrad.jet(y, x, line(v, 3)), nested(y, x, v, 3)])
    for g, w in zip(got, want, strict=True):
        close(g, w)


def test_a_curve_bends(run):
    """d^k/dt^k sin(x + t a + t^2 b / 2 + t^3 c / 6), by Faà di Bruno's formula."""
    place, a, b, c = 0.3, 0.7, -0.4, 1.1
    x = tf.constant(place, tf.float64)
    got = run(symgrad.jet(tf.sin(x), x, [a, b, c]))
    s, co = math.sin(place), math.cos(place)
    np.testing.assert_allclose(got, [co * a, co * b - s * a**2, co * c - 3 * s * a * b - co * a**3], rtol=1e-14)


def test_a_curve_that_starts_at_rest(run):
    """Along x + t^2 b / 2 the first derivative is zero, and the second is the slope."""
    x = tf.constant([[0.3, 0.5], [0.2, 0.1]], tf.float64)
    y = tf.linalg.inv(x)
    b = np.array([[0.0, 1.0], [0.5, 0.0]])
    first, second, third = run(symgrad.jet(y, x, [None, b, None]))
    inverse = np.linalg.inv([[0.3, 0.5], [0.2, 0.1]])
    np.testing.assert_allclose(second, -inverse @ b @ inverse, rtol=1e-13)
    assert not first.any()
    assert not third.any()


def test_several_xs_and_ys_and_one_x_upstream_of_another(run):
    a = tf.constant(0.3, tf.float64)
    b = tf.sin(a)
    series = {"a": [1.0, 0.5], "b": [2.0, None]}
    got = run(symgrad.jet([a * b, tf.exp(b)], {"a": a, "b": b}, series))
    sine, cosine = math.sin(0.3), math.cos(0.3)
    db, ddb = cosine + 2.0, -sine + 0.5 * cosine  # b moves with a and by itself
    np.testing.assert_allclose(got[0], [sine + 0.3 * db, 0.5 * sine + 2 * db + 0.3 * ddb], rtol=1e-14)
    np.testing.assert_allclose(got[1], [math.exp(sine) * db, math.exp(sine) * (ddb + db**2)], rtol=1e-14)


def test_order_one_is_the_rop(run):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.stack([x[0] * x[1], x[2] ** 2])
    jet, rop = run([symgrad.jet(y, x, [[1.0, 0.0, 1.0]])[0], symgrad.Rop(y, x, [1.0, 0.0, 1.0])])
    np.testing.assert_array_equal(jet, rop)


def test_what_is_zero_by_the_structure_is_zeros(run):
    x = tf.constant([1.0, -2.0])
    got = run(symgrad.jet([tf.nn.relu(x), 3 * x], x, line([1.0, 1.0], 3)))
    np.testing.assert_array_equal(got[0], [[1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(got[1], [[3, 3], [0, 0], [0, 0]])


def test_a_jet_has_gradients(run, rng):
    """By the weights, in reverse, as a loss of a physics-informed network needs them."""
    x, v = (tf.constant(rng.standard_normal((5, 2))) for _ in range(2))
    w = tf.constant(rng.standard_normal((2, 3)))
    b = tf.constant(rng.standard_normal(3))
    y = tf.tanh(tf.nn.bias_add(x @ w, b)) ** 2
    got, want = (f(y, x, v) for f in (lambda *a: symgrad.jet(*a[:2], line(a[2], 3)), lambda *a: nested(*a, 3)))
    pairs = [tf.gradients([tf.reduce_sum(d**2) for d in found], [w, b]) for found in (got, want)]
    for g, h in zip(*run(pairs), strict=True):
        close(g, h)


def test_float32_and_unknown_sizes(run, rng):
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.constant(rng.standard_normal((2, 3)), tf.float32)
    found = symgrad.jet(tf.tanh(x @ w), x, line(tf.ones_like(x), 2))
    assert [d.shape.as_list() for d in found] == [[None, 3]] * 2
    point = rng.standard_normal((4, 2)).astype(np.float32)
    first, second = run(found, {x: point})
    t, slope = np.tanh(point @ run(w)), run(w).sum(0)
    np.testing.assert_allclose(first, (1 - t**2) * slope, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(second, -2 * t * (1 - t**2) * slope**2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("series", "message"),
    [([], "of the derivatives"), (1.0, "of the derivatives"), ([[1.0, 1.0, 1.0]], r"shape \(3,\), expected \(2,\)")],
)
def test_a_wrong_series_is_named_and_nothing_is_built(series, message, graph):
    x = tf.constant([1.0, 2.0])
    y = tf.sin(x)
    before = len(graph.get_operations())
    with pytest.raises(errors.ShapeError, match=message):
        symgrad.jet(y, x, series)
    assert {op.type for op in graph.get_operations()[before:]} <= {"Const"}


def test_lists_of_different_lengths_are_named():
    x, z = tf.constant([1.0, 2.0]), tf.constant(1.0)
    with pytest.raises(errors.ShapeError, match=r"series\[1\] has 1 derivatives and series\[0\] has 2"):
        symgrad.jet(x * z, [x, z], [[None, None], [None]])


def test_no_path(run):
    x, z = tf.constant([1.0, 2.0]), tf.constant(1.0)
    with pytest.raises(errors.DisconnectedError, match="Floor"):
        symgrad.jet([x, tf.floor(x)], x, line([1.0, 1.0], 2))
    given = symgrad.jet([x * z, tf.floor(x)], x, line([1.0, 1.0], 2), disconnected="none")
    assert given[1] == [None, None]
    np.testing.assert_array_equal(run(symgrad.jet(tf.floor(x), x, line(x, 2), disconnected="zero")), np.zeros((2, 2)))


def test_a_missing_rule_is_named():
    x = tf.constant([[1.0, 2.0]])
    with pytest.raises(errors.MissingRuleError, match="Betainc"):
        symgrad.jet(tf.math.betainc(x, x, x), x, line([[1.0, 1.0]], 2))


def test_a_gradient_function_may_read_what_moves_besides_its_op(run):
    """A function whose gradient is u sin(x), at e^x: the derivative along x is e^x sin(x), and so on."""

    def y(x):
        z = tf.sin(x)
        return tf.custom_gradient(lambda a: (tf.identity(a), lambda u: u * z))(tf.exp(x)), z

    x = tf.constant(0.3, tf.float64)
    many = tf.constant([[0.3, 0.5, 0.7, 0.9, 1.1, 1.3]], tf.float64)  # more directions than go side by side
    found, z = y(x)
    jets = symgrad.jet(found, x, line(1.0, 3)), symgrad.jet(found, x, line(1.0, 2), stop_gradients=z)
    (moving, still), laplacian = run([jets, symgrad.laplacian(y(many)[0], many)])
    s, c, e = np.sin(0.3), np.cos(0.3), np.exp(0.3)
    np.testing.assert_allclose(moving, [e * s, e * (s + c), 2 * e * c], rtol=1e-14)
    np.testing.assert_allclose(still, [e * s, e * s], rtol=1e-14)
    at = np.array([0.3, 0.5, 0.7, 0.9, 1.1, 1.3])
    np.testing.assert_allclose(laplacian[0], np.exp(at) * (np.sin(at) + np.cos(at)), rtol=1e-13)


def test_a_refused_jet_leaves_no_op(graph):
    """The derivative of Igamma by its first argument is known, that of this derivative is not."""
    x = tf.constant([0.5, 1.0, 1.5], tf.float64)
    columns = x[:, tf.newaxis]
    y, field = (tf.math.igamma(t, tf.ones_like(t)) for t in (x, columns))
    calls = [
        lambda: symgrad.jet(y, x, line(np.ones(3), 2)),
        lambda: symgrad.jet(y, x, [np.ones(3), np.ones(2)]),
        lambda: symgrad.partials(field, columns, ["xx"], axes="x"),
        lambda: symgrad.laplacian(field, columns),
        lambda: symgrad.laplacian(field, columns, directions=np.ones([1, 3, 2])),
    ]
    before = graph.as_graph_def()
    for call in calls:
        with pytest.raises(errors.SymgradError):
            call()
        assert graph.as_graph_def() == before
