"""Laplacians, partial derivatives, divergence and curl of fields: by analysis, against nested gradients, refused."""

import itertools
import logging
import math

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import errors
from symgrad.operators._laplacian import quartic

pytestmark = pytest.mark.core


def points(rng, d, n=5, dtype=tf.float64):
    return tf.constant(rng.uniform(-1, 1, (n, d)), dtype)


def squared(x):
    return tf.reduce_sum(x * x, 1)


def close(got, want, tolerance=1e-12):
    """Relative to the largest element, at least to one: sums of some tens of products."""
    scale = max(1, np.max(np.abs(want), initial=0))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def network(x, width=8, seed=0):
    """A field [N, 1] of two layers, and its weights."""
    rng = np.random.default_rng(seed)
    sizes = [x.shape.as_list()[1], width, width, 1]
    weights = [tf.constant(rng.standard_normal(s) / math.sqrt(s[0]), x.dtype) for s in itertools.pairwise(sizes)]
    biases = [tf.constant(rng.standard_normal(n), x.dtype) for n in sizes[1:]]
    y = x
    for w, b in zip(weights[:-1], biases, strict=False):
        y = tf.tanh(tf.matmul(y, w) + b)
    return tf.matmul(y, weights[-1]) + biases[-1], [*weights, *biases[:-1]]


def nested(y, x, *index):
    """d y / dx_i dx_j ... of a field [N, 1] by tf.gradients."""
    for i in index:
        y = tf.gradients(y, x)[0][:, i : i + 1]
    return y


def test_the_biharmonic_of_r_to_the_fourth_is_8_d_d_plus_2(run, rng):
    for d in range(1, 6):
        x = points(rng, d)
        got = run(symgrad.biharmonic(squared(x) ** 2, x))
        close(got, np.full(5, 8.0 * d * (d + 2)))


def test_gaussians(run, rng):
    for d in (1, 2, 3, 6):
        x = points(rng, d)
        y = tf.exp(-squared(x))
        got, at = run([symgrad.laplacian(y, x), x])
        r2 = (at**2).sum(1)
        close(got, (4 * r2 - 2 * d) * np.exp(-r2))
        if d == 3:
            close(run(symgrad.biharmonic(y, x)), (16 * r2**2 - 80 * r2 + 60) * np.exp(-r2))


def test_a_soliton_of_korteweg_and_de_vries(run, rng):
    """u = 2 k^2 sech^2(k (x - 4 k^2 t)) solves u_t + 6 u u_x + u_xxx = 0."""
    x, t = points(rng, 1), points(rng, 1)
    k = 0.9
    u = 2 * k**2 / tf.cosh(k * (x - 4 * k**2 * t)) ** 2
    d = symgrad.partials(u, [x, t], ["t", "x", "xxx"], axes="xt")
    residual = run(d["t"] + 6 * u * d["x"] + d["xxx"])
    assert residual.shape == (5, 1)
    assert np.abs(residual).max() < 1e-10


def test_a_beam(run, rng):
    """u = sin(k x) cos(k^2 t) solves u_tt + u_xxxx = 0; so do the columns of one tensor."""
    x = points(rng, 2)
    u = tf.sin(1.7 * x[:, 0]) * tf.cos(1.7**2 * x[:, 1])
    d = symgrad.partials(u, x, [(0, 2), (4, 0)])
    assert np.abs(run(d[0, 2] + d[4, 0])).max() < 1e-10
    assert np.abs(run(d[4, 0])).max() > 1


def test_mixed_partials_of_powers(run, rng):
    x = points(rng, 2)
    a, b = x[:, :1], x[:, 1:]
    y = a**3 * b**2 * tf.exp(a)
    d = symgrad.partials(y, x, ["x", "y", "xy", "xxy", "xxyy", "xxx"], axes="xy")
    found, (p, q) = run([d, [a, b]])
    e = np.exp(p)
    first, second = (p**3 + 3 * p**2) * e, (p**3 + 6 * p**2 + 6 * p) * e
    close(found["x"], first * q**2)
    close(found["y"], p**3 * e * 2 * q)
    close(found["xy"], first * 2 * q)
    close(found["xxy"], second * 2 * q)
    close(found["xxyy"], second * 2)
    close(found["xxx"], (p**3 + 9 * p**2 + 18 * p + 6) * e * q**2)


def test_mixed_partials_in_float32_are_as_good_as_nested_ones(run, rng):
    at = rng.uniform(-1, 1, (50, 2))
    worst = {}
    for dtype in (tf.float64, tf.float32):
        x = tf.constant(at, dtype)
        y, _ = network(x)
        worst[dtype] = run([symgrad.partials(y, x, ["xxy"], axes="xy")["xxy"], nested(y, x, 0, 0, 1)])
    ours, theirs = (np.abs(worst[tf.float32][i] - worst[tf.float64][1]).max() for i in range(2))
    assert ours <= 3 * theirs + 1e-7


@pytest.mark.parametrize("d", [1, 3, 6])
def test_a_laplacian_and_its_gradient_by_the_weights(d, run, rng):
    """Side by side (d = 3) and stacked (d = 6), against nested tf.gradients."""
    x = points(rng, d)
    y, weights = network(x)
    got, first = symgrad.laplacian(y, x, gradient=True)
    want = tf.add_n([nested(y, x, i, i) for i in range(d)])
    pairs = [[f, tf.gradients(tf.reduce_mean(f**2), weights)] for f in (got, want)]
    (a, da), (b, db) = run(pairs)
    close(a, b)
    for g, h in zip(da, db, strict=True):
        close(g, h)
    close(run(first), run(tf.gradients(y, x)[0])[:, None, :])


def test_columns_and_points_agree(run, rng):
    columns = [points(rng, 1), points(rng, 1)]
    x = tf.concat(columns, 1)
    y, _ = network(x)
    got, want, half = run([symgrad.laplacian(y, columns), symgrad.laplacian(y, x), symgrad.laplacian(y, columns[0])])
    close(got, want)
    close(half, run(nested(y, columns[0], 0, 0)))


@pytest.mark.parametrize("d", [2, 5])
def test_weights_and_directions(d, run, rng):
    x = points(rng, d)
    y, _ = network(x)
    hessian = run(symgrad.batch_jacobian(tf.gradients(y, x)[0], x))
    w = rng.uniform(-1, 1, d)
    w[0] = 0
    close(run(symgrad.laplacian(y, x, weights=w))[:, 0], np.einsum("i,nii->n", w, hessian))
    v = rng.standard_normal((d + 1, d))
    close(run(symgrad.laplacian(y, x, directions=v))[:, 0], np.einsum("ri,nij,rj->n", v, hessian, v))
    sigma = tf.stack([tf.sin(x), x * x])  # that of a diffusion, which depends on the place
    found, second = symgrad.laplacian(y, x, directions=sigma, weights=[2, 1], gradient=True)
    s = run(sigma)
    close(run(found)[:, 0], np.einsum("r,rni,nij,rnj->n", [2, 1], s, hessian, s))
    close(run(second)[:, 0], np.einsum("rni,ni->nr", s, run(tf.gradients(y, x)[0])))


@pytest.mark.parametrize("block_size", [1, 2, 5, 7])
def test_blocks_agree(block_size, run, rng):
    x = points(rng, 7)
    y, _ = network(x)
    (got, first), want = run([symgrad.laplacian(y, x, block_size=block_size, gradient=True), symgrad.laplacian(y, x)])
    close(got, want)
    close(first[:, 0], run(tf.gradients(y, x)[0]))


def test_an_estimate_is_exact_where_the_hessian_is_diagonal_and_right_on_average(run, rng):
    x = points(rng, 6)
    y = tf.reduce_sum(tf.sin(x), 1)
    got, want = run([symgrad.laplacian(y, x, samples=1), symgrad.laplacian(y, x)])
    close(got, want)  # every sign gives one
    tf.set_random_seed(1)
    x = tf.constant(np.full((4000, 3), 0.3))
    y = tf.exp(squared(x)) + tf.reduce_prod(x, 1)
    estimates = [symgrad.laplacian(y, x, samples=2, weights=w) for w in (None, [1, 0, 2])]
    (got, weighted), want = run([estimates, symgrad.laplacian(y, x)])
    deviation = got.std() / math.sqrt(len(got))
    assert deviation > 0
    assert abs(got.mean() - want[0]) < 5 * deviation
    third = run(symgrad.laplacian(y, x, weights=[1, 0, 2]))
    assert abs(weighted.mean() - third[0]) < 5 * weighted.std() / math.sqrt(len(got))


def test_directional_derivatives(run, rng):
    x = points(rng, 3)
    y, _ = network(x)
    v = rng.standard_normal(3)
    got = run(symgrad.directional(y, x, v, 4))
    want, tensor = [], y
    for _ in range(4):
        tensor = tf.reduce_sum(tf.gradients(tensor, x)[0] * v, 1, keepdims=True)
        want.append(tensor)
    for g, w in zip(got, run(want), strict=True):
        close(g, w)
    own = rng.standard_normal((5, 3))  # one for each point
    second = run(symgrad.directional(y, x, tf.constant(own), 2))[1]
    hessian = run(symgrad.batch_jacobian(tf.gradients(y, x)[0], x))
    close(second[:, 0], np.einsum("ni,nij,nj->n", own, hessian, own))


@pytest.mark.parametrize("d", [2, 3, 6])
def test_divergence_and_curl(d, run, rng):
    x = points(rng, d)
    field = tf.sin(x[:, ::-1]) * tf.exp(x) + tf.reduce_prod(x, 1, keepdims=True)
    jacobian = run(symgrad.batch_jacobian(field, x))
    close(run(symgrad.divergence(field, x)), np.einsum("nii->n", jacobian))
    if d == 2:
        close(run(symgrad.curl(field, x)), jacobian[:, 1, 0] - jacobian[:, 0, 1])
    if d == 3:
        pairs = [(2, 1), (0, 2), (1, 0)]
        close(run(symgrad.curl(field, x)), np.stack([jacobian[:, i, j] - jacobian[:, j, i] for i, j in pairs], 1))


def test_vector_fields_in_columns(run, rng):
    x, y = points(rng, 1), points(rng, 1)
    u, v = x**2 * y, tf.sin(x) + y
    got = run([symgrad.divergence([u, v], [x, y]), symgrad.curl([u, v], [x, y]), x, y])
    close(got[0], 2 * got[2] * got[3] + 1)
    close(got[1], np.cos(got[2]) - got[2] ** 2)


def test_several_fields_and_unknown_sizes(run, rng):
    x = tf.placeholder(tf.float32, [None, 6])
    y = {"a": tf.exp(squared(x) / 6), "b": tf.sin(x)}
    found = symgrad.laplacian(y, x)
    assert found["a"].shape.as_list() == [None]
    assert found["b"].shape.as_list() == [None, 6]
    at = rng.uniform(-1, 1, (3, 6)).astype(np.float32)
    got = run(found, {x: at})
    r2 = (at**2).sum(1)
    np.testing.assert_allclose(got["a"], np.exp(r2 / 6) * (r2 / 9 + 2), rtol=1e-5)
    np.testing.assert_allclose(got["b"], -np.sin(at), rtol=1e-5, atol=1e-6)


def test_a_field_that_is_linear_or_bent_has_zeros(run, rng):
    x = points(rng, 3)
    got = run(symgrad.laplacian([x @ tf.ones([3, 2], tf.float64), tf.nn.relu(x)], x))
    assert [g.shape for g in got] == [(5, 2), (5, 3)]
    assert not any(g.any() for g in got)


def test_a_variable_as_points(run, rng):
    at = rng.uniform(-1, 1, (4, 5))
    x = tf.get_variable("points", initializer=at, use_resource=True)
    close(run(symgrad.laplacian(tf.exp(squared(x)), x)), (4 * (at**2).sum(1) + 10) * np.exp((at**2).sum(1)))


FIELDS = {
    "softmax": lambda x: tf.nn.softmax(x),
    "normal": lambda x: tf.nn.l2_normalize(x, 1),
    "product": lambda x: x[:, :1] * tf.cumsum(tf.exp(x), 1),
    "quotient": lambda x: tf.sin(x) / (1 + tf.exp(x[:, ::-1])),
    "pairs": lambda x: tf.norm(x[:, :1] - tf.exp(x[:, 1:]), axis=1),
    "determinant": lambda x: tf.linalg.det(tf.matrix_diag(tf.exp(x)) + x[:, :, None] * x[:, None, :]),
    "conditions": lambda x: tf.where(x > 0, tf.sin(x), x**3),
    "einsum": lambda x: tf.einsum("ni,nj,ij->n", x, tf.exp(x), tf.ones([x.shape[1]] * 2, x.dtype)),
}


@pytest.mark.parametrize("d", [2, 5])
def test_fields_of_many_kinds_of_ops(d, run, rng):
    """Side by side and stacked, through ops without a row and such that mix the coordinates; against differences."""
    x = tf.placeholder(tf.float64, [None, d])
    ys = {name: function(x) for name, function in FIELDS.items()}
    at, h = rng.uniform(-1, 1, (3, d)), 2e-3
    got = run({name: symgrad.laplacian(y, x) for name, y in ys.items()}, {x: at})
    shifts = (np.eye(d)[:, None] * np.arange(-2, 3)[:, None]).reshape(-1, 1, d) * h
    values = run(ys, {x: (at + shifts).reshape(-1, d)})
    for name, value in values.items():
        parts = value.reshape(d, 5, 3, *value.shape[1:])
        want = np.einsum("s,ds...->...", np.array([-1, 16, -30, 16, -1]) / (12 * h**2), parts)
        # The rest is of the order h^4 = 2e-11, the rounding eps / h^2 = 6e-11, both times some tens.
        np.testing.assert_allclose(got[name], want, rtol=1e-7, atol=1e-7, err_msg=name)


def test_an_op_that_mixes_the_points_is_named_once(caplog, rng, run):
    x = points(rng, 2)
    normal = (x - tf.reduce_mean(x, 0, name="centre")) * tf.rsqrt(tf.math.reduce_variance(x, 0))
    with caplog.at_level(logging.WARNING, "symgrad"):
        found = symgrad.laplacian(tf.sin(normal), x)
    (record,) = caplog.records
    assert "centre" in record.getMessage()
    assert "all points moved at once" in record.getMessage()
    # It is the second derivative along the joint motion, which for this field and shift is zero.
    assert np.abs(run(found)).max() < 1e-10


def test_what_only_looks_like_mixing_is_not_named(caplog, rng):
    x = points(rng, 2)
    w = tf.ones([3, 2], tf.float64)
    other_way = tf.tanh(tf.matmul(w, x, transpose_b=True))  # the points are columns
    y = tf.transpose(other_way) + tf.reduce_sum(x, 1, keepdims=True) + tf.nn.softmax(x)[:, :1]
    y = tf.reshape(tf.reshape(y, [-1, 3, 1]), [-1, 3]) @ tf.ones([3, 1], tf.float64)
    with caplog.at_level(logging.WARNING, "symgrad"):
        symgrad.laplacian(y, x)
    assert not caplog.records


REFUSED = [
    (lambda x: symgrad.laplacian(x, x[0]), "known, or a list of columns"),
    (lambda x: symgrad.laplacian(x, tf.placeholder_with_default(x, [None, None])), "known, or a list of columns"),
    (lambda x: symgrad.laplacian(tf.concat([x, x], 0), x), "first dimensions"),
    (lambda x: symgrad.laplacian(x * 2, x, weights=[1, 1, 1]), "one number for each of the 2"),
    (lambda x: symgrad.laplacian(x * 2, x, directions=np.eye(3)), r"wanted \[R, 2\]"),
    (lambda x: symgrad.partials(x * 2, x, ["z"], axes="xyz"), "2 different letters"),
    (lambda x: symgrad.partials(x * 2, x, [(1, 0, 0)]), "2 numbers"),
    (lambda x: symgrad.divergence(tf.concat([x, x], 1), x), "as many components"),
    (lambda x: symgrad.curl(tf.concat([x, x], 1), [x, x * 1]), "2 and 3"),
    (lambda x: symgrad.directional(x * 2, x, [1.0, 2.0, 3.0], 2), "R = 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_wrong_shapes_are_named(call, message, rng):
    with pytest.raises(errors.ShapeError, match=message):
        call(points(rng, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: symgrad.directional(x * 2, x, [1.0, 2.0], 0),
        lambda x: symgrad.laplacian(x * 2, x, samples=0),
        lambda x: symgrad.laplacian(x * 2, x, samples=2, weights=[1, -1]),
        lambda x: symgrad.laplacian(x * 2, x, block_size=0),
        lambda x: symgrad.partials(x * 2, x, []),
        lambda x: symgrad.partials(x * 2, x, ["xz"], axes="xy"),
    ],
)
def test_wrong_numbers_are_refused(call, rng):
    with pytest.raises(ValueError):
        call(points(rng, 2))


def test_no_path_and_no_complex_derivative(rng, run):
    x = points(rng, 2)
    with pytest.raises(errors.DisconnectedError, match="Floor"):
        symgrad.laplacian(tf.floor(x), x)
    assert symgrad.laplacian(tf.floor(x), x, disconnected="none") is None
    assert not run(symgrad.laplacian(tf.floor(x), x, disconnected="zero")).any()
    z = tf.complex(x, x)
    with pytest.raises(errors.DtypeError, match="holomorphic"):
        symgrad.laplacian(tf.math.conj(z) * z, z)
    got, at = run([symgrad.laplacian(z[:, 0] ** 3 * z[:, 1], z), z])
    close(got, 6 * at[:, 0] * at[:, 1])


def test_ops_do_not_grow_with_the_dimension(rng, graph):
    counts = []
    for d in (5, 9, 40):
        x = points(rng, d)
        y, _ = network(x)
        before = len(graph.get_operations())
        symgrad.laplacian(y, x)
        counts.append(len(graph.get_operations()) - before)
    assert len(set(counts)) == 1


def test_ops_of_order_eight(rng, graph):
    """On four layers, as the page says; nested gradients have 4,773 for order six."""
    x = tf.placeholder(tf.float64, [None, 1])
    y = x
    for i in range(4):
        y = tf.tanh(y @ tf.constant(rng.standard_normal((1 if i == 0 else 4, 4))) + tf.constant(rng.standard_normal(4)))
    before = len(graph.get_operations())
    symgrad.directional(y, x, [1.0], 8)
    assert len(graph.get_operations()) - before <= 1000


def test_the_lines_of_the_biharmonic_add_up(rng):
    for d in range(1, 7):
        lines, weights = quartic(d)
        xi = rng.standard_normal((20, d))
        got = np.einsum("r,nr->n", weights, (xi @ lines.T) ** 4)
        np.testing.assert_allclose(got, (xi**2).sum(1) ** 2, rtol=1e-12)
    assert [len(quartic(d)[1]) for d in (1, 2, 3, 4)] == [1, 3, 6, 16]
