"""One reverse pass: the only caller of `tf.gradients`."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tensors, _walk, rules
from .control_flow import PrivateCopy
from .errors import MissingRuleError


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
) -> list[tf.Tensor | None]:
    """The vector-Jacobian product v^T J, dense; None for an x from which no derivative arrives.

    Raises:
      MissingRuleError: an op on the way has a derivative that nobody computes; without it the result were incomplete.
    """
    between = _walk.between(list(ys), list(xs), stop)
    require_rules(between)
    # TensorArray gradients of one pass find each other by the scope whose name begins with this word.
    found = reverse(between, ys, xs, grad_ys=list(cotangents), stop_gradients=list(stop), name="gradients")
    return [_tensors.densify(g) for g in found]


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
