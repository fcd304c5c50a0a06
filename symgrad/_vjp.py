"""One reverse pass: the only caller of `tf.gradients`."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tensors, _tf, _walk, rules
from .control_flow import PrivateCopy, mend_zero_gradients, rebuild_for
from .errors import ControlFlowError, MissingRuleError, ShapeError


def reverse(
    between: _walk.Between,
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    *,
    copy: PrivateCopy | None = None,
    **options: Any,
) -> list[Any]:
    """`tf.gradients` where TensorFlow leaves it undone as well.

    That is: V2 ops that have run, V1 loops and branches of a bare GraphDef, TensorArrays while V2 control flow is on,
    gradient ops with a rule of ours.

    Args:
      between: what lies between xs and ys.
      ys: tensors.
      xs: tensors; for variables their handles.
      copy: the copies of the ops between them, if they are made already.
      **options: what else `tf.gradients` takes.

    Returns:
      For each x a tensor, an `IndexedSlices` or None.
    """
    _refuse_gradient_loops(between)
    rebuild_for(between.ops, ys[0].graph)
    copy = copy or PrivateCopy(between)
    stop = options.pop("stop_gradients", None)
    graph = tf.get_default_graph()
    loops = any(op.type in ("Exit", "RefExit") for op in between.ops)
    first = len(graph.get_operations()) if loops else 0
    scope = graph.unique_name(options["name"], mark_as_used=False)
    with _attached(copy.ops(between.ops)), rules.one_pass(scope):
        found = tf.gradients(copy.of(ys), copy.of(xs), stop_gradients=stop and copy.of(stop), **options)
    if loops:
        mend_zero_gradients(graph, first)
    return found


class Pullback:
    """The map from v to v^T J, for any number of vectors v: the paths are walked, checked and copied once.

    Args:
      ys, xs, stop, between, name: as for `vjp`.
    """

    def __init__(
        self,
        ys: Sequence[tf.Tensor],
        xs: Sequence[tf.Tensor],
        *,
        stop: Sequence[tf.Tensor] = (),
        between: _walk.Between | None = None,
        name: str = "gradients",
    ):
        self._between = rules.between(ys, xs, stop) if between is None else between
        require_rules(self._between)
        self._copy = PrivateCopy(self._between)
        self._ys, self._xs, self._stop, self._name = list(ys), list(xs), list(stop), name

    def __call__(self, cotangents: Sequence[tf.Tensor | None]) -> list[tf.Tensor | None]:
        """v^T J, dense; None for an x from which no derivative arrives. A y whose cotangent is None is left out."""
        pairs = [(y, v) for y, v in zip(self._ys, cotangents) if v is not None]
        ys, vectors = [y for y, _ in pairs], [v for _, v in pairs]
        options = {"grad_ys": vectors, "stop_gradients": self._stop, "name": self._name}
        found = reverse(self._between, ys, self._xs, copy=self._copy, **options)
        return [_tensors.densify(g) for g in found]


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
      name: scope of the new ops.

    Raises:
      MissingRuleError: an op on the way has a derivative that nobody computes; without it the result were incomplete.
    """
    return Pullback(ys, xs, stop=stop, between=between, name=name)(cotangents)


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


def _refuse_gradient_loops(between: _walk.Between) -> None:
    """Raise ControlFlowError where a path leads back through the gradient of a V1 loop.

    TensorFlow refuses the loop that it knows as a gradient; in an imported graph it would go on and leave out what
    passes through the stacks.
    """
    for op in between.ops:
        context = op._get_control_flow_context() if op.type in ("Exit", "RefExit") else None
        if op.type in _walk.STACK_POPS or (context is not None and context.grad_state is not None):
            raise ControlFlowError(
                f"ys are computed by the gradient of a V1 loop (at {op.name!r}, {op.type}), whose own gradient cannot "
                "be taken in reverse; take it forward: symgrad.hvp for second derivatives of a scalar, symgrad.Rop of "
                "the gradient else"
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
