"""One reverse pass through what lies between xs and ys, and through one op."""

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _walk, rules
from .._control_flow import PrivateCopy, inside, mend_zero_gradients, needs_copy, rebuild_for_reverse
from .._op_types import EXITS
from ..errors import MissingRuleError
from ._copies import by_private_copy, in_users_hands
from ._gradient_functions import Instead, attached, checked, is_users, nothing, rule_of, typed
from ._refusals import refuse_gradient_loops, require_inside, require_rules


def reverse(
    between: _walk.Between,
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    *,
    copy: PrivateCopy | None = None,
    instead: Instead | None = None,
    linear: bool = False,
    corrections: bool = True,
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
      instead: what `in_users_hands` gives for these ops, if it has been asked already.
      linear: refuse a user's gradient function that is not linear in the incoming gradient.
      corrections: use rules that correct gradients of TensorFlow's too.
      **options: what else `tf.gradients` takes.

    Returns:
      For each x a tensor, an `IndexedSlices` or None.
    """
    refuse_gradient_loops(between)
    rebuild_for_reverse(between.ops, ys[0].graph)
    copy = copy or PrivateCopy(between)
    stop = options.pop("stop_gradients", None)
    graph = tf.get_default_graph()
    loops = any(op.type in EXITS for op in between.ops)
    matrices = any(len(op.outputs) == 1 and rules.is_matrix(op.outputs[0]) for op in between.ops)
    # TensorFlow does not say what it makes: they are the ops of the graph from this number on.
    first = len(graph.get_operations()) if loops or matrices else 0
    # The scope that `tf.gradients` is about to open, another for each pass: it tells their arrays of gradients apart.
    scope = graph.unique_name(options["name"], mark_as_used=False)
    instead = in_users_hands(between.ops, corrections) if instead is None else instead
    # `tf.gradients` asks every op that floating tensors lead to, also where no derivative leads. A loop, branch or call
    # of the user that is no part of the copy would get further outputs there, and a session that has run it would
    # refuse it from then on; so it is answered for, and TensorFlow leaves it as it is.
    others: Instead = dict.fromkeys(filter(needs_copy, between.candidates), nothing)
    others |= {op: functools.partial(by_private_copy, op._gradient_function, corrections) for op in copy.recomputed}
    # TensorFlow looks at an op's own `_gradient_function` before `_gradient_op_type` and the registry (2.15 to 2.21):
    # what hangs there while `tf.gradients` runs stands for all three, for these ops and no others.
    with (
        attached(copy.ops(between.ops), others | instead, linear=linear, corrections=corrections),
        rules.one_accumulator(scope),
        typed(),
    ):
        found = tf.gradients(copy.of(ys), copy.of(xs), stop_gradients=stop and copy.of(stop), **options)
    if loops:
        mend_zero_gradients(graph, first)
    for op in graph.get_operations()[first:] if matrices else ():
        if rules.adds_matrices(op):
            with inside(graph, op._get_control_flow_context()):
                rules.replace_sum(op)
    return found


class Pullback:
    """The map from v to v^T J, for any number of vectors v: the paths are walked, checked and copied once.

    Args:
      ys, xs, stop, between, name, linear: as for `vjp`.
    """

    def __init__(
        self,
        ys: Sequence[tf.Tensor],
        xs: Sequence[tf.Tensor],
        *,
        stop: Sequence[tf.Tensor] = (),
        between: _walk.Between | None = None,
        name: str = "gradients",
        linear: bool = False,
    ):
        self._between = rules.between(ys, xs, stop) if between is None else between
        require_rules(self._between)
        self._copy = PrivateCopy(self._between)
        for op in self._between.ops:
            for new in self._copy.ops([op]):
                require_inside(new, set(self._between.active_inputs(op)) if new.type == op.type else None)
        self._instead = in_users_hands(self._between.ops)
        self._linear = linear
        self._ys, self._xs, self._stop, self._name = list(ys), list(xs), list(stop), name

    def __call__(self, cotangents: Sequence[tf.Tensor | None]) -> list[tf.Tensor | None]:
        """v^T J, dense; None for an x from which no derivative arrives. A y whose cotangent is None is left out.

        Raises:
          MissingRuleError: every op on the way from some x to ys has a derivative, and yet none arrives.
        """
        if not any(self._between.connected):  # TensorFlow would ask the gradient functions all the same
            return [None] * len(self._xs)
        pairs = [(y, v) for y, v in zip(self._ys, cotangents, strict=True) if v is not None]
        ys, vectors = [y for y, _ in pairs], [v for _, v in pairs]
        options: dict[str, Any] = {"grad_ys": vectors, "stop_gradients": self._stop, "name": self._name}
        options |= {"copy": self._copy, "instead": self._instead, "linear": self._linear}
        found = reverse(self._between, ys, self._xs, **options)
        if len(pairs) == len(self._ys):
            self._refuse_unexplained(found)
        return [
            _tensors.densify(g) if connected else None
            for g, connected in zip(found, self._between.connected, strict=True)
        ]

    def _refuse_unexplained(self, found: Sequence[Any]) -> None:
        """Raise where TensorFlow answers None although a path exists, unless a user's gradient function may say so."""
        lost = [
            x
            for x, g, connected in zip(self._xs, found, self._between.connected, strict=True)
            if connected and g is None
        ]
        if lost and not any(map(is_users, self._between.ops)):
            raise MissingRuleError(
                f"TensorFlow gives no derivative with respect to {lost[0].name}, although every op on the way from it "
                "to ys has one: some gradient function leaves it out. symgrad.diagnose.why_none(ys, xs) asks each of "
                "them; give a rule with symgrad.rules.transpose for the op that it names"
            )


def vjp(
    ys: Sequence[tf.Tensor],
    xs: Sequence[tf.Tensor],
    cotangents: Sequence[tf.Tensor],
    *,
    stop: Sequence[tf.Tensor] = (),
    between: _walk.Between | None = None,
    name: str = "gradients",
    linear: bool = False,
) -> list[tf.Tensor | None]:
    """The vector-Jacobian product v^T J, dense; None for an x from which no derivative arrives.

    Args:
      ys: tensors.
      xs: tensors; for variables their handles.
      cotangents: for each y a tensor of its shape and dtype.
      stop: tensors that count as constants.
      between: what lies between xs and ys, if that has been walked already.
      name: scope of the new ops.
      linear: refuse a user's gradient function that is not linear in the incoming gradient.

    Raises:
      MissingRuleError: an op on the way has a derivative that nobody computes; without it the result were incomplete.
      NotLinearError: if `linear`, a user's gradient function that is not.
    """
    return Pullback(ys, xs, stop=stop, between=between, name=name, linear=linear)(cotangents)


def gradient_of(
    op: tf.Operation,
    cotangents: Sequence[tf.Tensor | None],
    *,
    instead: Instead,
    linear: bool = True,
    corrections: bool = True,
) -> list[Any]:
    """The gradient function of one op at cotangents of its outputs: what it returns for each input.

    With `linear` it is to be linear in them: NotLinearError for a user's function that is not. `corrections` as for
    `reverse`. `instead` has gradient functions for what a user's function might differentiate itself: `in_users_hands`
    gives those that go through copies.
    An op whose type has a rule of ours, and no gradient of its own, is differentiated by that rule. It must not be an
    op that its gradient function changes (see `control_flow.private`).
    """
    function = checked(op) if linear and is_users(op) else None
    function = function or rule_of(op, corrections=corrections) or _tf.get_gradient_function(op)
    if function is None:  # TensorFlow's way to say that no derivative goes through
        return [None] * len(op.inputs)
    wanted = len(op.inputs)  # taken before: the gradient of a loop gives it further inputs
    with attached([op], instead, linear=linear, corrections=corrections), typed(op):
        found = function(op, *cotangents)
    found = list(found) if isinstance(found, list | tuple) else [found]
    if len(found) != wanted:
        raise MissingRuleError(
            f"the gradient function of {op.type} returned {len(found)} gradients for the {wanted} inputs of {op.name!r}"
        )
    return found
