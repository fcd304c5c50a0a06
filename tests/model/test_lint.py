"""`lint`: for each finding a graph that has it and one that has not."""

import json

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from symgrad.graph import Lint, build, lint, watch_overrides


def found(graph, kind):
    findings = lint(build(graph))
    for finding in findings:
        assert json.loads(json.dumps(finding.to_dict()))["ops"] == list(finding.ops)
    return [finding for finding in findings if finding.cause is kind]


def layer(x, name, **options):
    with tf.variable_scope(name):
        return tf.tanh(tf.matmul(x, tf.get_variable("w", [3, 3], use_resource=False, **options)), name="h")


@pytest.fixture
def clean():
    """A training graph in which nothing is wrong: a constant goes in, every variable is trained."""
    with tf.Graph().as_default() as graph:
        loss = tf.reduce_sum(layer(tf.ones([2, 3]), "a"), name="loss")
        gradient = tf.gradients(loss, list(tf.trainable_variables()))
        tf.assign_sub(tf.trainable_variables()[0], gradient[0])
    return graph


def test_nothing_is_found_where_nothing_is(clean):
    assert [f for f in lint(build(clean)) if f.cause is not Lint.UNUSED_GRADIENT] == []


@pytest.mark.parametrize(("key", "hint"), [("tanh", "did you mean 'Tanh'?"), ("Relu", "must be in force then")])
def test_override_key_that_matches_no_op(key, hint):
    graph = tf.Graph()
    with watch_overrides(graph), graph.as_default(), graph.gradient_override_map({key: "Mine", "MatMul": "Other"}):
        layer(tf.ones([2, 3]), "a")
    (finding,) = found(graph, Lint.OVERRIDE_UNMATCHED)
    assert key in str(finding)
    assert hint in str(finding)


def test_override_map_in_force_is_looked_at_without_watching():
    with tf.Graph().as_default() as graph:
        tf.sin(tf.ones([2]))
        with graph.gradient_override_map({"sin": "Mine"}):
            assert "did you mean 'Sin'?" in str(found(graph, Lint.OVERRIDE_UNMATCHED)[0])
        assert found(graph, Lint.OVERRIDE_UNMATCHED) == []


def test_override_map_that_matches():
    with tf.Graph().as_default() as graph, watch_overrides(graph), graph.gradient_override_map({"Tanh": "Mine"}):
        layer(tf.ones([2, 3]), "a")
    assert found(graph, Lint.OVERRIDE_UNMATCHED) == []
    assert graph.gradient_override_map.__func__ is tf.Graph.gradient_override_map


def test_overridden_ops(clean, tmp_path):
    overrides = {"Tanh": "AGradientThatNobodyRegistered", "MatMul": "MatMul"}
    with tf.Graph().as_default() as graph, graph.gradient_override_map(overrides):
        layer(tf.ones([2, 3]), "a")
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    for source in (graph, tmp_path / "model.pb"):
        registered, not_registered = found(source, Lint.OVERRIDE)
        assert list(registered.ops) == ["a/MatMul"]
        assert "not registered" not in str(registered)
        assert list(not_registered.ops) == ["a/h"]
        assert "not registered" in str(not_registered)
    assert found(clean, Lint.OVERRIDE) == []


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("trained", [True, False])
def test_variable_without_a_gradient(resource, trained):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        w, v = (tf.get_variable(name, [3, 3], use_resource=resource) for name in "wv")
        tf.get_variable("unread", [3], use_resource=resource)
        scale = tf.get_variable("scale", [], trainable=False, use_resource=resource)
        h = tf.matmul(x, w)
        y = tf.matmul(tf.stop_gradient(h), v) * scale
        loss = tf.reduce_sum(y)
        if trained:
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        else:
            tf.gradients(loss, [v])
    (finding,) = found(graph, Lint.NO_GRADIENT)
    assert list(finding.ops) == ["w"]


def test_variables_that_all_have_one(clean, tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4, 4, 3])
        scale, offset = tf.get_variable("scale", [3]), tf.get_variable("offset", [3])
        mean = tf.get_variable("mean", [3], trainable=False, use_resource=False)
        y, batch_mean, _ = tf.nn.fused_batch_norm(x, scale, offset)
        tf.assign_sub(mean, 0.1 * (mean - batch_mean))
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(y), global_step=tf.train.get_or_create_global_step())
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    for source in (clean, graph, tmp_path / "model.pb"):
        assert found(source, Lint.NO_GRADIENT) == []


def test_variable_without_a_gradient_in_a_file(tmp_path):
    with tf.Graph().as_default() as graph:
        h = layer(tf.ones([2, 3]), "frozen")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(layer(tf.stop_gradient(h), "head")))
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert found(tmp_path / "model.pb", Lint.NO_GRADIENT)[0].ops == ("frozen/w",)


def test_gradients_that_nobody_consumes():
    with tf.Graph().as_default() as graph:
        x, w = tf.placeholder(tf.float32, [2, 3], name="x"), tf.get_variable("w", [2, 3], use_resource=False)
        of_w, _ = tf.gradients(tf.reduce_sum(tf.multiply(x, w, name="product")), [w, x])
        tf.assign_sub(w, of_w)
    (finding,) = found(graph, Lint.UNUSED_GRADIENT)
    assert "product" in str(finding)
    assert all(name.startswith("gradients/product_grad/") for name in finding.ops)


def test_gradients_that_are_all_consumed():
    with tf.Graph().as_default() as graph:
        w = tf.get_variable("w", [2, 3], use_resource=False)
        tf.assign_sub(w, tf.gradients(tf.reduce_sum(tf.sin(w)), w)[0])
    assert found(graph, Lint.UNUSED_GRADIENT) == []


def test_the_same_gradients_twice():
    with tf.Graph().as_default() as graph:
        y = tf.reduce_sum(layer(tf.placeholder(tf.float32, [None, 3]), "a"))
        w = tf.trainable_variables()[0]
        for _ in range(2):
            tf.gradients(y, w)
    (finding,) = found(graph, Lint.DUPLICATE_GRADIENTS)
    assert "'gradients', 'gradients_1'" in str(finding)
    assert all(name.startswith("gradients_1/") for name in finding.ops)


def test_gradients_of_other_ys_xs_or_vectors():
    with tf.Graph().as_default() as graph:
        h = layer(tf.placeholder(tf.float32, [None, 3]), "a")
        y, z = tf.reduce_sum(layer(h, "b"), name="y"), tf.reduce_sum(tf.exp(h), name="z")
        a, b = tf.trainable_variables()
        tf.gradients(y, a)
        tf.gradients(y, b)
        tf.gradients(z, a)
        tf.gradients(y, a, grad_ys=tf.constant(2.0))
    assert found(graph, Lint.DUPLICATE_GRADIENTS) == []


def test_a_graph_that_grows():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.get_variable("w", [3], use_resource=False)
        for step in range(6):  # a training loop that builds what it runs
            tf.reduce_mean(tf.square(x * w), name="accuracy")
            tf.assign(w, np.full(3, step, np.float32))
    findings = found(graph, Lint.GROWING)
    assert [len(finding.ops) for finding in findings] == [6, 6]
    assert {finding.ops[-1] for finding in findings} == {"accuracy_5", "Assign_5"}


def test_many_layers_and_many_uses_are_no_growth():
    with tf.Graph().as_default() as graph:
        x = h = tf.placeholder(tf.float32, [None, 3])
        for i in range(8):
            h = tf.nn.dropout(layer(h, f"layer_{i}"), rate=0.5)
        heads = [layer(x, f"head_{i}") for i in range(8)]
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(h) + sum(tf.reduce_sum(head) for head in heads))
    assert found(graph, Lint.GROWING) == []


def within_a_function(body, *, calls=1):
    """A function with that body, called by a function that is called."""
    inner = tf2.function(body)
    outer = tf2.function(lambda x: inner(x) + 1.0)
    with tf.Graph().as_default() as graph:
        for _ in range(calls):
            outer(tf.placeholder(tf.float32, [3]))
    return graph


def test_what_is_in_functions_is_found_once():
    tf.RegisterGradient("AGradientOfALintTest")(lambda op, g: g)

    def body(x):
        with tf.get_default_graph().gradient_override_map({"Sin": "AGradientOfALintTest"}):
            y = tf.reduce_sum(tf.sin(x, name="y"))
        z = sum(tf.reduce_max(x * x, name="z") for _ in range(6))
        return tf.gradients(y, x)[0] + tf.gradients(y, x)[0] + z

    findings = lint(build(within_a_function(body, calls=2)))
    assert [finding.cause for finding in findings] == [Lint.OVERRIDE, Lint.DUPLICATE_GRADIENTS, Lint.GROWING]
    for finding in findings:
        assert finding.within[1::2] == ("f", "f")
        assert f" in 'f' in {finding.within[-2]!r}" in str(finding)
    assert list(findings[0].ops) == ["y"]


def test_nothing_in_functions():
    assert lint(build(within_a_function(lambda x: tf.gradients(tf.sin(x), x)[0]))) == []


def test_override_key_that_does_not_reach_into_functions():
    graph = tf.Graph()
    with watch_overrides(graph), graph.as_default(), graph.gradient_override_map({"Tanh": "Mine"}):
        tf2.function(tf.tanh)(tf.ones([2]))
    (finding,) = found(graph, Lint.OVERRIDE_UNMATCHED)
    assert "enter it within the function" in str(finding)


@pytest.mark.parametrize("same", [True, False])
def test_only_branches_that_do_the_same_are_copies(same):
    """The names of their functions differ in numbers only."""
    was = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [3], name="x")
            for i in range(6):
                factor = 1.0 if same else float(i)
                tf.cond(tf.reduce_sum(x) > 0, lambda factor=factor: x * factor, lambda: x, name="branch")
    finally:
        if not was:
            tf.disable_control_flow_v2()
    copies = [name for finding in found(graph, Lint.GROWING) for name in finding.ops]
    assert any(name.startswith("branch") for name in copies) == same


def test_a_function_that_is_not_there():
    graph_def = within_a_function(tf.sin).as_graph_def()
    graph_def.library.Clear()
    (finding,) = found(graph_def, Lint.UNREAD_FUNCTION)
    assert "has no function named" in str(finding)
