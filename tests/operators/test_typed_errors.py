"""Whatever a gradient function raises, and whatever is given for an argument, the error is one of symgrad's."""

import re

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import errors

pytestmark = pytest.mark.core

ONES = np.ones(2)
OPERATORS = {
    "Lop": lambda y, x: symgrad.Lop(y, x, ONES),
    "gradients": lambda y, x: symgrad.gradients(y, x),
    "Rop": lambda y, x: symgrad.Rop(y, x, ONES),
    "double_vjp": lambda y, x: symgrad.Rop(y, x, ONES, method="double_vjp"),
    "jacobian": lambda y, x: symgrad.jacobian(y, x),
    "rows": lambda y, x: symgrad.jacobian(y, x, mode="rows", block_size=1),
    "columns": lambda y, x: symgrad.jacobian(y, x, mode="columns"),
    "batch_jacobian": lambda y, x: symgrad.batch_jacobian(y, x),
    "hessian": lambda y, x: symgrad.hessian(tf.reduce_sum(y), x),
    "hvp": lambda y, x: symgrad.hvp(tf.reduce_sum(y), x, ONES),
    "ggnvp": lambda y, x: symgrad.ggnvp(tf.reduce_sum(y), y, x, ONES),
}


def raising(error):
    """An op whose gradient function raises `error`."""

    @tf.custom_gradient
    def f(x):
        def grad(dy):
            raise error

        return tf.identity(x), grad

    return f


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("error", [KeyError("no such key"), AssertionError(), ValueError("\n"), tf.errors.OpError(
    None, None, "said", 3)], ids=lambda e: type(e).__name__)  # fmt: skip
def test_what_a_gradient_function_raises_names_the_op(graph, name, error):
    x = tf.constant([1.0, 2.0], tf.float64)
    y = raising(error)(x * 2.0)
    with pytest.raises(errors.MissingRuleError, match="IdentityN") as caught:
        OPERATORS[name](y, x)
    assert type(error).__name__ in str(caught.value)
    assert re.search(r"test_typed_errors\.py:\d+", str(caught.value))


def test_an_op_of_tensorflow_that_refuses_is_named(graph):
    x = tf.constant([1.0, 2.0], tf.float64)
    y = tf.raw_ops.PreventGradient(input=x, message="no second derivative")
    for operator in OPERATORS.values():
        with pytest.raises(errors.MissingRuleError, match="PreventGradient"):
            operator(y, x)


def test_what_gradients_says_of_its_arguments_stays_that_of_tensorflow(graph):
    x = tf.constant([1.0, 2.0])
    for gradients in (tf.gradients, symgrad.gradients):
        with pytest.raises(ValueError, match="grad_ys") as caught:
            gradients([x * 2.0], [x], [x, x])
        assert not isinstance(caught.value, errors.SymgradError)


def _cycle():
    found = []
    found.append(found)
    return found


def sparse():
    return tf.SparseTensor([[0, 1]], tf.constant([1.0]), [2, 2])


def ragged():
    return tf.RaggedTensor.from_row_splits(tf.constant([1.0, 2.0]), [0, 2])


BAD = {
    "ragged xs": (errors.DtypeError, "flat_values", lambda y, x: symgrad.Lop(y, ragged(), ONES)),
    "sparse xs": (errors.DtypeError, r"\.values", lambda y, x: symgrad.jacobian(y, [x, sparse()])),
    "sparse ys": (errors.DtypeError, r"\.values", lambda y, x: symgrad.jacobian(sparse(), x)),
    "ragged ys": (errors.DtypeError, "flat_values", lambda y, x: symgrad.Lop([y, ragged()], x, ONES)),
    "sparse y of gradients": (errors.DtypeError, r"\.values", lambda y, x: symgrad.gradients(sparse(), x)),
    "an op as ys": (errors.DtypeError, "Operation", lambda y, x: symgrad.jacobian(y.op, x)),
    "an op as y of gradients": (errors.DtypeError, "Operation", lambda y, x: symgrad.gradients(y.op, x)),
    "a dict of vectors": (errors.ShapeError, "grad_ys", lambda y, x: symgrad.Lop([y], x, {"a": ONES})),
    "a method in a list": (ValueError, "method", lambda y, x: symgrad.Rop(y, x, ONES, method=["forward"])),
    "a mode in a list": (ValueError, "mode", lambda y, x: symgrad.jacobian(y, x, mode=["rows"])),
    "cyclic xs": (errors.ShapeError, "contains itself", lambda y, x: symgrad.Lop(y, _cycle(), ONES)),
    "no session": (errors.GraphMismatchError, "session", lambda y, x: symgrad.jacobian_blocks(y, x, session=None)),
    "no session for nan_origin": (errors.GraphMismatchError, "session",
                                  lambda y, x: symgrad.diagnose.nan_origin(y, session=None)),
    "another graph's session": (errors.GraphMismatchError, "graph",
                                lambda y, x: symgrad.jacobian_blocks(y, x, session=tf.Session(graph=tf.Graph()))),
    "another graph's session for a check": (errors.GraphMismatchError, "graph",
                                lambda y, x: symgrad.testing.check_adjoint(y, x, session=tf.Session(graph=tf.Graph()))),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_taken_is_refused_and_says_why(graph, what):
    kind, says, call = BAD[what]
    x = tf.constant([1.0, 2.0], tf.float64)
    with pytest.raises(kind, match=says):
        call(x * 2.0, x)


def test_an_eager_y_of_gradients_is_refused(graph, eagerly):
    y = eagerly(lambda: tf.constant(1.0))
    if isinstance(y, tf.Tensor) and hasattr(y, "numpy"):
        with pytest.raises(errors.GraphMismatchError, match="eager"):
            symgrad.gradients(y, tf.constant(1.0))


@pytest.mark.parametrize("name", OPERATORS)
def test_a_variable_in_parts_is_told_its_parts(name, graph):
    w = tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2))
    y = tf.convert_to_tensor(w)[:2] * 2.0
    with pytest.raises(errors.DtypeError, match=r"PartitionedVariable; wanted a tensor: its parts, as list\(...\)"):
        OPERATORS[name](y, w)
    assert len(symgrad.Lop(y, list(w), np.ones(2, np.float32), disconnected="zero")) == 2


def test_a_cause_that_several_xs_share_is_said_once(graph):
    xs = [tf.Variable(1.0, name=f"x{i}") for i in range(6)]
    y = tf.cast(tf.argmax(tf.stack(xs), name="best"), tf.float32)
    with pytest.raises(errors.DisconnectedError) as refused:
        symgrad.Lop(y, xs, 1.0)
    said = str(refused.value)
    assert said.count("'best'") == 1
    assert "x0" in said
    assert "and 2 more" in said
