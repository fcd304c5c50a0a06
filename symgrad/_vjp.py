"""One reverse pass: the only caller of `tf.gradients`."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tensors, _tf, _walk, rules
from .control_flow import PrivateCopy
from .errors import MissingRuleError, ShapeError


def reverse(between: _walk.Between, ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], **options: Any) -> list[Any]:
    """`tf.gradients` where TensorFlow leaves it undone as well: V2 ops that have run, gradient ops with a rule of ours.

    Args:
      between: what lies between xs and ys.
      ys: tensors.
      xs: tensors; for variables their handles.
      **options: what else `tf.gradients` takes.

    Returns:
      For each x a tensor, an `IndexedSlices` or None.
    """
    copy = PrivateCopy(between)
    stop = options.pop("stop_gradients", None)
    with _attached(copy.ops(between.ops)), _for_tensor_arrays(between.ops):
        return tf.gradients(copy.of(ys), copy.of(xs), stop_gradients=stop and copy.of(stop), **options)


def vjp(
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    cotangents: Sequence[tf.Tensor],
    *,
    stop: Sequence[tf.Tensor] = (),
    between: _walk.Between | None = None,
    name: str = "gradients",
) -> list[tf.Tensor | None]:
    """The vector-Jacobian product v^T J, dense; None for an x from which no derivative arrives.

    Args:
      ys: tensors.
      xs: tensors; for variables their handles.
      cotangents: for each y a tensor of its shape and dtype.
      stop: tensors that count as constants.
      between: what lies between xs and ys, if that has been walked already.
      name: scope of the new ops. TensorArray gradients of one pass find each other by a scope whose name begins with
        "gradients"; where there are none, another name keeps those of different passes apart.

    Raises:
      MissingRuleError: an op on the way has a derivative that nobody computes; without it the result were incomplete.
    """
    if between is None:
        between = rules.between(ys, xs, stop)
    require_rules(between)
    found = reverse(between, ys, xs, grad_ys=list(cotangents), stop_gradients=list(stop), name=name)
    return [_tensors.densify(g) for g in found]


def gradient_of(op: tf.Operation, cotangents: Sequence[tf.Tensor | None]) -> list[Any]:
    """The gradient function of one op at cotangents of its outputs: what it returns for each input.

    An op whose type has a transpose rule, and no gradient of its own, is differentiated by that rule. It must not be an
    op that its gradient function changes (see `control_flow.private`).
    """
    own = rules.has_own_gradient(op)
    function = _tf.get_gradient_function(op) if own or op.type not in rules.transpose else rules.transpose[op.type]
    wanted = len(op.inputs)  # taken before: the gradient of a loop gives it further inputs
    found = function(op, *cotangents)
    found = list(found) if isinstance(found, list | tuple) else [found]
    if len(found) != wanted:
        raise ShapeError(
            f"the gradient function of {op.type} returned {len(found)} gradients for the {wanted} inputs of {op.name!r}"
        )
    return found


def require_rules(between: _walk.Between) -> None:
    """Raise MissingRuleError if an op between xs and ys has a derivative and no rule for it."""
    gaps = rules.gaps(between)
    if gaps:
        op, index, cut = gaps[0]
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        raise MissingRuleError(
            f"no gradient for op {op.name!r} of type {op.type} with respect to its input {index} "
            f"({op.inputs[index].name}): {cut.value}{more}. Give a rule with symgrad.rules.transpose({op.type!r}), or "
            "wrap the input in tf.stop_gradient if it is meant to be a constant"
        )


@contextlib.contextmanager
def _attached(ops: Sequence[tf.Operation]) -> Iterator[None]:
    """Let each op whose type has a transpose rule, and no gradient of its own, be differentiated by that rule."""
    ruled = [op for op in ops if op.type in rules.transpose and not rules.has_own_gradient(op)]
    for op in ruled:
        op._gradient_function = rules.transpose[op.type]
    try:
        yield
    finally:
        for op in ruled:
            op._gradient_function = None


@contextlib.contextmanager
def _for_tensor_arrays(ops: Sequence[tf.Operation]) -> Iterator[None]:
    """Switch V2 control flow off while V1 TensorArrays are differentiated.

    Their gradient functions wrap the handle in a tf.TensorArray, which with V2 control flow on is made of a TensorList
    and refuses a handle.
    """
    switch = tf.control_flow_v2_enabled() and any(op.type.startswith("TensorArray") for op in ops)
    if switch:
        tf.disable_control_flow_v2()
    try:
        yield
    finally:
        if switch:
            tf.enable_control_flow_v2()
