"""Where TensorFlow's gradient is wrong: complex numbers, zeros among factors, empty segments, repeated indices."""

import numpy as np
import pytest
import scipy.special
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import DtypeError, MissingRuleError
from symgrad.testing import numeric_jacobian

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def complex_normal(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


TRIDIAGONAL = np.array([[0.0], [5.0], [0.0]])  # far from singular
COMPLEX = {
    "det": tf.linalg.det,
    "sign of a determinant": lambda x: tf.linalg.slogdet(x)[0],
    "logarithm of a determinant": lambda x: tf.linalg.slogdet(x)[1],
    "cumprod": tf.math.cumprod,
    "cumprod, exclusive, reverse": lambda x: tf.math.cumprod(x, 1, exclusive=True, reverse=True),
    "product": lambda x: tf.reduce_prod(x, 1),
    "segment_prod": lambda x: tf.math.segment_prod(x, [0, 0, 2]),
    "unsorted_segment_prod": lambda x: tf.math.unsorted_segment_prod(x, [1, -1, 1], 2),
    "tridiagonal_solve": lambda x: tf.linalg.tridiagonal_solve(x + TRIDIAGONAL, tf.transpose(x)),
    "sqrtm": lambda x: tf.linalg.sqrtm(0.2 * x + np.diag([1.0, 4.0, 9.0])),
    "norm": lambda x: tf.math.reduce_euclidean_norm(x, 1),
    "squared difference": lambda x: tf.math.squared_difference(x, 2 * x[::-1]),
    "sign": tf.sign,
    "singular values": lambda x: tf.cast(tf.linalg.svd(x, compute_uv=False), tf.complex128),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_of_first_and_second_order_are_those_of_differences(name, session, rng):
    """Re <u, J v> for Lop and J v for Rop; then the same of Lop itself."""
    x = tf.constant(complex_normal(rng, 3, 3))
    point, v = session.run(x), complex_normal(rng, 3, 3)
    y = COMPLEX[name](x)
    u = complex_normal(rng, *session.run(y).shape)
    pulled = symgrad.Lop(y, x, u)
    forward, double, second = (
        symgrad.Rop(y, x, v),
        symgrad.Rop(y, x, v, method="double_vjp"),
        symgrad.Rop(pulled, x, v, disconnected="zero"),
    )
    eps = 6e-6  # the cube root of float64's precision: central differences are right to some 1e-9
    (y_ahead, g_ahead), (y_behind, g_behind) = (session.run([y, pulled], {x: point + s * eps * v}) for s in (1, -1))
    want = (y_ahead - y_behind) / (2 * eps)
    found = session.run([pulled, forward, double, second])
    scale = 1 + np.abs(want).max() + np.abs(g_ahead).max()
    np.testing.assert_allclose(np.vdot(found[0], v).real, np.vdot(u, want).real, atol=1e-7 * scale)
    for tangent in found[1:3]:
        np.testing.assert_allclose(tangent, want, atol=1e-7 * scale)
    curved = (g_ahead - g_behind) / (2 * eps)
    np.testing.assert_allclose(found[3], curved, atol=1e-6 * (1 + np.abs(curved).max()))


def test_products_with_zeros_have_whole_derivatives_of_every_order(session):
    """d cumprod_i / dx_j is the product of the others up to i; the Hessian of abcd at two zeros has one pair."""
    x = tf.constant([2.0, 0.0, 3.0], tf.float64)
    jacobian = session.run(symgrad.jacobian(tf.math.cumprod(x), x))
    np.testing.assert_array_equal(jacobian, [[1, 0, 0], [0, 2, 0], [0, 6, 0]])
    z = tf.constant([0.0, 2.0, 0.0, 3.0], tf.float64)
    want = np.zeros([4, 4])
    want[0, 2] = want[2, 0] = 6
    products = {
        "reduce_prod": tf.reduce_prod(z),
        "cumprod": tf.math.cumprod(z)[-1],
        "segment_prod": tf.math.segment_prod(z, [0, 0, 0, 0])[0],
        "unsorted_segment_prod": tf.math.unsorted_segment_prod(z, [0, 0, 0, 0], 1)[0],
    }
    for name, y in products.items():
        np.testing.assert_array_equal(session.run(symgrad.hessian(y, z)), want, err_msg=name)


@pytest.mark.parametrize(
    ("op", "exclusive", "reverse"), [(tf.math.cumprod, True, False), (tf.math.cumulative_logsumexp, False, True)]
)
def test_cumulative_ops_of_unknown_size(op, exclusive, reverse, session, rng):
    x = tf.placeholder_with_default(rng.standard_normal((2, 5)), None)
    point, v, u = session.run(x), *rng.standard_normal((2, 2, 5))
    if op is tf.math.cumprod:
        point[0, 2] = 0.0
    y = op(x, tf.constant(-1), exclusive=exclusive, reverse=reverse)
    y = tf.where(tf.abs(y) < 1e100, y, tf.zeros_like(y))  # an exclusive logsumexp of nothing is the lowest number
    pulled = symgrad.Lop(y, x, u)
    eps = 6e-6
    ahead, behind = (session.run(y, {x: point + s * eps * v}) for s in (1, -1))
    gradient = session.run(pulled, {x: point})
    np.testing.assert_allclose(np.vdot(gradient, v), np.vdot(u, ahead - behind) / (2 * eps), atol=1e-7)


def test_gradients_follows_tensorflow_where_the_operators_correct_it(session, rng):
    x = tf.constant(complex_normal(rng, 3))
    y, u = tf.math.cumprod(x), tf.ones(3, tf.complex128)
    drop_in, theirs, ours = session.run([symgrad.gradients(y, x, u)[0], tf.gradients(y, x, u)[0], symgrad.Lop(y, x, u)])
    np.testing.assert_array_equal(drop_in, theirs)
    assert np.abs(drop_in - ours).max() > 0.1


@pytest.mark.parametrize("method", ["forward", "double_vjp"])
def test_empty_segments_are_no_nan(method, session):
    x = tf.constant([[1.0, 5.0], [2.0, 4.0]], tf.float64)
    ids = [0, 2]
    for op in (tf.math.segment_max, tf.math.segment_min, tf.math.segment_mean):
        found = session.run(symgrad.Rop(op(x, ids), x, [[1, 2], [3, 4]], method=method))
        np.testing.assert_array_equal(found, [[1, 2], [0, 0], [3, 4]])


def test_of_two_updates_of_one_place_the_last_one_counts(session):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = tf.tensor_scatter_nd_update(tf.zeros([2], tf.float64), [[1], [0], [1]], x)
    found = [symgrad.Rop(y, x, [1.0, 10.0, 100.0], method=m) for m in ("forward", "double_vjp")]
    pulled, *pushed = session.run([symgrad.Lop(y, x, [1.0, 1.0]), *found])
    np.testing.assert_array_equal(pulled, [0, 1, 1])
    np.testing.assert_array_equal(pushed, [[10, 100]] * 2)


@pytest.mark.parametrize("known", [True, False])
def test_labels_of_a_cross_entropy_broadcast(known, session, rng):
    """loss_i = -sum_j l_j log softmax(a_i)_j: the derivative in l is the sum over i."""
    logits, labels = rng.standard_normal((3, 4)), np.full((1, 4), 0.25)
    a = tf.placeholder(tf.float64, [3, 4] if known else None)
    given = tf.placeholder(tf.float64, [1, 4] if known else None)
    y = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=a, labels=given).loss
    pulled = session.run([symgrad.Lop(y, t, np.ones(3)) for t in (a, given)], {a: logits, given: labels})
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(pulled[0], softmax - labels, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pulled[1], -np.log(softmax).sum(0, keepdims=True), rtol=1e-12)


def test_second_derivatives_through_a_batch_norm_in_inference(session, rng):
    """y = (k (x - m) + b)^3 summed: the Hessian is diagonal, 6 y^(1/3) k^2."""
    x = tf.constant(rng.standard_normal((2, 2, 2, 2)), tf.float32)
    scale, offset, mean, variance = [1.5, 0.5], [0.1, 0.2], [0.1, 0.2], [1.0, 2.0]
    normal = tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]
    v = rng.standard_normal((2, 2, 2, 2)).astype("f")
    found, base = session.run([symgrad.hvp(tf.reduce_sum(normal**3), x, v), normal])
    k = np.array(scale) / np.sqrt(np.array(variance) + 0.001)
    np.testing.assert_allclose(found, 6 * base * k * k * v, rtol=1e-4, atol=1e-4)  # float32
    given = tf.constant(mean)
    y = tf.nn.fused_batch_norm(x, scale, offset, given, variance, is_training=False)[0]
    with pytest.raises(MissingRuleError):
        symgrad.Lop(y, given, tf.ones_like(y))


@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
def test_second_derivatives_through_sparse_lookups(combiner, session, rng):
    """|L x|^2 with L linear: its Hessian times v is the gradient at v."""
    x, v = (tf.constant(rng.standard_normal((4, 2))) for _ in range(2))
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 3], tf.int64), [3, 2])

    def loss(t):
        return tf.reduce_sum(tf.nn.safe_embedding_lookup_sparse([t], ids, combiner=combiner) ** 2)

    found = session.run([symgrad.hvp(loss(x), x, v), symgrad.Lop(loss(v), v, 1.0)])
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_hvp_of_a_real_function_of_complex_numbers_is_the_derivative_of_its_gradient(session, rng):
    """|z|^2 has gradient 2 z, whose derivative along v is 2 v; a complex Hessian does not exist."""
    z, v = tf.constant(complex_normal(rng, 3)), complex_normal(rng, 3)
    y = tf.reduce_sum(tf.abs(z) ** 2)
    np.testing.assert_allclose(session.run(symgrad.hvp(y, z, v)), 2 * v, rtol=1e-10)
    with pytest.raises(DtypeError, match="no complex derivative"):
        symgrad.hessian(y, z)
    for bad in (tf.reduce_sum(z * tf.math.conj(z)), tf.math.reduce_euclidean_norm(z)):
        with pytest.raises(DtypeError, match="holomorphic"):
            symgrad.hvp(bad, z, v)


def test_gauss_newton_of_complex_outputs(session, rng):
    """sum |F x - c|^2 with F the Fourier matrix: J^T H J = 2 Re F^H F = 2 n."""
    x = tf.constant(rng.standard_normal(4))
    field = tf.signal.fft(tf.cast(x, tf.complex128))
    loss = tf.reduce_sum(tf.abs(field - complex_normal(rng, 4)) ** 2)
    v = rng.standard_normal(4)
    np.testing.assert_allclose(session.run(symgrad.ggnvp(loss, field, x, v)), 8 * v, rtol=1e-10)


@pytest.mark.parametrize("second", [lambda y, x: symgrad.hvp(y, x, [1.0, 1.0]), symgrad.hessian])
def test_a_loss_whose_rank_the_session_finds_to_be_no_scalar_is_refused(second, session):
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be one scalar"):
        session.run(second(x**3, x))
    session.run(second(tf.reduce_sum(x**3), x))


PRODUCTS = {
    "product": (tf.reduce_prod, [[0, 3, 2], [3, 0, 0], [2, 0, 0]]),
    "cumprod": (lambda x: tf.reduce_sum(tf.math.cumprod(x)), [[0, 4, 2], [4, 0, 0], [2, 0, 0]]),
    "segment_prod": (
        lambda x: tf.math.segment_prod(x, tf.zeros_like(x, tf.int32))[0],
        [[0, 3, 2], [3, 0, 0], [2, 0, 0]],
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_second_derivatives_of_products_along_an_axis_of_unknown_size(name, session):
    """At (0, 2, 3): of abc the entries are c, b and a; of a + ab + abc they are 1 + c, b and a."""
    function, hessian = PRODUCTS[name]
    x, v = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.float64, [None])
    product = symgrad.hvp(function(x), x, v)
    found = [session.run(product, {x: [0, 2, 3], v: row}) for row in np.eye(3)]
    np.testing.assert_allclose(found, hessian, atol=1e-12)


def test_labels_that_do_not_add_up_to_one(session):
    """A row of zeros, as masking gives, has loss 0 at all logits: no gradient, where TensorFlow gives the softmax."""
    logits = tf.constant([[0.3, -1.0, 2.0], [0.5, 0.1, 0.2]], tf.float64)
    labels = tf.constant([[0.0, 0.0, 0.0], [0.5, 0.5, 1.0]], tf.float64)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    found, softmax = session.run([symgrad.Lop(loss, logits, [1.0, 1.0]), tf.nn.softmax(logits)])
    np.testing.assert_allclose(found, [[0, 0, 0], 2 * softmax[1] - [0.5, 0.5, 1.0]], atol=1e-12)


@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (tf.lgamma, [scipy.special.digamma, lambda x: scipy.special.polygamma(1, x)]),
        (tf.digamma, [lambda x: scipy.special.polygamma(1, x), lambda x: scipy.special.polygamma(2, x)]),
    ],
    ids=["lgamma", "digamma"],
)
def test_gamma_functions_in_half_precision(function, derivatives, session):
    """TensorFlow's gradients of them build ops that have no half precision."""
    x = tf.constant([0.5, 1.5, 3.0], tf.float16)
    y, ones = function(x), np.ones(3, np.float16)
    points = np.array([0.5, 1.5, 3.0])
    first, second = (derivative(points) for derivative in derivatives)
    close = {"rtol": 1e-2, "atol": 1e-2}  # some eps (1e-3) of float16, and what the intermediate values lose
    for got in (symgrad.Lop(y, x, ones), symgrad.Rop(y, x, ones), symgrad.Rop(y, x, ones, method="double_vjp")):
        np.testing.assert_allclose(session.run(got), first, **close)
    np.testing.assert_allclose(session.run(symgrad.hvp(tf.reduce_sum(y), x, ones)), second, **close)


def _in_three(x, widths, strides):
    """There is no pool of three dimensions in double precision."""
    pooled = tf.nn.max_pool3d(tf.cast(x, tf.float32)[:, tf.newaxis], [1, *widths], [1, *strides], "SAME")
    return tf.cast(pooled[:, 0], tf.float64)


POOLS = {
    "same": (lambda x: tf.nn.max_pool2d(x, 2, 1, "SAME"), None),
    "same, strides": (lambda x: tf.nn.max_pool2d(x, [3, 2], [2, 1], "SAME"), None),
    "one wide": (lambda x: tf.nn.max_pool2d(x, 1, 1, "VALID"), None),
    "one wide, strides": (lambda x: tf.nn.max_pool2d(x, 1, 2, "SAME"), None),
    "sizes in a tensor": (
        lambda x: tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME"),
        None,
    ),
    "3-D": (lambda x: _in_three(x, [2, 2], [1, 1]), "same"),
    "3-D, strides": (lambda x: _in_three(x, [3, 2], [2, 1]), "same, strides"),
}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (1, 1, 1, 1)], ids=["2 x 3 x 4 x 2", "one"])
def test_a_pool_pushes_a_vector_that_nobody_else_reads(pool, shape, session, rng):
    """TensorFlow's kernel writes zeros into the memory of such a vector before it reads it."""
    x = tf.placeholder(tf.float64, [None] * 4)
    v = tf.placeholder(tf.float64, [None] * 4)
    function, like = POOLS[pool]
    y = function(x)
    numbers = rng.permutation(np.prod(shape)).reshape(shape) * 0.5  # no two alike
    feeds = {x: numbers, v: rng.standard_normal(shape)}
    same = POOLS[like][0](x) if like else y
    wanted = np.tensordot(numeric_jacobian(same, x, session=session, feed_dict=feeds), feeds[v], 4)
    close = 1e-5 if like else 1e-8  # single precision; differences of a function that is linear there
    for method in ("forward", "double_vjp"):
        got = session.run(symgrad.Rop(y, x, 2.0 * v, method=method), feeds)
        np.testing.assert_allclose(got, 2.0 * wanted, rtol=close, atol=close)
    squares = symgrad.hvp(tf.reduce_sum(y**2) / 2, x, 2.0 * v)  # J^T J v of maxima that stay where they are
    back = symgrad.Lop(y, x, 2.0 * wanted)
    np.testing.assert_allclose(*session.run([squares, back], feeds), rtol=close, atol=close)
