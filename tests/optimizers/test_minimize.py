"""The three steps: every argument of TensorFlow's class, Keras's order, functions for loss and variables, all modes."""

import logging

import keras
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad.errors import DisconnectedError, DtypeError, GraphMismatchError, OptimizerError, ShapeError
from symgrad.optimizers import SGD, Adam, Momentum, Optimizer, slot

tf2 = tf.compat.v2


def test_the_tutorials_snippet_in_eager_code():
    a, b = tf2.Variable(1.0), tf2.Variable(1.0)

    def loss():
        return 3 * a * a + 2 * b * b

    counter = SGD(lr=0.1).minimize(loss, [a, b])
    np.testing.assert_allclose([a.numpy(), b.numpy(), loss().numpy()], [0.4, 0.6, 1.2], rtol=1e-6)
    assert int(counter) == 1


def test_the_tutorials_snippet_in_a_graph(graph, session):
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    loss = 3 * a * a + 2 * b * b
    step = SGD(lr=0.1).minimize(loss, [a, b])
    assert isinstance(step, tf.Operation)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([a, b, loss]), [0.4, 0.6, 1.2], rtol=1e-6)


def test_functions_for_loss_and_variables_in_every_mode():
    """The variables appear with the first call of the loss, as in a Keras model that has not been built."""

    def make():
        made = []

        def loss():
            if not made:
                made.append(tf.Variable(1.0, use_resource=True))
            return 3 * made[0] * made[0]

        return made, loss

    made, loss = make()
    assert int(SGD(0.1).minimize(loss, lambda: made)) == 1
    np.testing.assert_allclose(made[0].numpy(), 0.4, rtol=1e-6)

    made, loss = make()
    optimizer = SGD(0.1)
    loss()
    step = tf.function(lambda: optimizer.minimize(loss, lambda: made))
    assert [int(step()), int(step())] == [1, 2]
    np.testing.assert_allclose(made[0].numpy(), 0.16, rtol=1e-6)

    with tf.Graph().as_default(), tf.Session() as session:
        made, loss = make()
        step = SGD(0.1).minimize(loss, lambda: made)
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(made[0]), 0.4, rtol=1e-6)


def test_a_tensor_as_the_loss_inside_a_function():
    x, optimizer = tf2.Variable(1.0), SGD(0.1)

    @tf.function
    def step():
        return optimizer.minimize(3 * x * x, var_list=[x])

    assert int(step()) == 1
    np.testing.assert_allclose(x.numpy(), 0.4, rtol=1e-6)


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_every_argument_of_tensorflows_minimize(gate, graph, session):
    x, y = tf.Variable(1.0, name="x"), tf.Variable(1.0, name="y")
    global_step = tf.train.get_or_create_global_step()
    step = SGD(0.1).minimize(
        3 * x * x + y,
        global_step=global_step,
        var_list={"only": x},
        gate_gradients=gate,
        aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE,
        colocate_gradients_with_ops=True,
        name="train",
        grad_loss=tf.constant(2.0),
    )
    assert step.name == "train"
    assert step in graph.get_collection(tf.GraphKeys.TRAIN_OP)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([x, y, global_step]), [1 - 0.1 * 2 * 6, 1.0, 1], rtol=1e-6)


def test_the_three_steps_by_hand(graph, session):
    x, y = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = SGD(0.1)
    pairs = optimizer.compute_gradients(3 * x * x + 2 * y * y)
    capped = [(tf.clip_by_value(grad, -1.0, 1.0), variable) for grad, variable in pairs]
    step = optimizer.apply_gradients(capped)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([x, y]), [0.9, 0.9], rtol=1e-6)


def test_inside_a_loop_of_version_1(graph, session):
    x = tf.Variable(1.0)
    control = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        power = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * x), [0, tf.constant(1.0)])[1]
    finally:
        if control:
            tf.enable_control_flow_v2()
    step = SGD(0.1).minimize(power)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run(x), 1 - 0.1 * 3, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_model_of_keras_3(wrap):
    """Its variables are objects around TensorFlow's; its constraints stand on those objects."""
    layer = keras.layers.Dense(1, kernel_initializer="ones", kernel_constraint=keras.constraints.NonNeg())
    optimizer, inputs = Momentum(0.5, 0.9), np.ones((4, 3), np.float32)
    step = wrap(lambda: optimizer.minimize(lambda: tf.reduce_sum(layer(inputs)), lambda: layer.trainable_variables))
    layer(inputs)
    for _ in range(3):
        step()
    np.testing.assert_array_equal(layer.kernel.numpy(), np.zeros((3, 1)))
    np.testing.assert_allclose(layer.bias.numpy(), [-0.5 * 4 * (1 + 1.9 + 2.71)], rtol=1e-6)
    assert optimizer.get_slot(layer.kernel, "momentum").shape == (3, 1)


def test_a_model_of_tf_keras_compiled_with_ours():
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(3,))])
    model.compile(optimizer=Adam(0.1), loss="mse")
    inputs = np.eye(3, dtype=np.float32)
    losses = model.fit(inputs, inputs[:, :1], epochs=60, verbose=0).history["loss"]
    assert losses[-1] < 0.05 * losses[0]


# ---- variables without a gradient


def test_a_variable_without_a_gradient_is_left_and_the_log_says_why(graph, session, caplog):
    x, cut, unused = (tf.Variable(1.0, name=name) for name in ("x", "cut", "unused"))
    optimizer = SGD(0.1)
    with caplog.at_level(logging.WARNING, logger="symgrad"):
        step = optimizer.minimize(3 * x * x + tf.stop_gradient(cut, name="wall"))
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([x, cut, unused]), [0.4, 1.0, 1.0], rtol=1e-6)
    of_cut, of_unused = caplog.messages
    assert of_cut.startswith("cut has no gradient and stays as it is")
    assert "wall" in of_cut
    assert of_unused.startswith("unused has no gradient and stays as it is")


def test_if_no_variable_has_a_gradient_the_error_names_the_ops(graph):
    x = tf.Variable(1.5, name="x")
    with pytest.raises(DisconnectedError, match=r"x: .*to_int"):
        SGD().minimize(tf.cast(tf.cast(x, tf.int32, name="to_int"), tf.float32))
    # Like TensorFlow's, compute_gradients alone returns None.
    assert SGD().compute_gradients(tf.stop_gradient(x)) == [(None, x)]


def test_if_no_variable_has_a_gradient_in_eager_code():
    x = tf2.Variable(1.5)
    with pytest.raises(DisconnectedError, match="does not depend on it, or only through integers"):
        SGD().minimize(lambda: tf.stop_gradient(x) * 2.0, [x])


# ---- bad input


def test_bad_pairs_are_refused(graph):
    x = tf.Variable([1.0, 2.0], name="x")
    whole = tf.Variable([1, 2], name="whole")
    grad = tf.constant([1.0, 1.0])
    cases = [
        ([], OptimizerError, "got no pairs"),
        ([grad, x], OptimizerError, r"grads_and_vars\[0\] is .*wanted a pair \(gradient, variable\)"),
        ([(x, grad)], OptimizerError, r"wanted a pair \(gradient, variable\)"),
        ([(grad, x), (grad, x)], OptimizerError, "x comes twice"),
        ([(None, x)], DisconnectedError, "no variable has a gradient: x"),
        ([(tf.constant([1, 1]), whole)], DtypeError, "whole has dtype int32; an optimizer can train"),
        ([(tf.constant([1.0], tf.float64), x)], DtypeError, "the gradient of x is float64; wanted float32"),
        ([(tf.constant([1.0, 1.0, 1.0]), x)], ShapeError, r"the gradient of x has shape \(3,\); wanted \(2,\)"),
    ]
    for pairs, error, message in cases:
        with pytest.raises(error, match=message):
            SGD().apply_gradients(pairs)


def test_variables_of_another_graph_are_refused(graph):
    x = tf.Variable(1.0, name="x")
    with tf.Graph().as_default(), pytest.raises(GraphMismatchError, match="x belongs to another graph"):
        SGD().apply_gradients([(tf.constant(1.0), x)])


def test_other_bad_arguments(graph):
    x = tf.Variable(1.0)
    with pytest.raises(OptimizerError, match=r"var_list\[0\] is a str"):
        SGD().minimize(x * x, var_list=["x"])
    with pytest.raises(OptimizerError, match="gate_gradients is 7"):
        SGD().minimize(x * x, gate_gradients=7)
    with pytest.raises(OptimizerError, match="reduction is 'max'"):
        SGD(reduction="max")
    with tf.Graph().as_default(), pytest.raises(OptimizerError, match="no variable to optimize"):
        SGD().minimize(tf.constant(1.0))


def test_eager_code_needs_a_function():
    x = tf2.Variable(1.0)
    with pytest.raises(OptimizerError, match="give a function that computes it"):
        SGD().minimize(x * x, [x])


def returning(*result):
    """An optimizer whose formula returns this for every gradient."""

    class Formula(Optimizer):
        declared = slot()

        def step(self, grad, var, h, s):
            return result if len(result) != 1 else result[0]

    return Formula()


def test_a_bad_formula_is_refused(graph):
    x = tf.Variable([1.0, 2.0], name="x")
    grad = tf.constant([1.0, 1.0])
    cases = [
        (
            returning(grad, {"other": grad}),
            OptimizerError,
            r"\['other'\], which are not declared.*it has \['declared'\]",
        ),
        (returning(grad), OptimizerError, "wanted a pair: what to add to the variable"),
        (returning(tf.constant(1.0), {}), ShapeError, r"for variable x: what to add has shape \(\); wanted \(2,\)"),
        (returning(grad, {"declared": tf.constant([1, 1])}), OptimizerError, "slot declared has dtype int32"),
        (Optimizer(False, "bare"), NotImplementedError, "Optimizer has neither `step` nor the hook"),
    ]
    for optimizer, error, message in cases:
        with pytest.raises(error, match=message):
            optimizer.apply_gradients([(grad, x)])
