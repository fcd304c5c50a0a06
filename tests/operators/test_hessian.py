"""Hessians and products with them, against central differences of the gradient and dense algebra."""

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from cases import CASES, v1_control_flow

import symgrad
from symgrad.errors import DisconnectedError, DtypeError, MissingRuleError, ShapeError
from symgrad.testing import numeric_jacobian

# Central differences of step 6e-6 leave some 1e-10 of smooth functions of size one; the cases go up to a hundred.
TOLERANCE = 1e-6
# Rounding of sums in float64.
ROUNDING = 1e-12


def close(got, want, tolerance=TOLERANCE):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, np.max(np.abs(want), initial=0)))


def scalar(ys):
    """A scalar function of all ys that is not linear in any: sum of sin(y) over their elements."""
    return tf.add_n([tf.reduce_sum(tf.sin(y)) for y in tf.nest.flatten(ys)])


def matrix(blocks, sizes):
    """The Hessian as one matrix."""
    return np.block(
        [[np.reshape(b, (n, m)) for b, m in zip(row, sizes, strict=True)] for row, n in zip(blocks, sizes, strict=True)]
    )


# Their graphs hold the second derivative back.
HELD_BACK = {
    "batch_norm_in_training": "tf.nn.moments puts a stop_gradient around the mean inside the variance",
}
SMOOTH = [c for c in CASES if not c.no_rop and not c.name.startswith("complex") and c.name not in HELD_BACK]


@pytest.mark.parametrize("case", SMOOTH, ids=lambda c: c.name)
def test_symmetric_and_equal_to_differences_of_the_gradient(case, session):
    ys, xs = case(np.random.default_rng(0))
    session.run(tf.global_variables_initializer())
    y, xs = scalar(ys), tf.nest.flatten(xs)
    # An x that is fed hides the xs upstream of it from the differences: those rows are compared by symmetry alone.
    blocks = session.run(symgrad.hessian(y, xs, block_size=1, disconnected="zero"))
    sizes = [b.shape[: b.ndim // 2] for b in (row[i] for i, row in enumerate(blocks))]
    whole = matrix(blocks, [int(np.prod(s)) for s in sizes])
    close(whole, whole.T, ROUNDING)
    if case.name == "x_upstream_of_x":
        return
    gradients = symgrad.Lop(y, xs, 1.0, disconnected="zero")
    for row, want in zip(blocks, numeric_jacobian(gradients, xs, session=session), strict=True):
        for b, w in zip(row, want, strict=True):
            assert b.shape == w.shape
            close(b, w)


@pytest.mark.core
def test_blocks_of_several_xs(session, rng):
    a, b = tf.constant(rng.standard_normal((1, 3))), tf.constant(rng.standard_normal(2))
    y = tf.reduce_sum(a**2) * tf.reduce_prod(b)
    (aa, ab), (ba, bb) = session.run(symgrad.hessian(y, [a, b]))
    va, (p, q) = session.run([a, b])
    assert aa.shape == (1, 3, 1, 3)
    assert ab.shape == (1, 3, 2)
    close(aa[0, :, 0], 2 * p * q * np.eye(3), ROUNDING)
    close(ab[0], 2 * np.outer(va, [q, p]), ROUNDING)
    close(ba[:, 0], ab[0].T, ROUNDING)
    close(bb, np.sum(va**2) * np.array([[0, 1], [1, 0]]), ROUNDING)


def test_a_linear_function_has_a_hessian_of_zeros(session):
    x, unused = tf.constant([1.0, 2.0]), tf.constant([1.0])
    y = tf.reduce_sum(3 * x)
    np.testing.assert_array_equal(session.run(symgrad.hessian(y, x)), np.zeros((2, 2)))
    np.testing.assert_array_equal(session.run(symgrad.hvp(y, x, [1.0, 1.0])), [0, 0])
    for call in (lambda **k: symgrad.hessian(y, [x, unused], **k), lambda **k: symgrad.hvp(y, [x, unused], None, **k)):
        with pytest.raises((DisconnectedError, ShapeError)):
            call()
    with pytest.raises(DisconnectedError, match="no path"):
        symgrad.hessian(y, [x, unused])
    with pytest.raises(DisconnectedError, match="no path"):
        symgrad.hvp(y, [x, unused], [None, None])
    none = symgrad.hessian(y, [x, unused], disconnected="none")
    assert [[b is None for b in row] for row in none] == [[False, True], [True, True]]
    zero = session.run(symgrad.hessian(y, [x, unused], disconnected="zero"))
    np.testing.assert_array_equal(zero[1][0], np.zeros((1, 2)))
    assert symgrad.hvp(y, [x, unused], [[1.0, 2.0], None], disconnected="none")[1] is None


@pytest.mark.core
@pytest.mark.parametrize("size", [1, 2, None])
def test_unknown_shapes(session, size):
    x = tf.placeholder(tf.float64, [None, 2])
    h = symgrad.hessian(tf.reduce_sum(x**3), x, block_size=size)
    assert h.shape.as_list() == [None, 2, None, 2]
    got = session.run(h, {x: [[1, 2], [3, 4]]})
    close(got.reshape(4, 4), np.diag([6, 12, 18, 24]), ROUNDING)


@pytest.mark.core
def test_through_a_v1_loop(session, rng):
    x = tf.constant(rng.standard_normal(3))
    with v1_control_flow():
        y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1]
    loss = tf.reduce_sum(tf.exp(y))
    want = numeric_jacobian(symgrad.Lop(loss, x, 1.0), x, session=session)
    got = session.run(symgrad.hessian(loss, x))
    close(got, want)
    close(got, got.T, ROUNDING)


@pytest.mark.core
def test_hvp_is_the_hessian_times_the_vector(session, network, rng):
    y, x = network
    loss = tf.reduce_sum(tf.sin(y))
    variables = tf.global_variables()
    xs = {"x": x, "w": variables}
    v = tf.nest.map_structure(lambda t: rng.standard_normal(t.shape.as_list()), xs)
    got = session.run(symgrad.hvp(loss, xs, v))
    blocks = session.run(symgrad.hessian(loss, xs))
    flat = tf.nest.flatten(v)
    for row, g in zip((blocks[k] for k in ("x",)), [got["x"]], strict=True):
        want = sum(np.tensordot(b, u, u.ndim) for b, u in zip(tf.nest.flatten(row), flat, strict=True))
        close(g, want, ROUNDING)
    want = sum(np.tensordot(b, u, u.ndim) for b, u in zip(tf.nest.flatten(blocks["w"][1]), flat, strict=True))
    close(got["w"][1], want, ROUNDING)


@pytest.mark.core
def test_ggnvp_is_jt_h_j(session, network, rng):
    y, x = network
    w = tf.global_variables()[1]
    loss = tf.reduce_sum(tf.exp(y)) + tf.reduce_prod(y)
    v = [rng.standard_normal((1, 4)), rng.standard_normal((6, 5))]
    got = session.run(symgrad.ggnvp(loss, y, [x, w], v))
    jx, jw = session.run(symgrad.jacobian(y, [x, w]))
    j = np.concatenate([jx.reshape(7, 4), jw.reshape(7, 30)], 1)
    h = session.run(symgrad.hessian(loss, y)).reshape(7, 7)
    want = j.T @ h @ j @ np.concatenate([u.ravel() for u in v])
    close(np.concatenate([g.ravel() for g in got]), want, ROUNDING)


def test_ggnvp_of_an_output_in_which_the_loss_is_linear_is_zero(session):
    x = tf.constant([1.0, 2.0])
    y = x**2
    np.testing.assert_array_equal(session.run(symgrad.ggnvp(tf.reduce_sum(y), y, x, [1.0, 1.0])), [0, 0])
    with pytest.raises(DisconnectedError):
        symgrad.ggnvp(tf.reduce_sum(y), y, tf.constant([1.0]), [1.0])


def test_holomorphic_second_derivative(session):
    z = tf.constant([1 + 2j, 3 - 1j])
    y = tf.reduce_sum(z**3)
    want = np.diag([6 + 12j, 18 - 6j])
    np.testing.assert_allclose(session.run(symgrad.hessian(y, z)), want, rtol=1e-14)
    np.testing.assert_allclose(session.run(symgrad.hvp(y, z, [1j, 1])), [-12 + 6j, 18 - 6j], rtol=1e-14)


def test_y_must_be_a_scalar():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        for call in (lambda: symgrad.hessian(x, x), lambda: symgrad.hvp(x, x, x), lambda: symgrad.ggnvp(x, x, x, x)):
            with pytest.raises(ShapeError, match="one scalar"):
                call()


def test_a_missing_second_derivative_is_named():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        with pytest.raises(MissingRuleError, match="IgammaGradA"):
            symgrad.hessian(tf.reduce_sum(tf.math.igamma(x, 1.5)), x)


Z = np.array([1 + 2j, -0.5 + 0.3j])
U = np.array([1j, 2 - 1j])
REAL_OF_COMPLEX = {
    "modulus": lambda z: tf.reduce_sum(tf.abs(z) ** 2),
    "real part": lambda z: tf.reduce_sum(tf.math.real(z**3)),
}


@pytest.mark.core
@pytest.mark.parametrize("name", REAL_OF_COMPLEX)
def test_real_y_of_complex_x(run, name):
    z = tf.placeholder_with_default(Z, [2])
    y = REAL_OF_COMPLEX[name](z)
    (gradient,) = tf.gradients(y, z)
    product = run(symgrad.hvp(y, z, U))
    step = 1e-6  # rounding 1e-10 of a difference of values of about 10
    difference = (run(gradient, {z: Z + step * U}) - run(gradient, {z: Z - step * U})) / (2 * step)
    close(product, difference, 1e-8)
    with pytest.raises(DtypeError, match="no complex derivative"):
        symgrad.hessian(y, z)


@pytest.mark.core
def test_holomorphic_y(run):
    z = tf.placeholder_with_default(Z, [2])
    y = z[0] ** 2 * z[1]
    matrix, product, gauss_newton = run([
        symgrad.hessian(y, z), symgrad.hvp(y, z, U), symgrad.ggnvp(tf.reduce_sum(z**2), z, z, U)
    ])  # fmt: skip
    want = np.array([[2 * Z[1], 2 * Z[0]], [2 * Z[0], 0]])
    close(matrix, want, ROUNDING)
    close(product, want @ U, ROUNDING)
    close(gauss_newton, 2 * U, ROUNDING)
    with pytest.raises(DtypeError, match="conjugates"):
        symgrad.hvp(tf.reduce_sum(tf.math.conj(z) * z), z, U)
    within = tf2.function(lambda a: tf.math.conj(a) * a)(z)
    for refused in (lambda: symgrad.hessian(tf.reduce_sum(within), z), lambda: symgrad.jacobian(within, z)):
        with pytest.raises(DtypeError, match="conjugates"):
            refused()


@pytest.mark.core
def test_gauss_newton_through_complex_outputs(run):
    x = tf.constant([1.0, 2.0, -1.0, 0.5], tf.float64)
    v = np.array([1.0, 0.0, 2.0, 3.0])
    field = tf.signal.fft(tf.complex(x, tf.zeros_like(x)))
    loss = tf.reduce_sum(tf.square(tf.abs(field - tf.constant([1 + 1j, 2j, 0.5, -1], tf.complex128))))
    close(run(symgrad.ggnvp(loss, field, x, v)), 8 * v, ROUNDING)  # 2 F^H F v, and F^H F is 4 times the identity
    close(run(symgrad.hvp(loss, x, v)), 8 * v, ROUNDING)


def test_y_that_only_the_session_knows_to_be_no_scalar(run):
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), None)
    product = symgrad.hvp(x**3, x, tf.ones_like(x))
    with pytest.raises(tf.errors.InvalidArgumentError, match="one scalar"):
        run(product)
    assert run(product, {x: 2.0}) == 12.0


@pytest.mark.core
@pytest.mark.parametrize("operator", [symgrad.hvp, lambda y, x, v: symgrad.ggnvp(y, y, x, v)])
def test_a_call_that_is_refused_leaves_no_op(graph, operator):
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), [2])
    vector, z = x**2, tf.complex(x, x)
    not_holomorphic = tf.reduce_sum(tf.math.conj(z) * z)
    before = len(graph.get_operations())
    with pytest.raises(ShapeError, match="one scalar"):
        operator(vector, x, [1.0, 1.0])
    with pytest.raises(DtypeError, match="conjugates"):
        symgrad.hvp(not_holomorphic, z, [1.0, 1.0])
    assert len(graph.get_operations()) == before
