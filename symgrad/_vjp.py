"""One reverse pass: the only caller of `tf.gradients`."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tensors, _tf, _walk, rules
from ._control_flow import (
    PrivateCopy,
    alias,
    behind,
    bodies,
    declared_gradient,
    encloses,
    inside,
    mend_zero_gradients,
    needs_copy,
    private,
    rebuild_for_reverse,
)
from ._op_types import EXITS, FUNCTIONAL, STACK_POPS
from ._where import made_at
from .errors import ControlFlowError, MissingRuleError, SymgradError

# The gradient functions that ops have for one pass.
Instead = dict[tf.Operation, Callable[..., Any]]


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
      instead: what `_in_users_hands` gives for these ops, if it has been asked already.
      linear: refuse a user's gradient function that is not linear in the incoming gradient.
      corrections: use rules that correct gradients of TensorFlow's too.
      **options: what else `tf.gradients` takes.

    Returns:
      For each x a tensor, an `IndexedSlices` or None.
    """
    _refuse_gradient_loops(between)
    rebuild_for_reverse(between.ops, ys[0].graph)
    copy = copy or PrivateCopy(between)
    stop = options.pop("stop_gradients", None)
    graph = tf.get_default_graph()
    loops = any(op.type in EXITS for op in between.ops)
    matrices = any(len(op.outputs) == 1 and rules.is_matrix(op.outputs[0]) for op in between.ops)
    first = len(graph.get_operations()) if loops or matrices else 0
    scope = graph.unique_name(options["name"], mark_as_used=False)
    instead = _in_users_hands(between.ops, corrections) if instead is None else instead
    others: Instead = dict.fromkeys(filter(needs_copy, between.candidates), _nothing)
    others |= {op: functools.partial(_by_private_copy, op._gradient_function, corrections) for op in copy.recomputed}
    with (
        _attached(copy.ops(between.ops), others | instead, linear=linear, corrections=corrections),
        rules.one_pass(scope),
        _typed(),
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
        self._instead = _in_users_hands(self._between.ops)
        self._linear = linear
        self._ys, self._xs, self._stop, self._name = list(ys), list(xs), list(stop), name

    def __call__(self, cotangents: Sequence[tf.Tensor | None]) -> list[tf.Tensor | None]:
        """v^T J, dense; None for an x from which no derivative arrives. A y whose cotangent is None is left out.

        Raises:
          MissingRuleError: every op on the way from some x to ys has a derivative, and yet none arrives.
        """
        if not any(self._between.connected):  # TensorFlow would ask the gradient functions all the same
            return [None] * len(self._xs)
        pairs = [(y, v) for y, v in zip(self._ys, cotangents) if v is not None]
        ys, vectors = [y for y, _ in pairs], [v for _, v in pairs]
        options: dict[str, Any] = {"grad_ys": vectors, "stop_gradients": self._stop, "name": self._name}
        options |= {"copy": self._copy, "instead": self._instead, "linear": self._linear}
        found = reverse(self._between, ys, self._xs, **options)
        if len(pairs) == len(self._ys):
            self._refuse_unexplained(found)
        return [_tensors.densify(g) if connected else None for g, connected in zip(found, self._between.connected)]

    def _refuse_unexplained(self, found: Sequence[Any]) -> None:
        """Raise where TensorFlow answers None although a path exists, unless a user's gradient function may say so."""
        lost = [x for x, g, connected in zip(self._xs, found, self._between.connected) if connected and g is None]
        if lost and not any(map(_is_users, self._between.ops)):
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
    linear: bool = True,
    corrections: bool = True,
    instead: Instead | None = None,
) -> list[Any]:
    """The gradient function of one op at cotangents of its outputs: what it returns for each input.

    With `linear` it is to be linear in them: NotLinearError for a user's function that is not. `corrections` as for
    `reverse`. `instead` has gradient functions for what a user's function might differentiate itself; by default they
    go through copies.
    An op whose type has a rule of ours, and no gradient of its own, is differentiated by that rule. It must not be an
    op that its gradient function changes (see `control_flow.private`).
    """
    function = _checked(op) if linear and _is_users(op) else None
    function = function or _rule(op, corrections=corrections) or _tf.get_gradient_function(op)
    if function is None:  # TensorFlow's way to say that no derivative goes through
        return [None] * len(op.inputs)
    wanted = len(op.inputs)  # taken before: the gradient of a loop gives it further inputs
    instead = _in_users_hands([op]) if instead is None else instead
    with _attached([op], instead, linear=linear, corrections=corrections), _typed(op):
        found = function(op, *cotangents)
    found = list(found) if isinstance(found, list | tuple) else [found]
    if len(found) != wanted:
        raise MissingRuleError(
            f"the gradient function of {op.type} returned {len(found)} gradients for the {wanted} inputs of {op.name!r}"
        )
    return found


@contextlib.contextmanager
def _typed(op: tf.Operation | None = None) -> Iterator[None]:
    """Say of an error in a gradient function what it means: there is no usable rule.

    Without an `op` it is asked of the error whose gradient function raised it; what `tf.gradients` says of its
    arguments stays as it is.
    """
    try:
        yield
    except SymgradError:
        raise
    except Exception as error:
        op = op or _tf.op_being_differentiated(error)
        if op is None:
            raise
        made = made_at(op)
        said = f"{type(error).__name__}: {error}" if str(error).strip() else type(error).__name__
        raise MissingRuleError(
            f"the gradient function of {op.type} {op.name!r}{f' (made at {made})' if made else ''} failed with {said}. "
            f"Give a rule with symgrad.rules.transpose({op.type!r}), or wrap the op's inputs in tf.stop_gradient"
        ) from error


def _rule(op: tf.Operation, *, corrections: bool = True) -> Callable[..., Any] | None:
    """The rule that stands for TensorFlow's gradient of `op`, if there is one."""
    if rules.has_own_gradient(op):
        return _rule_beside_own(op)
    if rules.composite.rule_of(op, corrections=corrections):
        return _by_composite
    return rules.transpose.rule_of(op, corrections=corrections)


def _rule_beside_own(op: tf.Operation) -> Callable[..., Any] | None:
    """What stands for a gradient of the op's own that TensorFlow cannot use, or hands to an op without a gradient."""
    if _tf.is_gradient_of_recompute(op):
        return lambda op, *cotangents: list(cotangents)  # the inside, of which it is the identity, has gradients
    named = op._gradient_function is not None or _tf.has_attribute(op, "_gradient_op_type")
    return None if named else declared_gradient(op)


def _by_composite(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[Any]:
    """The gradient of the ops that `op` could be made of."""
    inputs = [tf.identity(t) if _tensors.is_differentiable(t) else t for t in op.inputs]
    outputs = rules.composite[op.type](op, *inputs)
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    pairs = [(y, u) for y, u in zip(outputs, cotangents) if y is not None and u is not None]
    moving = [i for i, t in enumerate(inputs) if _tensors.is_differentiable(t)]
    found = tf.gradients([y for y, _ in pairs], [inputs[i] for i in moving], [u for _, u in pairs], name="composite")
    gradients = dict(zip(moving, found))
    return [gradients.get(i) for i in range(len(inputs))]


def require_rules(between: _walk.Between) -> None:
    """Raise MissingRuleError if an op between xs and ys has a derivative and no rule for it."""
    gaps = rules.gaps(between)
    if gaps:
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        raise MissingRuleError(_gap_sentence(*gaps[0], more))


def _gap_sentence(op: tf.Operation, index: int, cut: rules.Cut, more: str = "") -> str:
    return (
        f"no gradient for op {op.name!r} of type {op.type} with respect to its input {index} "
        f"({op.inputs[index].name}): {cut.value}{more}. Give a rule with symgrad.rules.transpose({op.type!r}), or "
        "wrap the input in tf.stop_gradient if it is meant to be a constant"
    )


def refuse_partial_rules(
    between: _walk.Between, ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], stop: Sequence[tf.Tensor] = ()
) -> None:
    """Raise MissingRuleError if a rule of ours would stand for a gradient of which it knows a part only.

    For `gradients`, which leaves all other gaps to `tf.gradients`: that answers them with an error or with None.
    """
    if any(op.type in FUNCTIONAL or _is_partial(op, between.active_inputs(op)) for op in between.ops):
        for op, index, cut in rules.missing(list(ys), list(xs), stop):
            if _is_partial(op, [index]):
                raise MissingRuleError(_gap_sentence(op, index, cut))


def _is_partial(op: tf.Operation, active: Sequence[int]) -> bool:
    """True if `gradients` takes a rule for `op` that does not speak for one of its `active` inputs."""
    if rules.has_own_gradient(op) or _rule(op, corrections=False) in (None, _by_composite):
        return False
    answered = (rules.transpose.answers(op.type, i) or rules.transpose.is_flat(op.type, i) for i in active)
    return not all(answered)


def _refuse_gradient_loops(between: _walk.Between) -> None:
    """Raise ControlFlowError where a path leads back through the gradient of a V1 loop.

    TensorFlow refuses the loop that it knows as a gradient; in an imported graph it would go on and leave out what
    passes through the stacks.
    """
    for op in between.ops:
        context = op._get_control_flow_context() if op.type in EXITS else None
        if op.type in STACK_POPS or (context is not None and context.grad_state is not None):
            raise ControlFlowError(
                f"ys are computed by the gradient of a V1 loop (at {op.name!r}, {op.type}), whose own gradient cannot "
                "be taken in reverse; take it forward: symgrad.hvp for second derivatives of a scalar, symgrad.Rop of "
                "the gradient else"
            )


def require_inside(op: tf.Operation, active: set[int] | None) -> None:
    """The same for the bodies of an op, entered through the `active` inputs (None: any)."""
    for between in rules.inside(op, active):
        require_rules(between)
        for inner in between.ops:
            require_inside(inner, set(between.active_inputs(inner)))


def _by_private_copy(
    own: Callable[..., Any] | None, corrections: bool, op: tf.Operation, *cotangents: tf.Tensor | None
) -> list[Any]:
    """The gradient of a copy of `op`, made where the gradient is: in a backward loop it runs once more there.

    `own` is the gradient function that the op had; `corrections`: as for `reverse`.
    """
    return _through_copy(_copied(op, own), corrections, op, *cotangents)


def _by_shared_copy(copied: Callable[[], Any], corrections: bool, op: tf.Operation, *cotangents: Any) -> list[Any]:
    """The gradient of a copy of `op`, one for all that ask for it."""
    return _through_copy(copied(), corrections, op, *cotangents)


def _copied_once(op: tf.Operation, own: Callable[..., Any] | None, context: Any) -> Callable[[], Any]:
    """What copies `op` into a V1 `context` at its first call: a user's gradient function may leave the op alone."""

    @functools.cache
    def copied():
        with inside(op.graph, context):
            return _copied(op, own)

    return copied


def _copied(
    op: tf.Operation, own: Callable[..., Any] | None
) -> tuple[list[tf.Tensor], list[tf.Tensor], list[tf.Operation]]:
    """The inputs of a copy of `op`, its outputs, and what it is made of; `own` as for `_by_private_copy`."""
    inputs = [alias(t) if _tensors.is_differentiable(t) else t for t in op.inputs]
    instead, op._gradient_function = op._gradient_function, own
    try:
        return inputs, *private(op, inputs, op.graph._get_control_flow_context())
    finally:
        op._gradient_function = instead


def _through_copy(copied, corrections: bool, op: tf.Operation, *cotangents: tf.Tensor | None) -> list[Any]:
    inputs, outputs, ops = copied
    pairs = [(y, u) for y, u in zip(outputs, cotangents) if u is not None]
    moving = [i for i, t in enumerate(inputs) if _tensors.is_differentiable(t)]
    ys, xs, vectors = [y for y, _ in pairs], [inputs[i] for i in moving], [u for _, u in pairs]
    between = rules.between(ys, xs, within=ops)
    require_rules(between)
    for inner in between.ops:
        require_inside(inner, set(between.active_inputs(inner)))
    with _attached(ops, corrections=corrections):
        gradients = dict(zip(moving, tf.gradients(ys, xs, vectors, name="copy")))
    return [gradients.get(i) for i in range(len(inputs))]


def _nothing(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[None]:
    """The gradient of a loop, branch or call through which no derivative leads.

    `tf.gradients` goes wherever tensors lead, and a body may leave an argument unused.
    """
    return [None] * len(op.inputs)


def _in_users_hands(ops: Iterable[tf.Operation], corrections: bool = True) -> Instead:
    """Gradient functions that go through copies, for what TensorFlow would change if a user's gradient function calls
    `tf.gradients` on the user's own tensors.
    """
    instead: Instead = {}
    users = [op for op in ops if _is_users(op)]
    for op in behind(users) if users else ():
        context = op.graph._get_control_flow_context()
        if encloses(op._get_control_flow_context(), context):
            copied = _copied_once(op, op._gradient_function, context)
            instead[op] = functools.partial(_by_shared_copy, copied, corrections)
        else:
            instead[op] = functools.partial(_by_private_copy, op._gradient_function, corrections)
    return instead


@contextlib.contextmanager
def _attached(
    ops: Iterable[tf.Operation],
    instead: Instead | None = None,
    *,
    linear: bool = False,
    corrections: bool = True,
) -> Iterator[None]:
    """Let each op with a rule of ours be differentiated by it, also in the bodies of private V2 loops and branches.

    And those in `instead` by the functions given there.
    """
    attached = {op: op._gradient_function for op in instead or ()}
    for op, function in (instead or {}).items():
        op._gradient_function = function
    todo = list(ops)
    while todo:
        op = todo.pop()
        rule = _checked(op) if linear and _is_users(op) else _rule(op, corrections=corrections)
        if rule is not None and op not in attached:
            attached[op] = op._gradient_function
            op._gradient_function = rule
        for body in bodies(op):
            todo.extend(body.get_operations())
    try:
        yield
    finally:
        for op, own in attached.items():
            op._gradient_function = own


def _is_users(op: tf.Operation) -> bool:
    """True for an op with a gradient of its own that a user may have written."""
    return rules.has_own_gradient(op) and op.type not in FUNCTIONAL and not _tf.is_recompute(op)


def _checked(op: tf.Operation) -> Callable[..., Any]:
    """The gradient function of `op`, which raises if what it builds is not linear in the incoming gradient."""
    function = _rule(op) or _tf.get_gradient_function(op)

    def checked(op, *cotangents):
        fresh = [None if u is None else tf.identity(tf.convert_to_tensor(u)) for u in cotangents]
        found = function(op, *fresh)
        gradients = found if isinstance(found, list | tuple) else [found]
        rules.require_linear(op, gradients, [u for u in fresh if u is not None])
        return found

    return checked
