"""Each gradient transform does what its formula says, dense and sparse, in graphs and in eager code."""

import itertools

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import optimizers
from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD, Adam, AdamW, Momentum, Transform

tf2 = tf.compat.v2

MATRIX = np.array([[3.0, -4.0], [1.0, 2.0]])
# Row 1 comes twice: what is clipped, or has a norm, is the sum.
ROWS, VALUES = np.array([1, 0, 1]), np.array([[3.0, 4.0], [0.3, 0.4], [3.0, 4.0]])
SUMS = {0: np.array([0.3, 0.4]), 1: np.array([6.0, 8.0])}


def applied(transform, *grads, dtype=np.float64):
    """The gradients after a transform, as arrays; sparse ones written out."""
    with tf.Graph().as_default(), tf.Session() as session:
        pairs = [(_tensor(grad, dtype), tf.Variable(tf.zeros([2, 2], dtype))) for grad in grads]
        return session.run([tf.convert_to_tensor(grad) for grad, _ in transform(pairs)])


def _tensor(grad, dtype):
    if grad is ROWS:
        return tf.IndexedSlices(tf.constant(VALUES, dtype), tf.constant(ROWS), tf.constant([2, 2]))
    return tf.constant(grad, dtype)


WRITTEN_OUT = np.stack([SUMS[0], SUMS[1]])


def test_clip_by_value():
    dense, sparse = applied(optimizers.clip_by_value(-1.0, 2.5), MATRIX, ROWS)
    np.testing.assert_allclose(dense, np.clip(MATRIX, -1.0, 2.5))
    np.testing.assert_allclose(sparse, np.clip(WRITTEN_OUT, -1.0, 2.5))


def test_clip_by_norm():
    dense, sparse, short = applied(optimizers.clip_by_norm(2.0), MATRIX, ROWS, MATRIX / 100)
    np.testing.assert_allclose(dense, MATRIX * 2.0 / np.linalg.norm(MATRIX))
    np.testing.assert_allclose(sparse, WRITTEN_OUT * 2.0 / np.linalg.norm(WRITTEN_OUT))
    np.testing.assert_allclose(short, MATRIX / 100)


@pytest.mark.parametrize("norm", [2.0, 1000.0])
def test_clip_by_global_norm(norm):
    dense, sparse = applied(optimizers.clip_by_global_norm(norm), MATRIX, ROWS)
    factor = min(1.0, norm / np.sqrt((MATRIX**2).sum() + (WRITTEN_OUT**2).sum()))
    np.testing.assert_allclose(dense, MATRIX * factor)
    np.testing.assert_allclose(sparse, WRITTEN_OUT * factor)


def test_clip_by_global_norm_in_half_precision_does_not_overflow():
    (grad,) = applied(optimizers.clip_by_global_norm(1.0), np.full((2, 2), 300.0), dtype=np.float16)
    np.testing.assert_allclose(grad, np.full((2, 2), 0.5), rtol=1e-3)


def test_clip_by_global_norm_hands_on_what_is_not_finite():
    assert np.isnan(applied(optimizers.clip_by_global_norm(1.0), MATRIX, np.full((2, 2), np.inf))).all()


def test_centralize():
    dense, sparse = applied(optimizers.centralize(), MATRIX, ROWS)
    np.testing.assert_allclose(dense, MATRIX - MATRIX.mean(axis=0))
    np.testing.assert_allclose(sparse, WRITTEN_OUT)


def test_noise_has_the_deviation_of_the_schedule(graph, session):
    """4,000 numbers: their standard deviation is known to 1.1 %; six times that is allowed."""
    x, y = tf.Variable(tf.zeros([4000])), tf.Variable(tf.zeros([4000]))
    noise = optimizers.add_noise(2.0, decay=1.0, seed=4)
    step = SGD(1.0, transforms=[noise]).minimize(0.0 * tf.reduce_sum(x + y))
    session.run(tf.global_variables_initializer())
    moved = [session.run([x, y])]
    for _ in range(2):
        session.run(step)
        moved.append(session.run([x, y]))
    for t, (before, after) in enumerate(itertools.pairwise(moved)):
        np.testing.assert_allclose(np.std(after[0] - before[0]), 2.0 / np.sqrt(1 + t), rtol=0.07)
    # Two variables of one shape have noise of their own, in spite of the one seed.
    assert abs(np.corrcoef(moved[1][0], moved[1][1])[0, 1]) < 0.1


def trained(make, steps=3, *, sparse=False):
    """Kernel and bias after some steps on a quadratic."""
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = tf.Variable(MATRIX, name="kernel")
        bias = tf.Variable([1.0, -1.0], dtype=tf.float64, name="bias")
        looked_up = tf.gather(kernel, [0, 0]) if sparse else kernel
        step = make().minimize(tf.reduce_sum(tf.square(looked_up)) + tf.reduce_sum(tf.square(bias)))
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        return session.run([kernel, bias])


def test_l2_decay_is_the_gradient_of_the_penalty():
    """0.1 / 2 |x|^2 on kernels alone, also on rows without a gradient."""
    kernels = lambda variable: "kernel" in variable.name  # noqa: E731
    kernel, bias = trained(lambda: SGD(0.1, transforms=[optimizers.l2_decay(0.1, kernels)]), 1, sparse=True)
    np.testing.assert_allclose(kernel[0], MATRIX[0] * (1 - 0.1 * (4 + 0.1)), rtol=1e-7)
    np.testing.assert_allclose(kernel[1], MATRIX[1] * (1 - 0.1 * 0.1), rtol=1e-7)
    np.testing.assert_allclose(bias, np.array([1.0, -1.0]) * 0.8, rtol=1e-7)


def test_decoupled_decay_makes_adamw_of_adam():
    rate = np.float64(0.01)
    ours = trained(lambda: Adam(rate, transforms=[optimizers.decoupled_decay(0.1)]))
    want = trained(lambda: AdamW(rate, np.float64(0.1)))
    for mine, value in zip(ours, want, strict=True):
        # Kernel and formula, and x (1 - ab) - c for x - abx - c: float64 roundings in another order.
        np.testing.assert_allclose(mine, value, rtol=1e-12)


def test_frozen_variables_and_their_slots_stay():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.Variable(1.0, name="x"), tf.Variable(1.0, name="y")
        freeze = optimizers.freeze(lambda variable: variable.name.startswith("y"))
        optimizer = Momentum(0.1, transforms=[freeze])
        step = optimizer.minimize(x * x + y * y)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(y) == 1.0
        assert session.run(x) == pytest.approx(0.8)
        assert optimizer.get_slot(y, "momentum") is None


def test_a_function_of_the_users_own(graph, session):
    """The capper of the tutorials."""
    x, y = tf.Variable(1.0), tf.Variable(1.0)

    def cap(pairs):
        return [(tf.minimum(grad, 1.0), variable) for grad, variable in pairs]

    step = SGD(0.1, transforms=[cap]).minimize(3 * x * x + 0.25 * y * y)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([x, y]), [0.9, 0.95], rtol=1e-6)


def test_transforms_act_in_their_order(graph, session):
    x = tf.Variable(1.0)
    double = lambda pairs: [(2 * grad, variable) for grad, variable in pairs]  # noqa: E731
    clip = optimizers.clip_by_value(-1.0, 1.0)
    steps = [SGD(0.1, transforms=chain).minimize(x) for chain in ([double, clip], [clip, double])]
    for step, want in zip(steps, (0.9, 0.8), strict=True):
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x) == pytest.approx(want)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (lambda pairs: None, "returned None; wanted a list of"),
        (lambda pairs: [grad for grad, _ in pairs], "wanted a list of"),
        (optimizers.freeze(lambda variable: True), "freeze left no variable to train"),
    ],
)
def test_what_a_transform_returns_is_checked(transform, message, graph):
    x = tf.Variable(1.0)
    with pytest.raises(OptimizerError, match=message):
        SGD(transforms=[transform]).minimize(x * x)


def test_bad_arguments():
    for make in (
        lambda: optimizers.clip_by_value(1.0, -1.0),
        lambda: optimizers.clip_by_norm(0.0),
        lambda: optimizers.clip_by_global_norm(-1.0),
        lambda: optimizers.accumulate(0),
        lambda: optimizers.accumulate(2, "max"),
        lambda: optimizers.loss_scale(0.0),
        lambda: optimizers.ema(1.0),
        lambda: optimizers.swa(0),
        lambda: optimizers.l2_decay(-0.1),
    ):
        with pytest.raises(OptimizerError, match="wanted"):
            make()


def test_ops_around_the_update(graph, session):
    """`before` sees the variables as they were, `after` as they are."""

    class Around(Transform):
        def __init__(self):
            self.seen = tf.Variable([0.0, 0.0], trainable=False)

        def before(self, variables):
            return [self.seen[0].assign(variables[0])]

        def after(self, variables):
            return [self.seen[1].assign(variables[0])]

    x, around = tf.Variable(1.0), Around()
    step = SGD(0.1, transforms=[around]).minimize(3 * x * x)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run(around.seen), [1.0, 0.4], rtol=1e-6)
