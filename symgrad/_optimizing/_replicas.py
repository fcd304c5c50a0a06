"""The training step under `tf.distribute`: gradients are reduced over the replicas, then applied to every copy."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError
from ._checked import Pairs
from ._host import StepHost
from ._training_step import advance, after, count, gated, links, transformed
from ._variable_update import update_variable
from ._variables import present

__all__ = ["apply_in_replica", "apply_merged"]

_distribute = tf.compat.v2.distribute


def apply_in_replica(optimizer: StepHost, pairs: Pairs, global_step: Any, name: str | None) -> Any:
    """The step of one replica, which all replicas take together.

    Raises:
      OptimizerError: the caller is in no replica.
    """
    replica = _distribute.get_replica_context()
    if replica is None:
        raise OptimizerError(
            "apply_gradients is called under a strategy but in none of its replicas; call it inside the function that "
            "strategy.run runs"
        )
    return replica.merge_call(optimizer._distributed_apply, args=(pairs, global_step, name))


def apply_merged(optimizer: StepHost, strategy: Any, pairs: Pairs, global_step: Any, name: str | None) -> Any:
    """The step of all replicas, for gradients that are one value per replica."""
    how = _distribute.ReduceOp.SUM if optimizer.reduction == "sum" else _distribute.ReduceOp.MEAN
    pairs = list(pairs)
    pairs = list(zip(strategy.extended.batch_reduce_to(how, pairs), [var for _, var in pairs], strict=True))
    if optimizer.transforms:  # after the reduction every replica holds the same gradient
        pairs = [(strategy.experimental_local_results(grad)[0], var) for grad, var in pairs]
    pairs, when = transformed(optimizer, pairs)
    with tf.name_scope(name, optimizer._name) as scope:
        if when is None:
            return _step(optimizer, strategy, pairs, global_step, scope)
        return gated(when, lambda: _step(optimizer, strategy, pairs, global_step, None), scope)


def _step(optimizer: StepHost, strategy: Any, pairs: Pairs, global_step: Any, scope: str | None) -> Any:
    optimizer._begin()
    optimizer._prepare()
    variables = [var for _, var in pairs]
    around = links(optimizer)
    with after([grad for grad, _ in pairs] if around else []):  # with transforms, a gradient is one tensor
        before = [op for link in around for op in link.before(variables)]
    updates = []
    with after(before):
        for grad, var in pairs:
            update = lambda v, g: update_variable(optimizer, g, v)  # noqa: E731
            updates += strategy.extended.update(var, update, args=(grad,), group=False)
    with after(updates):
        updates += [op for link in around for op in link.after(variables)]

    def finish(ops: list[Any]) -> Any:
        with tf.control_dependencies(present(ops)):
            ops = [*ops, *advance(optimizer)]
        return optimizer._finish(present(ops), "update")

    devices = strategy.extended.non_slot_devices(variables)
    finished = strategy.extended.update_non_slot(devices, finish, args=(updates,), group=False)
    finished = present(finished if isinstance(finished, (list, tuple)) else [finished])
    if global_step is None:
        return strategy.group(finished, name=scope)
    with tf.control_dependencies(finished):
        return strategy.extended.update(global_step, lambda v: count(v, None), args=())
