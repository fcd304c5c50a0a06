"""The gradients of a loss: of a tensor by its graph, of a function by a tape; a missing one with its cause."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError
from ._check import Pairs, checked_variables
from ._variables import home, is_variable, label, reference, unwrap

__all__ = ["gradients_of"]

_log = logging.getLogger("symgrad")


def gradients_of(optimizer: Any, loss: Any, var_list: Any, *, gate_gradients: int, grad_loss: Any, **how: Any) -> Pairs:
    """Pairs of (gradient or None, variable as given); the rest is `Optimizer.compute_gradients`.

    Raises:
      OptimizerError: the loss is a tensor in eager code, `gate_gradients` is unknown, there is no variable.
    """
    if gate_gradients not in (optimizer.GATE_NONE, optimizer.GATE_OP, optimizer.GATE_GRAPH):
        raise OptimizerError(f"gate_gradients is {gate_gradients!r}; wanted Optimizer.GATE_NONE, GATE_OP or GATE_GRAPH")
    if callable(loss) and home() is None:
        return _by_tape(optimizer, loss, var_list, grad_loss)
    if tf.executing_eagerly():
        raise OptimizerError("loss is a tensor, of which eager code keeps no graph; give a function that computes it")
    loss = optimizer._scale_loss(loss() if callable(loss) else loss)
    if callable(var_list):
        var_list = var_list()
    if var_list is None:
        var_list = tf.trainable_variables() + tf.get_collection(tf.GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
    variables = checked_variables(var_list)
    grads = tf.gradients(
        loss,
        [_target(unwrap(var)) for var in variables],
        grad_ys=grad_loss,
        gate_gradients=gate_gradients == optimizer.GATE_OP,
        **how,
    )
    if gate_gradients == optimizer.GATE_GRAPH:
        grads = tf.tuple(grads)
    return _reported(list(zip(grads, variables)))


def _by_tape(optimizer: Any, loss: Any, var_list: Any, grad_loss: Any) -> Pairs:
    with tf.GradientTape() as tape:
        if var_list is not None and not callable(var_list):
            tape.watch([unwrap(var) for var in checked_variables(var_list)])
        value = optimizer._scale_loss(loss())
    if callable(var_list):
        var_list = var_list()
    variables = checked_variables(tape.watched_variables() if var_list is None else var_list)
    grads = tape.gradient(value, [unwrap(var) for var in variables], grad_loss)
    return _reported(list(zip(grads, variables)))


def _target(var: Any) -> Any:
    return reference(var) if is_variable(var) else var


def _reported(pairs: Pairs) -> Pairs:
    for grad, var in pairs:
        if grad is None:
            _log.warning("%s has no gradient and is left as it is: the loss does not depend on it", label(var))
    return pairs
