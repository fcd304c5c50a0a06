"""Gradients and variables on their way into `apply_gradients`: converted and checked."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import DisconnectedError, DtypeError, GraphMismatchError, OptimizerError, ShapeError
from ._variables import home, is_variable, label, unwrap

__all__ = ["Pairs", "checked_pairs", "checked_variables"]

Pairs = list[tuple[Any, Any]]


def checked_variables(var_list: Any) -> list[Any]:
    """The leaves of a structure of variables, Keras 3's included, as they were given.

    Raises:
      OptimizerError: a leaf is neither a variable nor a tensor, or there is none.
    """
    variables = tf.nest.flatten(var_list)
    for i, var in enumerate(variables):
        if not is_variable(unwrap(var)) and not tf.is_tensor(var):
            raise OptimizerError(f"var_list[{i}] is a {type(var).__name__}; wanted a variable")
    if not variables:
        raise OptimizerError("there is no variable to optimize; give var_list, or make trainable variables first")
    return variables


def checked_pairs(grads_and_vars: Iterable, dtypes: Set[tf.DType]) -> Pairs:
    """Pairs of (Tensor or IndexedSlices, TensorFlow variable); pairs without a gradient are left out.

    Args:
      grads_and_vars: pairs of a gradient (tensor, IndexedSlices, array or None) and a variable of any kind.
      dtypes: the dtypes that can be trained.

    Raises:
      OptimizerError: there is no pair, something is not a pair with a variable, or a variable comes twice.
      DisconnectedError: no variable has a gradient.
      DtypeError, ShapeError, GraphMismatchError: a gradient does not fit its variable, or the variable this place.
    """
    given = list(grads_and_vars)
    if not given:
        raise OptimizerError("apply_gradients got no pairs; give [(gradient, variable), ...] as from compute_gradients")
    pairs: Pairs = []
    for i, pair in enumerate(given):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not is_variable(unwrap(pair[1])):
            raise OptimizerError(f"grads_and_vars[{i}] is {pair!r}; wanted a pair (gradient, variable)")
        grad, var = pair[0], unwrap(pair[1])
        if grad is not None:
            _check_variable(var, dtypes)
            pairs.append((_gradient(grad, var), var))
    if not pairs:
        names = ", ".join(label(var) for _, var in given)
        raise DisconnectedError(f"no variable has a gradient: {names}; compute_gradients logs the cause for each")
    _refuse_twins([var for _, var in pairs])
    return pairs


def _check_variable(var: Any, dtypes: Set[tf.DType]) -> None:
    dtype = var.dtype.base_dtype
    if dtype not in dtypes:
        wanted = ", ".join(sorted(d.name for d in dtypes))
        raise DtypeError(f"variable {label(var)} has dtype {dtype.name}; an optimizer can train {wanted}")
    where = home()
    if where is not None and getattr(var, "graph", where) is not where:
        raise GraphMismatchError(
            f"variable {label(var)} belongs to another graph than the one in which training is built; enter its graph, "
            "`with variable.graph.as_default():`, for minimize or apply_gradients"
        )


def _gradient(grad: Any, var: Any) -> Any:
    if isinstance(grad, tf.compat.v2.distribute.DistributedValues):
        return grad
    if isinstance(grad, tf.IndexedSlices):
        values, want = grad.values.shape[1:], var.shape[1:]
    else:
        grad = tf.convert_to_tensor(grad, dtype_hint=var.dtype.base_dtype)
        values, want = grad.shape, var.shape
    if grad.dtype.base_dtype != var.dtype.base_dtype:
        raise DtypeError(f"the gradient of {label(var)} is {grad.dtype.name}; wanted {var.dtype.base_dtype.name}")
    if not values.is_compatible_with(want):
        rows = " in each row" if isinstance(grad, tf.IndexedSlices) else ""
        raise ShapeError(f"the gradient of {label(var)} has shape {values}{rows}; wanted {want}")
    return grad


def _refuse_twins(variables: list[Any]) -> None:
    seen = set()
    for var in variables:
        if var.ref() in seen:
            raise OptimizerError(
                f"variable {label(var)} comes twice and its updates would race; add its gradients first"
            )
        seen.add(var.ref())
