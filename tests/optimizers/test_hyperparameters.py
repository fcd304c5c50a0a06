"""Hyperparameters of every kind, read and changed while training, in graphs, sessions, functions and eager code."""

import keras
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad.errors import OptimizerError
from symgrad.optimizers import SGD, Adam, Ftrl, Momentum, Optimizer, hyperparameter, option


def path(rates, start=1.0):
    """Where SGD on 3 x^2 goes with these learning rates."""
    positions = [start]
    for rate in rates:
        positions.append(positions[-1] * (1 - 6 * rate))
    return positions[1:]


def trained(optimizer, session, steps, before_step=lambda i: None):
    """The positions of x after each step on 3 x^2."""
    x = tf.Variable(1.0)
    step = optimizer.minimize(3 * x * x)
    session.run(tf.global_variables_initializer())
    positions = []
    for i in range(steps):
        before_step(i)
        session.run(step)
        positions.append(session.run(x))
    return positions


def test_number_tensor_variable_and_callables(graph, session):
    kinds = {
        "number": (0.1, [0.1] * 3),
        "numpy": (np.float64(0.1), [0.1] * 3),
        "tensor": (tf.constant(0.1), [0.1] * 3),
        "variable": (tf.Variable(0.1, trainable=False), [0.1] * 3),
        "function": (lambda: tf.constant(0.1) * 2, [0.2] * 3),
        "function of the step": (lambda step: 0.1 / (1.0 + tf.cast(step, tf.float32)), [0.1, 0.05, 0.1 / 3]),
    }
    for kind, (rate, rates) in kinds.items():
        # float32: a few roundings of 6e-8 each.
        np.testing.assert_allclose(trained(SGD(rate), session, 3), path(rates), rtol=1e-6, err_msg=kind)


def test_a_graph_asks_a_callable_for_its_number_at_every_step(graph, session):
    rates, now = [0.1, 0.05, 0.2], []
    got = trained(SGD(lambda: rates[len(now) - 1]), session, 3, before_step=now.append)
    np.testing.assert_allclose(got, path(rates), rtol=1e-6)


SCHEDULES = {
    "tf_keras": lambda: tf_keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=1, decay_rate=0.5),
    "keras": lambda: keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=1, decay_rate=0.5),
}


@pytest.mark.parametrize("kind", SCHEDULES)
def test_schedule_objects(kind, graph, session):
    got = trained(SGD(SCHEDULES[kind]()), session, 3)
    np.testing.assert_allclose(got, path([0.1, 0.05, 0.025]), rtol=1e-6)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_schedule_objects_in_eager_code_and_functions(kind):
    for wrap in (lambda f: f, tf.function):
        x, optimizer = tf.compat.v2.Variable(1.0), SGD(SCHEDULES[kind]())

        @wrap
        def step(optimizer=optimizer, x=x):
            return optimizer.minimize(lambda: 3 * x * x, [x])

        for _ in range(3):
            step()
        np.testing.assert_allclose(x.numpy(), path([0.1, 0.05, 0.025])[-1], rtol=1e-6)


def test_decay_tensor_of_tf_train(graph, session):
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, global_step, 1, 0.5)
    x = tf.Variable(1.0)
    step = SGD(rate).minimize(3 * x * x, global_step=global_step)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    np.testing.assert_allclose(session.run(x), path([0.1, 0.05, 0.025])[-1], rtol=1e-6)


def test_changed_in_the_middle_on_a_finalized_graph(graph, session):
    x = tf.Variable(1.0)
    optimizer = SGD(lr=0.1)
    step = optimizer.minimize(3 * x * x)
    session.run(tf.global_variables_initializer())
    graph.finalize()
    with session.as_default():
        session.run(step)
        assert optimizer.learning_rate == optimizer.lr == 0.1
        optimizer.lr = 0.05
        assert optimizer.learning_rate == 0.05
        session.run(step)
    optimizer.set(session, learning_rate=0.2)
    assert optimizer.get(session) == {"learning_rate": 0.2, "momentum": 0.0}
    session.run(step)
    np.testing.assert_allclose(session.run(x), path([0.1, 0.05, 0.2])[-1], rtol=1e-6)


def test_changed_under_a_monitored_session_without_counting_as_a_step(graph):
    class Counter(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, run_context):
            self.runs += 1

    x, counter = tf.Variable(1.0), Counter()
    optimizer = SGD(0.1)
    step = optimizer.minimize(3 * x * x, global_step=tf.train.get_or_create_global_step())
    with tf.train.MonitoredTrainingSession(hooks=[counter]) as session:
        session.run(step)
        optimizer.set(session, learning_rate=0.2)
        session.run(step)
        assert counter.runs == 2
        np.testing.assert_allclose(session.run(x), path([0.1, 0.2])[-1], rtol=1e-6)


def test_each_session_has_its_own_value(graph):
    x = tf.Variable(1.0)
    optimizer = SGD(0.1)
    step = optimizer.minimize(3 * x * x)
    with tf.Session() as first, tf.Session() as second:
        for session in (first, second):
            session.run(tf.global_variables_initializer())
        optimizer.set(first, learning_rate=0.2)
        first.run(step), second.run(step)
        np.testing.assert_allclose([first.run(x), second.run(x)], [path([0.2])[0], path([0.1])[0]], rtol=1e-6)


def test_changed_in_eager_code_and_functions():
    x, optimizer = tf.compat.v2.Variable(1.0), SGD(0.1)

    @tf.function
    def step():
        return optimizer.minimize(lambda: 3 * x * x, [x])

    assert int(step()) == 1
    optimizer.learning_rate = 0.05
    assert int(step()) == 2
    assert float(optimizer.lr) == pytest.approx(0.05)
    np.testing.assert_allclose(x.numpy(), path([0.1, 0.05])[-1], rtol=1e-6)


def test_multipliers_are_functions_of_the_variable(graph, session):
    kernel, bias = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="bias")
    optimizer = SGD(0.1, multipliers={"lr": lambda variable: 0.5 if "bias" in variable.name else 1.0})
    step = optimizer.minimize(3 * kernel * kernel + 3 * bias * bias)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([kernel, bias]), [path([0.1])[0], path([0.05])[0]], rtol=1e-6)


def test_numpy_floats_keep_their_precision(graph, session):
    """Python numbers are rounded to float32, as TensorFlow's optimizers do; NumPy's float64 are not."""
    for rate, want in [(0.1, 1 - 6 * float(np.float32(0.1))), (np.float64(0.1), 1 - 6 * 0.1)]:
        x = tf.Variable(np.float64(1.0))
        step = SGD(rate).minimize(3 * x * x)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x) == pytest.approx(want, rel=1e-15)


def test_the_number_of_the_step_is_there_from_one(graph, session):
    class Counting(Optimizer):
        def step(self, grad, var, h, s):
            return h.t * tf.ones_like(grad), {}

    x = tf.Variable(0.0)
    step = Counting().minimize(x * 1.0)
    session.run(tf.global_variables_initializer())
    for want in (1.0, 3.0, 6.0):
        session.run(step)
        assert session.run(x) == want


def test_options_are_fixed(graph):
    class WithOption(Optimizer):
        rate = hyperparameter(0.1)
        flag = option(False)

    optimizer = WithOption(flag=True)
    assert optimizer.flag
    with pytest.raises(AttributeError, match="make another one"):
        optimizer.flag = False


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD(-0.1), "learning_rate is -0.1; wanted a number of at least 0"),
        (lambda: SGD(float("nan")), "wanted a finite number"),
        (lambda: SGD("0.1"), "wanted a number, tensor, variable, schedule or callable"),
        (lambda: Adam(beta1=1.0), "beta1 is 1.0; wanted a number below 1.0"),
        (lambda: Ftrl(0.1, 0.5), "learning_rate_power is 0.5; wanted a number of at most 0"),
        (lambda: SGD(0.1, nesterov=True), "nesterov=True and momentum=0"),
        (lambda: SGD(rate=0.1), "SGD has no 'rate'; it has learning_rate, momentum, nesterov"),
        (lambda: SGD(0.1, learning_rate=0.2), "got learning_rate twice"),
        (lambda: Momentum(0.1, 0.9, True), "options, use_locking and name by keyword"),
        (lambda: SGD(0.1, multipliers={"rate": lambda variable: 1.0}), "SGD has no 'rate'"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(OptimizerError, match=message):
        make()


def test_what_cannot_be_set(graph):
    x, session = tf.Variable(1.0), tf.Session()
    number, tensor = SGD(0.1), SGD(tf.constant(0.1))
    number.minimize(x * x), tensor.minimize(x * x)
    with pytest.raises(OptimizerError, match=r"optimizer\.set\(session, learning_rate=0\.2\)"):
        number.learning_rate = 0.2
    with pytest.raises(OptimizerError, match="only a number can replace a number"):
        tensor.set(session, learning_rate=0.2)
    with pytest.raises(OptimizerError, match="only a number can replace a number"):
        number.set(session, learning_rate=tf.constant(0.2))
    with pytest.raises(OptimizerError, match="at least 0"):
        number.set(session, learning_rate=-1.0)


def test_a_schedule_that_is_not_finite_stops_the_step(graph, session):
    x = tf.Variable(1.0)
    step = SGD(lambda step: 0.1 / tf.cast(1 - step, tf.float32)).minimize(3 * x * x)
    session.run(tf.global_variables_initializer())
    session.run(step)
    with pytest.raises(tf.errors.InvalidArgumentError, match="learning_rate is not a finite number at this step"):
        session.run(step)
    np.testing.assert_allclose(session.run(x), path([0.1])[0], rtol=1e-6)


def test_a_schedule_that_is_not_finite_stops_eager_code():
    x = tf.compat.v2.Variable(1.0)
    optimizer = SGD(lambda step: tf.constant(float("nan")))
    with pytest.raises(OptimizerError, match="learning_rate is nan"):
        optimizer.minimize(lambda: x * x, [x])
    assert x.numpy() == 1.0


def test_a_rate_that_is_no_scalar_is_refused(graph):
    x = tf.Variable(1.0)
    with pytest.raises(OptimizerError, match=r"has shape \(2,\); wanted a scalar"):
        SGD(tf.constant([0.1, 0.2])).minimize(x * x)


def test_a_number_that_the_variable_rounds_out_of_its_range_is_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.constant([1.0, -2.0], tf.bfloat16), use_resource=True)
        loss = tf.reduce_sum(tf.cast(v, tf.float32) ** 2)
        with pytest.raises(OptimizerError, match=r"beta2 is 0\.999, which bfloat16 rounds to 1\.0.*float32"):
            Adam(0.1).minimize(loss)
        train = Adam(0.5, beta2=0.99).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(train)
        # The first step of Adam is the learning rate against the sign; bfloat16 has 8 bits.
        np.testing.assert_allclose(session.run(tf.cast(v, tf.float32)), [0.5, -1.5], rtol=2**-7)
