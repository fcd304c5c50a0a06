"""Optimizers written for TensorFlow 1, by its hooks, move over by a change of their base class."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.optimizers import Optimizer, ema, rowwise


def sign_momentum(base):
    """An optimizer as tutorials for TensorFlow 1 wrote them: every hook overridden, nothing declared."""

    class SignMomentum(base):
        def __init__(self, learning_rate=0.1, decay=0.5, use_locking=False, name="SignMomentum"):
            super().__init__(use_locking, name)
            self._lr, self._decay = learning_rate, decay

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "m", self._name)
            first = min(var_list, key=lambda v: v.name)
            self._create_non_slot_variable(initial_value=1.0, name="power", colocate_with=first)

        def _prepare(self):
            self._lr_t = tf.convert_to_tensor(self._lr, name="learning_rate")
            self._decay_t = tf.convert_to_tensor(self._decay, name="decay")

        def _power(self):
            return self._get_non_slot_variable(
                "power", graph=None if tf.executing_eagerly() else tf.get_default_graph()
            )

        def _apply_dense(self, grad, var):
            m = self.get_slot(var, "m")
            m_t = m.assign(self._decay_t * m + grad, use_locking=self._use_locking)
            return tf.assign_sub(var, self._lr_t * tf.sign(m_t) * self._power()).op

        def _resource_apply_dense(self, grad, handle):
            m = self.get_slot(handle, "m")
            m_t = m.assign(self._decay_t * m + grad)
            return handle.assign_sub(self._lr_t * tf.sign(m_t) * self._power(), read_value=False)

        def _apply_sparse(self, grad, var):
            return tf.scatter_sub(var, grad.indices, self._lr_t * tf.sign(grad.values)).op

        def _resource_apply_sparse(self, grad, handle, indices):
            return tf.raw_ops.ResourceScatterSub(
                resource=handle.handle, indices=indices, updates=self._lr_t * tf.sign(grad)
            )

        def _finish(self, update_ops, name_scope):
            with tf.control_dependencies(update_ops):
                power = self._power()
                shrink = power.assign(power * self._decay_t)
            return tf.group(*update_ops, shrink, name=name_scope)

    return SignMomentum


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_every_hook_works_as_it_did(use_resource, pair_of_variables):
    ends = []
    for base in (Optimizer, tf.train.Optimizer):
        with tf.Graph().as_default(), tf.Session() as session:
            loss, x, table = pair_of_variables(use_resource=use_resource)
            optimizer = sign_momentum(base)()
            step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(step)
            names = sorted(v.name for v in tf.global_variables())
            ends.append((session.run([x, table, optimizer.get_slot(x, "m"), tf.train.get_global_step()]), names))
    (ours, our_names), (theirs, their_names) = ends
    assert our_names == their_names
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_in_eager_code():
    class Plain(Optimizer):
        def __init__(self, learning_rate):
            super().__init__(use_locking=False, name="Plain")
            self._lr = learning_rate

        def _resource_apply_dense(self, grad, handle):
            return handle.assign_sub(self._lr * grad, read_value=False)

    x = tf.compat.v2.Variable(1.0)
    assert int(Plain(0.1).minimize(lambda: 3 * x * x, [x])) == 1
    np.testing.assert_allclose(x.numpy(), 0.4, rtol=1e-6)


def test_transforms_and_constraints_serve_old_hooks_too(graph, session):
    """A constraint that says it is row-wise still covers all rows: nobody knows which ones an old hook moves."""

    class Sparse(Optimizer):
        def _resource_apply_sparse(self, grad, handle, indices):
            return handle.assign_sub(tf.ones_like(handle), read_value=False)

    table = tf.Variable(tf.zeros([3, 2]), use_resource=True, constraint=rowwise(lambda value: tf.maximum(value, -0.25)))
    average = ema(0.5)
    optimizer = Sparse(False, "Sparse", transforms=[average])
    step = optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1])), table)])
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_array_equal(session.run(table), np.full((3, 2), -0.25))
    np.testing.assert_array_equal(session.run(average.average(table)), np.full((3, 2), -0.125))
