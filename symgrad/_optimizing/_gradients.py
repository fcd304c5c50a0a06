"""The gradients of a loss: of a tensor by its graph, of a function by a tape; a missing one with its cause."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from .. import diagnose, operators
from ..errors import OptimizerError
from ._chain import rescale_loss
from ._checked import Pairs, checked_variables
from ._host import StepHost
from ._variables import home, label, unwrap

__all__ = ["gradients_of"]

_log = logging.getLogger("symgrad")

_NO_TRACE = (
    "the loss does not depend on it, or only through integers, tf.stop_gradient or NumPy (in a graph, as in a "
    "tf.function with the loss as a tensor, the op that cuts the path is named)"
)


def gradients_of(
    optimizer: StepHost, loss: Any, var_list: Any, *, gate_gradients: int, grad_loss: Any, **how: Any
) -> Pairs:
    """Pairs of (gradient or None, variable as given); the rest is `Optimizer.compute_gradients`.

    Raises:
      OptimizerError: the loss is a tensor in eager code, `gate_gradients` is unknown, there is no variable.
    """
    if gate_gradients not in (tf.train.Optimizer.GATE_NONE, tf.train.Optimizer.GATE_OP, tf.train.Optimizer.GATE_GRAPH):
        raise OptimizerError(f"gate_gradients is {gate_gradients!r}; wanted Optimizer.GATE_NONE, GATE_OP or GATE_GRAPH")
    if tf.distribute.has_strategy() and tf.distribute.in_cross_replica_context() and home() is None:
        raise OptimizerError(
            "minimize is called under a strategy but in none of its replicas; call it inside the function that "
            "strategy.run runs"
        )
    if callable(loss) and home() is None:
        return _by_tape(optimizer, loss, var_list, grad_loss)
    if tf.executing_eagerly():
        raise OptimizerError("loss is a tensor, of which eager code keeps no graph; give a function that computes it")
    given = loss() if callable(loss) else loss
    loss, restore = rescale_loss(optimizer.transforms, optimizer._scale_loss(given))
    if callable(var_list):
        var_list = var_list()
    if var_list is None:
        var_list = tf.trainable_variables() + tf.get_collection(tf.GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
    variables = checked_variables(var_list)
    inner = [unwrap(var) for var in variables]
    gate = gate_gradients == tf.train.Optimizer.GATE_OP
    grads = operators.gradients(loss, inner, grad_ys=grad_loss, gate_gradients=gate, **how)
    if gate_gradients == tf.train.Optimizer.GATE_GRAPH:
        grads = tf.tuple(grads)
    missing = [var for grad, var in zip(grads, inner, strict=True) if grad is None]
    _report(optimizer, {label(var): _causes(given, var) for var in missing})
    return _pairs(grads, variables, restore)


def _by_tape(optimizer: StepHost, loss: Any, var_list: Any, grad_loss: Any) -> Pairs:
    with tf.GradientTape() as tape:
        if var_list is not None and not callable(var_list):
            tape.watch([unwrap(var) for var in checked_variables(var_list)])
        value, restore = rescale_loss(optimizer.transforms, optimizer._scale_loss(loss()))
    if callable(var_list):
        var_list = var_list()
    variables = checked_variables(tape.watched_variables() if var_list is None else var_list)
    inner = [unwrap(var) for var in variables]
    grads = tape.gradient(value, inner, grad_loss)
    missing = [label(var) for grad, var in zip(grads, inner, strict=True) if grad is None]
    _report(optimizer, dict.fromkeys(missing, _NO_TRACE))
    return _pairs(grads, variables, restore)


def _pairs(grads: Any, variables: list[Any], restore: Callable[[Any], Any]) -> Pairs:
    return [(None if grad is None else restore(grad), var) for grad, var in zip(grads, variables, strict=True)]


def _causes(loss: tf.Tensor, var: Any) -> str:
    """Why the loss has no gradient with respect to the variable, as far as the graph tells."""
    findings = diagnose.why_none(loss, [var])
    return (
        "; ".join(finding.about("").removeprefix(": ") for finding in findings)
        or "no path in the graph leads from it to the loss"
    )


def _report(optimizer: StepHost, causes: dict[str, str]) -> None:
    """Say for each variable why it has no gradient, and leave it with the optimizer in case all of them have none."""
    by_cause: dict[str, list[str]] = {}
    optimizer._missing = by_cause
    for name, cause in causes.items():
        by_cause.setdefault(cause, []).append(name)
    for cause, names in by_cause.items():
        one = len(names) == 1
        said = "%s has no gradient and stays as it is: %s" if one else "%s have no gradient and stay as they are: %s"
        _log.warning(said, ", ".join(names), cause)
