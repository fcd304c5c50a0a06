"""Slots, shared slots and counters: their names, and training that goes on bit for bit from all kinds of checkpoint."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError, ShapeError
from symgrad.optimizers import (
    SGD,
    Adam,
    Momentum,
    Optimizer,
    RMSProp,
    accumulate,
    ema,
    hyperparameter,
    shared_slot,
    slot,
)

tf2 = tf.compat.v2

OURS_AND_THEIRS = {
    "Adam": (lambda: Adam(0.1), lambda: tf.train.AdamOptimizer(0.1)),
    "Momentum": (lambda: Momentum(0.1), lambda: tf.train.MomentumOptimizer(0.1, 0.9)),
    "RMSProp": (
        lambda: RMSProp(0.1, momentum=0.5, centered=True),
        lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    ),
}


def steps(session, step, count):
    for _ in range(count):
        session.run(step)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("name", OURS_AND_THEIRS)
def test_tensorflows_checkpoint_goes_on_bit_for_bit(name, use_resource, pair_of_variables, tmp_path):
    """TensorFlow trains, saves and goes on; ours restores with a plain Saver() and goes on: dense and sparse."""
    make_ours, make_theirs = OURS_AND_THEIRS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        loss, *variables = pair_of_variables(use_resource=use_resource)
        step = make_theirs().minimize(loss)
        session.run(tf.global_variables_initializer())
        steps(session, step, 5)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        steps(session, step, 5)
        want, names = session.run(variables), {v.name for v in tf.global_variables()}
    with tf.Graph().as_default(), tf.Session() as session:
        loss, *variables = pair_of_variables(use_resource=use_resource)
        step = make_ours().minimize(loss)
        assert {v.name for v in tf.global_variables()} == names
        tf.train.Saver().restore(session, path)
        steps(session, step, 5)
        for got, value in zip(session.run(variables), want, strict=True):
            np.testing.assert_array_equal(got, value)


GO_ON = """
    import sys
    import numpy as np
    import tensorflow.compat.v1 as tf
    from symgrad.optimizers import Adam, ema

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable([1.0, -2.0], name="x")
        step = Adam(lambda step: 0.1 / (1.0 + tf.cast(step, tf.float32)), transforms=[ema(0.9)]).minimize(x * x)
        session.run(tf.global_variables_initializer())
        if sys.argv[1] != "from the start":
            tf.train.Saver().restore(session, sys.argv[1])
        for _ in range(5):
            session.run(step)
        tf.train.Saver().save(session, sys.argv[2])
        np.savez(sys.argv[3], *session.run(tf.global_variables()))
"""


def test_saved_in_one_process_and_resumed_in_another(tmp_path):
    """Adam on a schedule with an average: ten steps here equal five here and five in a process of their own."""
    code = textwrap.dedent(GO_ON)

    def here(restore, save, array):
        argv, sys.argv = sys.argv, ["", restore, save, array]
        try:
            exec(code, {})
        finally:
            sys.argv = argv

    files = {name: str(tmp_path / name) for name in ("five", "ten", "resumed")}
    here("from the start", files["five"], files["five"] + ".npz")
    here(files["five"], files["ten"], files["ten"] + ".npz")
    arguments = [files["five"], files["resumed"], files["resumed"] + ".npz"]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, timeout=120)
    want, got = (np.load(files[name] + ".npz") for name in ("ten", "resumed"))
    assert len(want) == 7  # x, its average, two moments, two powers, the counter
    for name in want:
        np.testing.assert_array_equal(got[name], want[name])


def trained_eagerly(optimizer, x, count):
    for _ in range(count):
        optimizer.minimize(lambda: tf.reduce_sum(x * x), var_list=[x])
    return x.numpy()


def test_object_checkpoint_in_eager_code(tmp_path):
    def make():
        return tf2.Variable([1.0, -2.0]), Adam(lambda step: 0.1 / (1.0 + tf.cast(step, tf.float32)))

    x, optimizer = make()
    trained_eagerly(optimizer, x, 5)
    path = tf.train.Checkpoint(x=x, optimizer=optimizer).save(str(tmp_path / "object"))
    want = trained_eagerly(optimizer, x, 5)
    x, optimizer = make()
    # Deferred: slots and powers appear with the first step, and take their values then.
    status = tf.train.Checkpoint(x=x, optimizer=optimizer).restore(path)
    np.testing.assert_array_equal(trained_eagerly(optimizer, x, 5), want)
    status.assert_existing_objects_matched()
    assert int(optimizer.iterations) == 10


def test_object_checkpoint_of_tensorflows_adam(tmp_path):
    x = tf2.Variable([1.0, -2.0])
    theirs = tf.train.AdamOptimizer(0.1)
    trained_eagerly(theirs, x, 5)
    path = tf.train.Checkpoint(x=x, optimizer=theirs).save(str(tmp_path / "object"))
    want = trained_eagerly(theirs, x, 5)
    x, ours = tf2.Variable([0.0, 0.0]), Adam(0.1)
    tf.train.Checkpoint(x=x, optimizer=ours).restore(path).expect_partial()
    np.testing.assert_array_equal(trained_eagerly(ours, x, 5), want)


def test_object_checkpoint_in_a_graph(tmp_path):
    def build():
        x = tf.Variable([1.0, -2.0], use_resource=True)
        optimizer = Adam(0.1, transforms=[accumulate(1)])
        return x, optimizer, optimizer.minimize(tf.reduce_sum(x * x))

    with tf.Graph().as_default(), tf.Session() as session:
        x, optimizer, step = build()
        session.run(tf.global_variables_initializer())
        steps(session, step, 5)
        path = tf.train.Checkpoint(x=x, optimizer=optimizer).save(str(tmp_path / "object"), session=session)
        steps(session, step, 5)
        want = session.run(x)
    with tf.Graph().as_default(), tf.Session() as session:
        x, optimizer, step = build()
        tf.train.Checkpoint(x=x, optimizer=optimizer).restore(path).assert_consumed().run_restore_ops(session)
        steps(session, step, 5)
        np.testing.assert_array_equal(session.run(x), want)


def test_a_variable_given_as_the_rate_is_saved_with_the_optimizer(tmp_path):
    x, rate = tf2.Variable(1.0), tf2.Variable(0.1, trainable=False)
    optimizer = SGD(rate)
    optimizer.minimize(lambda: 3 * x * x, [x])
    rate.assign(0.05)
    path = tf.train.Checkpoint(optimizer=optimizer).save(str(tmp_path / "rate"))
    rate.assign(0.0)
    tf.train.Checkpoint(optimizer=optimizer).restore(path)
    assert float(rate) == pytest.approx(0.05)


def test_weights_are_read_and_written_on_a_finalized_graph(graph, session):
    x = tf.Variable([1.0, -2.0], name="x")
    optimizer = Adam(0.1)
    step = optimizer.minimize(x * x)
    session.run(tf.global_variables_initializer())
    graph.finalize()
    steps(session, step, 5)
    weights, place = optimizer.get_weights(), session.run(x)
    assert [np.shape(weight) for weight in weights] == [(), (), (2,), (2,)]
    steps(session, step, 5)
    want = session.run(x)
    optimizer.set_weights(weights, session)
    session.run(x.initializer, {x.initializer.inputs[1]: place})
    steps(session, step, 5)
    np.testing.assert_array_equal(session.run(x), want)


def test_weights_in_eager_code():
    x, optimizer = tf2.Variable([1.0, -2.0]), Adam(0.1)
    place = trained_eagerly(optimizer, x, 5)
    weights = optimizer.get_weights()
    want = trained_eagerly(optimizer, x, 5)
    x.assign(place)
    optimizer.set_weights(weights)
    np.testing.assert_array_equal(trained_eagerly(optimizer, x, 5), want)
    with pytest.raises(ShapeError, match="set_weights got shapes"):
        optimizer.set_weights(weights[1:])


def test_weights_without_a_session_are_an_error():
    with tf.Graph().as_default():
        x, optimizer = tf.Variable(1.0), Adam()
        optimizer.minimize(x * x)
        with pytest.raises(OptimizerError, match="give the session"):
            optimizer.get_weights()


def test_names_of_slots_and_variables(graph):
    x = tf.Variable([1.0, -2.0], name="x")
    optimizer = Adam()
    optimizer.minimize(x * x)
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(x, "m").op.name == "x/Adam"
    assert optimizer.get_slot(x, "v").op.name == "x/Adam_1"
    assert optimizer.get_slot(x, "nothing") is None
    assert [v.op.name for v in optimizer.variables()] == ["beta1_power", "beta2_power", "x/Adam", "x/Adam_1"]


def test_two_optimizers_on_one_graph(graph, session):
    """Each trains its own variable as if it were alone, and their state does not mix."""
    x, y = tf.Variable(1.0, name="x"), tf.Variable(1.0, name="y")
    first, second = Adam(0.1), Adam(0.2)
    step = tf.group(first.minimize(x * x, var_list=[x]), second.minimize(y * y, var_list=[y]))
    session.run(tf.global_variables_initializer())
    steps(session, step, 3)
    together = session.run([x, y])
    assert {v.op.name for v in second.variables()} == {"beta1_power_1", "beta2_power_1", "y/Adam", "y/Adam_1"}
    for rate, want in zip((0.1, 0.2), together, strict=True):
        with tf.Graph().as_default(), tf.Session() as alone:
            x = tf.Variable(1.0)
            step = Adam(rate).minimize(x * x)
            alone.run(tf.global_variables_initializer())
            steps(alone, step, 3)
            assert alone.run(x) == want


def test_one_optimizer_on_two_graphs():
    optimizer = Momentum(0.1)
    ends = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.Variable(1.0)
            step = optimizer.minimize(x * x)
            session.run(tf.global_variables_initializer())
            steps(session, step, 3)
            ends.append(session.run(x))
    assert ends[0] == ends[1]


def test_declared_slots_with_beginnings_and_conditions(graph, session):
    class Declared(Optimizer):
        scale = hyperparameter(2.0)
        power = shared_slot("scale", advance=lambda power, h: power * h.scale)
        ones = slot(1.0, name="uno")
        copy = slot(lambda variable: 3 * variable.initial_value)
        absent = slot(when="without")
        without = False

        def step(self, grad, var, h, s):
            return h.power * s.ones + s.copy, {"ones": s.ones + 1}

    x = tf.Variable([1.0, 2.0], name="x")
    optimizer = Declared()
    step = optimizer.minimize(x)
    session.run(tf.global_variables_initializer())
    assert optimizer.get_slot_names() == ["copy", "uno"]
    session.run(step)
    np.testing.assert_array_equal(session.run(x), [1 + 2 + 3, 2 + 2 + 6])
    session.run(step)
    np.testing.assert_array_equal(session.run(x), [6 + 4 * 2 + 3, 10 + 4 * 2 + 6])


def test_a_variable_whose_shape_is_not_known(graph, session):
    x = tf.Variable(tf.placeholder_with_default([1.0, -2.0], [None]), validate_shape=False)
    for optimizer in (Momentum(0.1), RMSProp(0.1)):
        step = optimizer.minimize(tf.reduce_sum(x * x))
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert np.all(np.abs(session.run(x)) < [1.0, 2.0])


def test_the_counter_in_a_graph_is_asked_for_before_the_step_is_built(graph, session):
    x = tf.Variable(1.0)
    counting, other = SGD(0.1), SGD(0.1)
    iterations = counting.iterations
    step = counting.minimize(x * x)
    other.minimize(x * x)
    session.run(tf.global_variables_initializer())
    steps(session, step, 3)
    assert session.run(iterations) == 3
    with pytest.raises(OptimizerError, match=r"ask for optimizer\.iterations before minimize"):
        other.iterations  # noqa: B018


def test_configuration_makes_the_optimizer_anew():
    average = ema(0.9)
    first = Momentum(0.1, 0.8, nesterov=True, name="mine", lazy=False, transforms=[average])
    x = tf2.Variable(1.0)
    first.minimize(lambda: 3 * x * x, [x])
    first.learning_rate = 0.05
    config = first.get_config()
    assert {k: v for k, v in config.items() if k != "transforms"} == {
        "name": "mine",
        "use_locking": False,
        "learning_rate": 0.05,
        "momentum": 0.8,
        "nesterov": True,
        "lazy": False,
    }
    second = Momentum.from_config(config)
    assert second.get_config().keys() == config.keys()
    assert second.transforms[0] is not average
    y = tf2.Variable(1.0)
    second.minimize(lambda: 3 * y * y, [y])  # the average belongs to it alone


def test_a_stateful_transform_belongs_to_one_optimizer():
    average = ema(0.9)
    SGD(transforms=[average])
    with pytest.raises(OptimizerError, match="make one for each"):
        SGD(transforms=[average])
