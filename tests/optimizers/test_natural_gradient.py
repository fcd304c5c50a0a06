"""The natural gradient: against dense Fisher matrices, and the divergence after a step, through loops of both kinds."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow, eager

import symgrad
from symgrad.errors import DisconnectedError, OptimizerError, ShapeError
from symgrad.optimizers import SGD, natural_gradient

pytestmark = pytest.mark.core


def divergence(logits, held=True):
    old, new = tf.nn.log_softmax(logits), tf.nn.log_softmax(logits)
    if held:
        old = tf.stop_gradient(old)
    return tf.reduce_mean(tf.reduce_sum(tf.exp(old) * (old - new), -1))


def surrogate(logits, rng):
    """An objective whose gradient is that of a policy: actions weighed by advantages."""
    shape = logits.shape.as_list()
    taken = np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])] * rng.standard_normal([*shape[:-1], 1])
    return -tf.reduce_mean(tf.reduce_sum(tf.nn.log_softmax(logits) * taken, -1))


def between(before, after):
    """The divergence of softmaxes with these logits, in NumPy."""
    p, q = (z - np.log(np.sum(np.exp(z), -1, keepdims=True)) for z in (before, after))
    return np.mean(np.sum(np.exp(p) * (p - q), -1))


def linear_policy(rng):
    x = rng.standard_normal((12, 3))
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 4)), use_resource=True)
    return x, w, tf.constant(x) @ w


def test_the_direction_against_the_dense_matrix(session, rng):
    x, w, logits = linear_policy(rng)
    loss = surrogate(logits, rng)
    natural = natural_gradient(divergence(logits), damping=0.3, iterations=12)
    step = SGD(1.0, transforms=[natural]).minimize(loss, var_list=[w])
    gradient = tf.gradients(loss, w)[0]
    session.run(tf.global_variables_initializer())
    before, g, p = session.run([w, gradient, tf.nn.softmax(logits)])
    told = session.run([step, natural.report])[1]
    F = sum(np.kron(np.outer(a, a), np.diag(q) - np.outer(q, q)) for a, q in zip(x, p, strict=True)) / 12
    want = np.linalg.solve(F + 0.3 * np.eye(12), g.ravel())
    np.testing.assert_allclose(before - session.run(w), want.reshape(3, 4), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(told["kl"], between(x @ before, x @ session.run(w)), rtol=1e-8)


def cell(state, x, w):
    return tf.tanh(tf.concat([state, x], 1) @ w)


def rnn_policy(rng, v2, batch=4, length=13):
    """A recurrent policy of more steps than a V1 loop runs at a time."""
    x = tf.constant(rng.standard_normal((batch, length, 2)))
    w = tf.get_variable("w", initializer=rng.standard_normal((5, 3)) / 2, use_resource=True)
    u = tf.get_variable("u", initializer=rng.standard_normal((3, 3)), use_resource=True)
    with control_flow(v2=v2):
        states = tf.TensorArray(tf.float64, length)

        def body(i, state, states):
            state = cell(state, x[:, i], w)
            return i + 1, state, states.write(i, state)

        zero = tf.zeros([batch, 3], tf.float64)
        states = tf.while_loop(lambda i, *_: i < length, body, [0, zero, states])[2].stack()
    states.set_shape([length, batch, 3])
    return [w, u], tf.reshape(tf.reshape(states, [-1, 3]) @ u, [length, batch, 3])


@pytest.mark.parametrize("v2", [False, True])
def test_a_recurrent_policy_moves_by_the_trust_radius(session, rng, v2):
    variables, logits = rnn_policy(rng, v2)
    loss = surrogate(logits, rng)
    natural = natural_gradient(divergence(logits), damping=1e-3, iterations=6, trust=0.01)
    step = SGD(1.0, transforms=[natural]).minimize(loss, var_list=variables)
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        before, value = session.run([logits, loss])
        told = session.run([step, natural.report])[1]
        after = session.run(logits)
        assert between(before, after) == pytest.approx(0.01, rel=0.05)
        np.testing.assert_allclose(told["kl"], between(before, after), rtol=1e-6)
        assert session.run(loss) < value
        assert told["cg"] == 6


def test_both_kinds_of_loop_give_one_direction(session, rng):
    seed = rng.integers(1000)
    found = []
    for v2 in (False, True):
        with tf.variable_scope(str(v2)):
            rng = np.random.default_rng(seed)
            variables, logits = rnn_policy(rng, v2)
            natural = natural_gradient(divergence(logits), damping=1e-2, iterations=4)
            pairs = list(zip(symgrad.gradients(surrogate(logits, rng), variables), variables, strict=True))
            found.append([grad for grad, _ in natural(pairs)])
    session.run(tf.global_variables_initializer())
    for a, b in zip(*session.run(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_float32_and_a_large_radius(session, rng):
    """Where the quadratic model is off, the divergence itself is looked at."""
    x = rng.standard_normal((12, 3)).astype(np.float32)
    w = tf.get_variable("w", initializer=rng.standard_normal((3, 4)).astype(np.float32), use_resource=True)
    logits = tf.constant(x) @ w
    taken = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 12)]
    loss = -tf.reduce_mean(tf.reduce_sum(tf.nn.log_softmax(logits) * taken, -1))
    natural = natural_gradient(divergence(logits), trust=0.2)
    step = SGD(1.0, transforms=[natural]).minimize(loss)
    session.run(tf.global_variables_initializer())
    before = session.run(logits)
    session.run(step)
    assert between(before, session.run(logits)) == pytest.approx(0.2, rel=0.05)


def test_a_distribution_from_itself_stops_the_run(session, rng):
    _, w, logits = linear_policy(rng)
    natural = natural_gradient(divergence(logits, held=False), trust=0.01)
    step = SGD(1.0, transforms=[natural]).minimize(surrogate(logits, rng))
    session.run(tf.global_variables_initializer())
    before = session.run(w)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no curvature"):
        session.run(step)
    np.testing.assert_array_equal(session.run(w), before)


def test_bad_arguments(graph, rng):
    _, w, logits = linear_policy(rng)
    kl, loss = divergence(logits), surrogate(logits, rng)
    for wrong in ({"damping": 0}, {"trust": -1.0}, {"iterations": 0}, {"iterations": 2.0}):
        with pytest.raises(OptimizerError, match=next(iter(wrong))):
            natural_gradient(kl, **wrong)
    value = tf.get_variable("value", initializer=np.ones(2), use_resource=True)
    with pytest.raises(DisconnectedError, match="does not depend on value"):
        SGD(1.0, transforms=[natural_gradient(kl)]).minimize(loss + tf.reduce_sum(value**2))
    with pytest.raises(ShapeError, match="wanted a scalar"):
        SGD(1.0, transforms=[natural_gradient(logits)]).minimize(loss, var_list=[w])
    with pytest.raises(OptimizerError, match="needs a graph"):
        SGD(1.0, transforms=[natural_gradient(lambda: kl)]).minimize(loss, var_list=[w])


@eager
def test_eager_mode_is_refused(eagerly):
    def train():
        w = tf.compat.v2.Variable([1.0])
        SGD(1.0, transforms=[natural_gradient(tf.ones([]))]).minimize(lambda: w[0] ** 2, var_list=[w])

    with pytest.raises(OptimizerError, match="needs a graph"):
        eagerly(train)
