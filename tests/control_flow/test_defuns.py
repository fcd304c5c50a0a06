"""Calls of functions made by Defun, whose op type is the name of the function."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.function import Defun

import symgrad
from symgrad.diagnose import why_none
from symgrad.errors import ControlFlowError, MissingRuleError, NotLinearError
from symgrad.rules import Cut

pytestmark = pytest.mark.core

X, V = np.array([0.4, -0.2, 0.9]), np.array([0.3, -1.0, 0.7])
SECOND = -2 * np.tanh(X) * (1 - np.tanh(X) ** 2)  # of tanh


def tanh(a):
    return tf.tanh(a)


KINDS = {
    "plain": lambda: Defun(tf.float64, func_name="plain_tanh")(tanh),
    "python": lambda: Defun(
        tf.float64, func_name="python_tanh", python_grad_func=lambda op, dy: dy * (1 - tf.tanh(op.inputs[0]) ** 2)
    )(tanh),
    "function": lambda: Defun(
        tf.float64,
        func_name="function_tanh",
        grad_func=Defun(tf.float64, tf.float64, func_name="function_tanh_grad")(lambda a, d: d * (1 - tf.tanh(a) ** 2)),
    )(tanh),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_derivative_is_that_of_the_function(run, kind):
    x = tf.constant(X)
    y = KINDS[kind]()(x)
    y.set_shape([3])
    slope = 1 - np.tanh(X) ** 2
    total = tf.reduce_sum(y)
    got = run(
        {
            "Lop": symgrad.Lop(y, x, V),
            "Rop": symgrad.Rop(y, x, V),
            "double": symgrad.Rop(y, x, V, method="double_vjp"),
            "gradients": symgrad.gradients(y, x)[0] * V,
            **{mode: symgrad.jacobian(y, x, mode=mode) @ V[:, None] for mode in ("rows", "columns")},
        }
    )
    for name, value in got.items():
        np.testing.assert_allclose(np.ravel(value), slope * V, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(run(symgrad.hvp(total, x, V)), SECOND * V, rtol=1e-12)
    np.testing.assert_allclose(run(symgrad.hessian(total, x)), np.diag(SECOND), rtol=1e-12, atol=1e-15)
    assert not why_none(y, x)
    np.testing.assert_allclose(run(tf.gradients(y, x)[0]), slope, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_in_an_imported_graph(run, kind):
    with tf.Graph().as_default() as other:
        KINDS[kind]()(tf.placeholder(tf.float64, [3], name="x"))
        name = other.get_operations()[-1].name
    x = tf.constant(X)
    (y,) = tf.import_graph_def(other.as_graph_def(), {"x": x}, [f"{name}:0"])
    if kind == "python":  # a file holds no Python: the gradient is that of the body
        assert not why_none(y, x)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, V)), (1 - np.tanh(X) ** 2) * V, rtol=1e-12)
    np.testing.assert_allclose(run(symgrad.hvp(tf.reduce_sum(y), x, V)), SECOND * V, rtol=1e-12)


@pytest.mark.parametrize("v2", [False, True])
def test_in_the_body_of_a_loop(run, v2):
    from worlds import control_flow

    f = KINDS["plain"]()
    x = tf.constant(X)
    with control_flow(v2=v2):
        y = tf.while_loop(
            lambda i, a: i < 2,
            lambda i, a: (i + 1, tf.ensure_shape(f(a), [3])),
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([3])],
        )[1]
    first, second = 1 - np.tanh(X) ** 2, 1 - np.tanh(np.tanh(X)) ** 2
    np.testing.assert_allclose(run(symgrad.Lop(y, x, V)), first * second * V, rtol=1e-12)
    np.testing.assert_allclose(run(symgrad.Rop(y, x, V)), first * second * V, rtol=1e-12)
    want = SECOND * second + first**2 * -2 * np.tanh(np.tanh(X)) * second
    np.testing.assert_allclose(run(symgrad.hvp(tf.reduce_sum(y), x, V)), want * V, rtol=1e-12)


def test_a_session_that_has_run_goes_on(run):
    x = tf.constant(X)
    y = KINDS["plain"]()(x)
    before = run(y)
    symgrad.Lop(y, x, V)
    np.testing.assert_array_equal(run(y), before)


def test_a_gradient_that_is_not_linear_is_named(graph):
    f = Defun(tf.float64, python_grad_func=lambda op, dy: dy * dy)(tanh)
    x = tf.constant(X)
    with pytest.raises(NotLinearError):
        symgrad.Rop(f(x), x, V)


def test_a_gradient_that_answers_none_or_fails_is_named(graph):
    def fails(op, dy):
        raise RuntimeError("no slope here")

    x = tf.constant(X)
    silent = Defun(tf.float64, python_grad_func=lambda op, dy: [None], func_name="silent")(tanh)(x)
    (finding,) = why_none(silent, x)
    assert finding.cause is Cut.CUSTOM_NONE
    raising = Defun(tf.float64, python_grad_func=fails, func_name="raising")(tanh)(x)
    (finding,) = why_none(raising, x)
    assert finding.cause is Cut.CUSTOM_FAILS
    assert "no slope here" in str(finding)
    with pytest.raises(MissingRuleError, match="no slope here"):
        symgrad.Lop(raising, x, V)


def test_one_that_draws_random_numbers_is_not_run_twice(graph):
    f = Defun(tf.float64, func_name="drawing")(lambda a: a * tf.random_uniform([3], dtype=tf.float64))
    x = tf.constant(X)
    with pytest.raises(ControlFlowError, match="RandomUniform"):
        symgrad.Lop(f(x), x, V)


def test_the_model_opens_them(graph):
    inner = Defun(tf.float64, func_name="inner_of_model")(tanh)
    Defun(tf.float64, func_name="outer_of_model")(lambda a: inner(a) * a)(tf.constant(X))
    model = symgrad.graph.build(graph)
    body = symgrad.graph.bodies(model, "outer_of_model")["f"]
    assert {"inner_of_model", "Mul"} <= {node["type"] for _, node in body.nodes(data=True)}
    ways = [way for way, _ in symgrad.graph.walk(model)]
    assert any("inner_of_model" in way for way in ways)


def test_second_derivative_of_ctc_loss(run):
    """Its gradient has Defun calls in V2 loops, and takes log(0) of states that no path reaches: NaN there, and named.

    Central differences of a float32 gradient tell two digits.
    """
    logits, v = np.random.default_rng(0).random((2, 4, 2, 3)).astype(np.float32)
    x = tf.placeholder_with_default(logits, [4, 2, 3])
    labels, lengths = tf.constant([[1], [2]]), ([1, 1], [4, 4])
    y = tf.nn.ctc_loss_v2(labels, x, *lengths, blank_index=0)
    y = tf.reduce_sum(y)
    gradient = symgrad.Lop(y, x, 1.0)
    step = 1e-2
    ahead, behind = (run(gradient, {x: logits + sign * step * v}) for sign in (1, -1))
    if tf.__version__ < "2.16":  # it writes in place, which has no derivative
        with pytest.raises(MissingRuleError, match="Inplace"):
            symgrad.hvp(y, x, v)
        return
    product = symgrad.hvp(y, x, v)
    got = run(product)
    there = np.isfinite(got)
    assert np.abs(got[there]).max() > 1e-2
    np.testing.assert_allclose(got[there], ((ahead - behind) / (2 * step))[there], atol=2e-3)
    assert there.all() or any("Log" in str(f) for f in symgrad.diagnose.nan_origin(product, session=run.session))
