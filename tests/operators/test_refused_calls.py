"""A refused call leaves the graph as it was, whatever refuses it and wherever the op that it is refused for stands."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from worlds import control_flow

import symgrad
from symgrad.errors import MissingRuleError, NotLinearError, SymgradError

pytestmark = pytest.mark.core


@tf.custom_gradient
def raising(x):
    def gradient(upstream):
        raise ValueError(f"no gradient for {tf.square(upstream).name}")

    return tf.identity(x), gradient


@tf.custom_gradient
def clipped(x):
    return tf.identity(x), lambda upstream: tf.square(upstream) * x


@tf.custom_gradient
def one_for_two(x, y):
    return x * y, lambda upstream: upstream * y


def incomplete_beta(x):  # TensorFlow knows its derivative by x alone, which is the third input
    return tf.raw_ops.Betainc(a=tf.exp(x), b=tf.ones_like(x), x=tf.sigmoid(x))


@tf.custom_gradient
def no_second_derivative(x):
    return tf.identity(x), lambda upstream: upstream * incomplete_beta(x)


def fast_only(x):
    rows = tf.reshape(tf.concat([x, x * x], 0), [3, 2])
    solved = tf.linalg.lstsq(rows, tf.reshape(x, [3, 1]), fast=False)
    return tf.concat([tf.reshape(solved, [2]), x[2:]], 0)


FUNCTIONS = {
    "raises": raising,
    "not linear": clipped,
    "wrong number": lambda x: one_for_two(x, x),
    "no rule": incomplete_beta,
    "no rule in a recomputed function": lambda x: tf.recompute_grad(lambda a: a * incomplete_beta(a))(x),
    "prevented": lambda x: tf.raw_ops.PreventGradient(input=2.0 * x, message="for a reason"),
    "refused by its attributes": fast_only,
    "no second derivative": no_second_derivative,
    "behind a V2 branch": lambda x: raising(_branch(tf.sin, x, v2=True)),
}


def _loop(function, x, *, v2):
    with control_flow(v2=v2):
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, function(a)), [0, 1.0 * x])[1]


def _branch(function, x, *, v2):
    with control_flow(v2=v2):
        return tf.cond(tf.reduce_sum(x) > -99.0, lambda: function(x), lambda: 2.0 * function(x))


PLACES = {
    "plain": lambda function, x: function(x),
    "V1 loop": lambda function, x: _loop(function, x, v2=False),
    "V2 loop": lambda function, x: _loop(function, x, v2=True),
    "V1 branch": lambda function, x: _branch(function, x, v2=False),
    "V2 branch": lambda function, x: _branch(function, x, v2=True),
    "call": lambda function, x: tf.function(function)(x),
    "branch in a loop": lambda function, x: _loop(lambda a: _branch(function, a, v2=False), x, v2=False),
}
POINT, VECTOR = np.array([0.3, 0.5, 0.9]), np.array([1.0, -1.0, 2.0])

OPERATORS = {
    "Lop": lambda loss, y, x: symgrad.Lop(y, x, VECTOR),
    "Rop": lambda loss, y, x: symgrad.Rop(y, x, VECTOR),
    "double VJP": lambda loss, y, x: symgrad.Rop(y, x, VECTOR, method="double_vjp"),
    "jet": lambda loss, y, x: symgrad.jet(y, x, [VECTOR, None]),
    "gradients": lambda loss, y, x: symgrad.gradients(y, x),
    "rows": lambda loss, y, x: symgrad.jacobian(y, x, mode="rows"),
    "columns": lambda loss, y, x: symgrad.jacobian(y, x, mode="columns"),
    "jacobian": lambda loss, y, x: symgrad.jacobian(y, x),
    "devices": lambda loss, y, x: symgrad.jacobian(y, x, devices=["CPU:0"]),
    "batch_jacobian": lambda loss, y, x: symgrad.batch_jacobian(y, x),
    "hessian": lambda loss, y, x: symgrad.hessian(loss, x),
    "hvp": lambda loss, y, x: symgrad.hvp(loss, x, VECTOR),
    "ggnvp": lambda loss, y, x: symgrad.ggnvp(loss, y, x, VECTOR),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_refused_call_leaves_no_op(function, place):
    refused = []
    for name, operator in OPERATORS.items():
        with tf.Graph().as_default() as graph:
            x = tf.constant(POINT)
            y = PLACES[place](FUNCTIONS[function], x)
            loss = tf.reduce_sum(y * y)
            before = graph.as_graph_def()
            try:
                operator(loss, y, x)
            except SymgradError:
                refused.append(name)
                assert graph.as_graph_def() == before, name
    assert {"hvp", "hessian"} & set(refused)


@pytest.mark.parametrize("bad", [np.ones(2), np.array(["a", "b", "c"]), np.ones(3, np.complex128)])
@pytest.mark.parametrize("operator", ["Lop", "Rop", "hvp"])
def test_a_bad_vector_leaves_nothing_of_the_good_one_before_it(operator, bad, graph):
    x, y = tf.constant(POINT), tf.constant(VECTOR)
    ends = [x * y, x + y, tf.reduce_sum(x * y)]
    given = {
        "Lop": lambda: symgrad.Lop(ends[:2], x, [VECTOR, bad]),
        "Rop": lambda: symgrad.Rop(ends[0], [x, y], [VECTOR, bad]),
        "hvp": lambda: symgrad.hvp(ends[2], [x, y], [VECTOR, bad]),
    }
    before = graph.as_graph_def()
    with pytest.raises(SymgradError):
        given[operator]()
    assert graph.as_graph_def() == before


def test_what_is_linear_downstream_needs_no_second_derivative_of_its_gradient(graph, run):
    """The cotangent of the clipped op is constant: the Hessian exists although its gradient is not linear in it."""
    x = tf.constant(POINT)
    loss = tf.reduce_sum(clipped(x))  # its gradient is 1^2 x, by its own account
    np.testing.assert_allclose(run(symgrad.hvp(loss, x, VECTOR)), VECTOR, rtol=1e-12)  # exact but for rounding


def test_refusals_name_the_cause(graph):
    x = tf.constant(POINT)
    with pytest.raises(MissingRuleError, match="no gradient for"):
        symgrad.Lop(raising(x), x, VECTOR)
    with pytest.raises(NotLinearError, match="Square"):
        symgrad.Rop(clipped(x), x, VECTOR)
    with pytest.raises(MissingRuleError, match="Betainc"):
        symgrad.hvp(tf.reduce_sum(no_second_derivative(x) ** 2), x, VECTOR)
