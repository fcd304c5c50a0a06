"""The variables behind declared slots, named as TensorFlow's optimizers name theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from ._declarations import slot
from ._host import StepHost

__all__ = ["create_shared", "create_slot"]


def create_slot(optimizer: StepHost, var: Any, declaration: slot) -> None:
    """Make the variable's slot, if it is not there. In a checkpoint it is `<variable>/<optimizer's name>[_n]`."""
    initial = declaration.initial
    if isinstance(initial, str):
        initial = getattr(optimizer, initial)
    if callable(initial):
        optimizer._get_or_make_slot(var, initial(var), declaration.name, optimizer._name)
    elif initial == 0.0:
        optimizer._zeros_slot(var, declaration.name, optimizer._name)
    else:
        optimizer._get_or_make_slot_with_initializer(
            var, _constant(var, initial), var.shape, var.dtype.base_dtype, declaration.name, optimizer._name
        )


def _constant(var: Any, number: float) -> Any:
    dtype = var.dtype.base_dtype
    if var.shape.is_fully_defined():
        return tf.constant_initializer(number)
    return lambda: tf.fill(tf.shape(var), tf.constant(number, dtype))


def create_shared(optimizer: StepHost, variables: list[Any]) -> None:
    """Make the shared slots, on the device of the variable whose name comes first, so that all workers agree."""
    first = min(variables, key=lambda var: var.name)
    for name, declaration in optimizer._shared.items():
        initial = declaration.initial
        if isinstance(initial, str):
            initial = optimizer._hyper.initial(initial)
        else:
            initial = np.asarray(initial, first.dtype.base_dtype.as_numpy_dtype)
        optimizer._create_non_slot_variable(initial, name, first)
