"""Sparse gradients: repeated rows, lazy and dense updates, constraints on touched rows or on the whole variable."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import OptimizerError
from symgrad.optimizers import LAMB, SGD, Adam, Momentum, Optimizer, hyperparameter, rowwise, slot
from tests.optimizers import peers

START = np.arange(12.0).reshape(4, 3) / 10
ROWS = np.array([2, 0, 2])
VALUES = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25], [0.5, -1.0, 2.0]])


class HeavyBall(Optimizer):
    """A formula of a user's own, without a kernel."""

    learning_rate = hyperparameter(0.1)
    velocity = slot()

    def step(self, grad, var, h, s):
        velocity = 0.9 * s.velocity - h.learning_rate * grad
        return velocity, {"velocity": velocity}


def trained(optimizer, *, sparse, use_resource=True, constraint=None, dtype=np.float64, steps=3):
    """A table after some steps with the same gradient, given as rows or written out."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(START.astype(dtype), use_resource=use_resource, constraint=constraint, name="table")
        grad = tf.IndexedSlices(tf.constant(VALUES, dtype), tf.constant(ROWS), tf.constant([4, 3]))
        step = optimizer.apply_gradients([(grad if sparse else tf.convert_to_tensor(grad), table)])
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        return session.run(table)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("member", peers.MEMBERS, ids=lambda member: member.name)
def test_not_lazy_equals_the_dense_gradient(member, use_resource):
    def make():
        return member.ours(**member.hypers, **member.options, lazy=False)

    sparse = trained(make(), sparse=True, use_resource=use_resource)
    # float64, three steps, another order of rounding.
    np.testing.assert_allclose(sparse, trained(make(), sparse=False, use_resource=use_resource), rtol=1e-13)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("make", [HeavyBall, Adam, Momentum], ids=lambda make: make.__name__)
def test_lazy_moves_the_touched_rows_alone(make, use_resource):
    lazy = trained(make(0.1, lazy=True), sparse=True, use_resource=use_resource)
    dense = trained(make(0.1), sparse=False, use_resource=use_resource)
    np.testing.assert_array_equal(lazy[[1, 3]], START[[1, 3]])
    # The touched rows have a gradient in every step, so both move them alike.
    np.testing.assert_allclose(lazy[[0, 2]], dense[[0, 2]], rtol=1e-13)


def test_a_lazy_step_builds_nothing_of_the_size_of_the_table():
    """Every tensor that the training step computes is of the size of the touched rows."""
    with tf.Graph().as_default() as graph:
        table = tf.Variable(
            tf.zeros([100_000, 8]),
            use_resource=True,
            constraint=rowwise(lambda value: tf.maximum(value, 0.0)),
        )
        grad = tf.IndexedSlices(tf.ones([3, 8]), tf.constant([5, 7, 5]))
        before = len(graph.get_operations())
        step = HeavyBall(lazy=True).apply_gradients([(grad, table)])
        needed = {op.name for op in _ancestors(step)}
        built = [op for op in graph.get_operations()[before:] if op.name in needed]
        assert any(op.type == "ResourceScatterUpdate" for op in built)
        sizes = [t.shape.num_elements() or 0 for op in built for t in op.outputs if t.dtype != tf.resource]
        assert max(sizes) < 100


def _ancestors(op):
    seen, todo = {op}, [op]
    while todo:
        at = todo.pop()
        for other in [t.op for t in at.inputs] + list(at.control_inputs):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def _no_negative(value):
    return tf.maximum(value, tf.zeros([], value.dtype))


def _unit_columns(value):
    return value / tf.norm(value, axis=0, keepdims=True)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("make", [SGD, Momentum, Adam, HeavyBall], ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "constraint", [_no_negative, rowwise(_no_negative), _unit_columns], ids=["whole", "rowwise", "columns"]
)
def test_constraints_after_sparse_updates_are_those_after_dense_ones(constraint, make, use_resource):
    """TensorFlow refuses a constraint with an embedding's gradient."""
    how = {"constraint": constraint, "use_resource": use_resource}
    sparse = trained(make(0.5, lazy=False), sparse=True, **how)
    np.testing.assert_allclose(sparse, trained(make(0.5), sparse=False, **how), rtol=1e-12, atol=1e-15)
    if constraint is _unit_columns:
        np.testing.assert_allclose(np.linalg.norm(sparse, axis=0), 1.0, rtol=1e-12)
    else:
        assert sparse.min() == 0.0


def test_a_rowwise_constraint_is_applied_to_the_touched_rows_alone():
    low = rowwise(lambda value: tf.minimum(value, tf.constant(-5.0, value.dtype)))
    table = trained(Momentum(0.1), sparse=True, constraint=low)
    np.testing.assert_array_equal(table[[1, 3]], START[[1, 3]])
    assert table[[0, 2]].max() <= -5.0


def test_a_rowwise_constraint_is_applied_to_all_rows_if_all_moved():
    low = rowwise(lambda value: tf.minimum(value, tf.constant(-5.0, value.dtype)))
    assert trained(Momentum(0.1, lazy=False), sparse=True, constraint=low).max() <= -5.0


def test_rowwise_keeps_the_constraint():
    marked = rowwise(_no_negative)
    assert marked.rowwise
    assert marked.__name__ == "_no_negative"
    assert not hasattr(_no_negative, "rowwise")


def test_an_optimizer_that_looks_at_whole_variables_cannot_be_lazy():
    with pytest.raises(OptimizerError, match="LAMB looks at whole variables"):
        LAMB(lazy=True)
