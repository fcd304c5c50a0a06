"""Operators equal their dense matrices, and those that analysis knows."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

import symgrad
from symgrad import _tf, linops
from symgrad.errors import DisconnectedError, DtypeError, ShapeError

# Two sums of a few dozen products in float64, in other orders.
TOLERANCE = 1e-9


def close(got, want, tolerance=TOLERANCE):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1.0, np.max(np.abs(want), initial=0.0)))


class Network:
    """A classifier of 7 examples of 3 features into 4 classes, one hidden layer of 5: 44 weights in float64."""

    def __init__(self, session, rng, layer=tf.tanh):
        self.x = tf.placeholder_with_default(rng.standard_normal((7, 3)), [None, 3])
        self.labels = tf.placeholder_with_default(rng.integers(0, 4, 7), [None])
        shapes = {"w0": (3, 5), "w1": (5, 4), "w2": (4,)}
        self.w = [tf.get_variable(name, initializer=rng.standard_normal(s) / 2) for name, s in shapes.items()]
        self.logits = layer(self.x @ self.w[0]) @ self.w[1] + self.w[2]
        self.losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=self.logits)
        self.loss = tf.reduce_mean(self.losses)
        session.run(tf.global_variables_initializer())


def flattened(blocks, rows):
    return np.concatenate([np.reshape(b, [rows, -1]) for b in blocks], 1)


def dense_hessian(session, loss, xs):
    rows = session.run(symgrad.hessian(loss, xs))
    return np.concatenate([flattened(row, int(np.prod(x.shape.as_list()))) for row, x in zip(rows, xs, strict=True)])


def dense_jacobian(session, y, xs):
    return flattened(session.run(symgrad.jacobian(y, xs)), int(np.prod(session.run(tf.shape(y)))))


@pytest.mark.parametrize("vectors", [1, 37])
def test_every_operator_against_its_dense_matrix(session, rng, vectors):
    net = Network(session, rng)
    J, H = dense_jacobian(session, net.logits, net.w), dense_hessian(session, net.loss, net.w)
    p = session.run(tf.nn.softmax(net.logits))
    curvature = np.zeros((28, 28))
    for i in range(7):  # the Hessian of a mean cross entropy in its logits
        curvature[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = (np.diag(p[i]) - np.outer(p[i], p[i])) / 7
    g = dense_jacobian(session, net.losses, net.w)
    where = {"session": session}
    found = {
        "Jacobian": (linops.Jacobian(net.logits, net.w, **where), J),
        "Hessian": (linops.Hessian(net.loss, net.w, **where), H),
        "GGN": (linops.GGN(net.loss, net.logits, net.w, **where), J.T @ curvature @ J),
        "EmpiricalFisher": (linops.EmpiricalFisher(net.losses, net.w, **where), g.T @ g / 7),
    }
    V, U = rng.standard_normal((39, vectors)), rng.standard_normal((28, vectors))
    for name, (operator, matrix) in found.items():
        assert operator.shape == matrix.shape, name
        close(operator @ V, matrix @ V)
        close(operator @ V[:, 0], matrix @ V[:, 0])
        close(operator.T @ (U if name == "Jacobian" else V), matrix.T @ (U if name == "Jacobian" else V))


def test_some_of_the_variables(session, rng):
    net = Network(session, rng)
    H = dense_hessian(session, net.loss, net.w)
    close(linops.Hessian(net.loss, net.w[1:], session=session) @ np.eye(24), H[15:, 15:])


def test_uneven_batches_are_weighed_by_their_examples(session, rng):
    net = Network(session, rng)
    x, labels = session.run([net.x, net.labels])
    batches = [{net.x: x[a:b], net.labels: labels[a:b]} for a, b in ((0, 4), (4, 6), (6, 7))]
    V = rng.standard_normal((39, 3))
    for make in (
        lambda **where: linops.Hessian(net.loss, net.w, session=session, **where),
        lambda **where: linops.GGN(net.loss, net.logits, net.w, session=session, **where),
        lambda **where: linops.EmpiricalFisher(net.losses, net.w, session=session, **where),
        lambda **where: linops.Jacobian(net.logits, net.w, session=session, **where),
    ):
        whole, parts, anew = make(), make(batches=batches), make(batches=lambda: iter(batches))
        close(parts @ V, whole @ V)
        close(anew @ V, whole @ V)
    U = rng.standard_normal((28, 2))
    close(parts.T @ U, whole.T @ U)
    total = linops.Hessian(tf.reduce_sum(net.losses), net.w, session=session)
    sums = linops.Hessian(tf.reduce_sum(net.losses), net.w, session=session, batches=batches, reduction="sum")
    close(sums @ V, total @ V)


def test_least_squares_and_logistic_regression_by_analysis(session, rng):
    X = rng.standard_normal((9, 4))
    w = tf.get_variable("w", initializer=np.zeros((4, 1)))
    residuals, logits = X @ w - 1.0, X @ w
    labels = rng.integers(0, 2, (9, 1)).astype(float)
    loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    session.run(w.initializer)
    close(linops.GGN(tf.reduce_sum(residuals**2) / 2, residuals, w, session=session) @ np.eye(4), X.T @ X)
    close(linops.Hessian(loss, w, session=session) @ np.eye(4), X.T @ X / 4)  # p (1 - p) = 1/4 at w = 0


@pytest.mark.parametrize("likelihood", ["softmax", "bernoulli", "gaussian"])
def test_sampled_fisher_comes_near_the_exact_one(session, rng, likelihood):
    X = rng.standard_normal((5, 2))
    w = tf.get_variable("w", initializer=rng.standard_normal((2, 3)))
    outputs = tf.constant(X) @ w
    session.run(w.initializer)
    z = session.run(outputs)
    expected = np.zeros((6, 6))
    for row, x in zip(z, X, strict=True):
        softmax = np.exp(row) / np.sum(np.exp(row))
        sigmoid = 1 / (1 + np.exp(-row))
        inner = {
            "softmax": np.diag(softmax) - np.outer(softmax, softmax),
            "bernoulli": np.diag(sigmoid * (1 - sigmoid)),
            "gaussian": np.eye(3),
        }
        expected += np.kron(np.outer(x, x), inner[likelihood])
    F = linops.Fisher(outputs, w, likelihood=likelihood, samples=20_000, reduction="sum", session=session)
    got = F @ np.eye(6)
    # 20,000 draws leave 1/sqrt(20,000) = 0.7 % of noise in each element.
    assert np.linalg.norm(got - expected) < 0.04 * np.linalg.norm(expected)
    close(F @ np.eye(6), got, 1e-12)  # the same labels at each product


def loop_v1(body, x):
    with v1_control_flow():
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, body(a)), [0, x])[1]


def loop_v2(body, x):
    return _tf.while_loop_v2(lambda i, a: i < 3, lambda i, a: (i + 1, body(a)), [tf.constant(0), x])[1]


def branch_v1(body, x):
    with v1_control_flow():
        return tf.cond(tf.reduce_sum(x) > -9.0, lambda: body(x), lambda: x)


@pytest.mark.parametrize("through", [loop_v1, loop_v2, branch_v1])
def test_through_loops_and_branches(session, rng, through):
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 3)) / 2)
    y = through(lambda a: tf.tanh(a @ w), tf.constant(rng.standard_normal((2, 3))))
    loss = tf.reduce_sum(y**2) / 2
    session.run(w.initializer)
    J, V = dense_jacobian(session, y, [w]), rng.standard_normal((9, 4))
    jacobian = linops.Jacobian(y, w, session=session)
    close(jacobian @ V, J @ V)
    close(jacobian.T @ np.eye(6), J.T)
    close(linops.GGN(loss, y, w, session=session) @ V, J.T @ J @ V)
    close(linops.Hessian(loss, w, session=session) @ V, dense_hessian(session, loss, [w]) @ V)


def test_scipy_takes_them(session, rng):
    from scipy.sparse.linalg import cg, eigsh

    X = rng.standard_normal((12, 5))
    w = tf.get_variable("w", initializer=np.zeros((5, 1)))
    residuals = X @ w - 1.0
    session.run(w.initializer)
    G = linops.GGN(tf.reduce_sum(residuals**2) / 2, residuals, w, session=session)
    penalty = linops.Hessian(tf.reduce_sum(w**2) / 2, w, session=session)
    solution, info = cg(G + 0.5 * penalty, np.ones(5), rtol=1e-12)
    assert info == 0
    close(solution, np.linalg.solve(X.T @ X + 0.5 * np.eye(5), np.ones(5)))
    close(eigsh(G, k=1, return_eigenvectors=False)[0], np.linalg.eigvalsh(X.T @ X)[-1])


def test_variables_are_read_at_each_product(session):
    w = tf.get_variable("w", initializer=np.array([1.0, 2.0]))
    H = linops.Hessian(tf.reduce_sum(w**3), w, session=session)
    for value in ([1.0, 2.0], [3.0, 4.0]):
        w.load(value, session)
        close(H @ np.eye(2), 6 * np.diag(value))
    a, b = H.unpack(H.pack([[5.0, 6.0]]))[0]
    assert (a, b) == (5.0, 6.0)


def test_nothing_to_multiply(session):
    w = tf.get_variable("w", initializer=np.ones(2))
    session.run(w.initializer)
    assert (linops.Hessian(tf.reduce_sum(w**3), w, session=session) @ np.zeros((2, 0))).shape == (2, 0)


def test_bad_arguments(session, rng):
    net = Network(session, rng)
    unused = tf.get_variable("unused", initializer=1.0)
    z = tf.complex(net.w[2], net.w[2])
    with pytest.raises(ValueError, match="gone through once"):
        linops.Hessian(net.loss, net.w, session=session, batches=iter([{}]))
    with pytest.raises(ValueError, match="reduction"):
        linops.Hessian(net.loss, net.w, session=session, reduction="max")
    with pytest.raises(ValueError, match="likelihood"):
        linops.Fisher(net.logits, net.w, likelihood="poisson", session=session)
    with pytest.raises(ShapeError, match="one scalar"):
        linops.Hessian(net.losses, net.w, session=session)
    with pytest.raises(DisconnectedError, match="unused"):
        linops.Hessian(net.loss, [*net.w, unused], session=session)
    with pytest.raises(DtypeError, match="complex128"):
        linops.Jacobian(z, net.w[2], session=session)
    uneven = linops.Hessian(net.loss, net.w, session=session, batches=[{net.x: np.ones((2, 3)), net.labels: [1]}])
    with pytest.raises(ShapeError, match="leading sizes"):
        uneven @ np.ones(39)
    H = linops.Hessian(net.loss, [*net.w, unused], session=session, disconnected="zero")
    session.run(unused.initializer)
    close((H @ np.ones(40))[-1], 0.0)


def test_no_session():
    x = tf.constant([1.0])
    with pytest.raises(ValueError, match="needs a session"):
        linops.Hessian(tf.reduce_sum(x**2), x)


OPERATORS = {
    "Jacobian": lambda net, **more: linops.Jacobian(net.logits, net.w, **more),
    "Hessian": lambda net, **more: linops.Hessian(net.loss, net.w, **more),
    "GGN": lambda net, **more: linops.GGN(net.loss, net.logits, net.w, **more),
    "EmpiricalFisher": lambda net, **more: linops.EmpiricalFisher(net.losses, net.w, **more),
    "Fisher": lambda net, **more: linops.Fisher(net.logits, net.w, likelihood="softmax", **more),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_bad_keyword_is_refused_before_anything_is_built(operator, rng):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        network = Network(session, rng)
        before = len(graph.get_operations())
        for size in (0, -2, 1.5, True):
            with pytest.raises(ShapeError, match="block_size"):
                OPERATORS[operator](network, block_size=size)
        for word in ("none", "rise"):
            with pytest.raises(ValueError, match="disconnected"):
                OPERATORS[operator](network, disconnected=word)
        assert len(graph.get_operations()) == before
