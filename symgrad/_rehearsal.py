"""Derivatives tried op by op in a scratch graph, before the first op is built: a refused call leaves none behind.

TensorFlow cannot take an op out of a graph again. Most refusals are seen from the paths alone. What a gradient function
raises, though, or whether what it builds has a derivative of its own, is known only once it has run. So it runs here
first, on stand-ins for what its op reads, and goes well once for each kind of op in a process.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

import tensorflow.compat.v1 as tf

from . import _bodies, _kinds, _op_types, _tensors, _tf, _vjp, _walk, rules
from ._control_flow import behind, refuse_copies, refuse_inlining
from ._tangents import is_by_formula, is_by_table, push, push_one, require_rules, through_op
from .errors import ControlFlowError

# Differentiates one op in the default graph. Raises what the operator is to raise.
Trial = Callable[["_Scene"], "_Outcome"]


@dataclass(frozen=True)
class _Outcome:
    """What a trial that went well has shown.

    Attributes:
      moves: for each active input whether its cotangent depends on xs.
      read: what the derivative of the gradient asks the tangents of: numbers among the inputs and outputs of the op.
    """

    moves: tuple[bool, ...] = ()
    read: tuple[int, ...] = ()


_GONE_WELL: dict[Hashable, _Outcome] = {}


class _Scratch(_tf.FuncGraph):
    """A graph that is thrown away; what it reads from the graph around it, it captures."""

    def __init__(self, around: tf.Graph):
        with around.as_default():
            super().__init__("rehearsal")
        if not isinstance(around, _tf.FuncGraph):
            self._captured: dict = {}  # by this attribute `tf.cond` knows that it is to build what it builds around it


def backward(between: _walk.Between, *, linear: bool = False, corrections: bool = True) -> None:
    """Try a reverse pass. `linear` and `corrections` as for `_vjp.reverse`."""
    _rehearse(between, _Settings(linear, corrections), _pulled_back)


def forward(between: _walk.Between) -> None:
    """Try a forward pass."""
    _rehearse(between, _Settings(forward=True), _pushed_forward)


def series(between: _walk.Between, order: int) -> None:
    """Try a forward pass of Taylor series up to an order."""
    if order == 1:
        return forward(between)
    _rehearse(between, _Settings(forward=True, order=order), _pushed_as_series)
    return None


def backward_twice(between: _walk.Between) -> None:
    """Try a double VJP: a reverse pass through a reverse pass, by its cotangents."""
    _rehearse(between, _Settings(linear=True), _pulled_back_twice)


def derivatives_of_gradients(between: _walk.Between, *, forward: bool) -> None:
    """Try a pass, `forward` or in reverse, through a reverse pass, by xs."""
    read = _rehearse(between, _Settings(), _pushed_through_gradient if forward else _pulled_through_gradient)
    if forward:  # what the gradient reads is pushed forward as well
        _rehearse(_upstream(between, read), _Settings(forward=True), _pushed_forward)


def gradient_paths(op: tf.Operation, between: _walk.Between) -> _walk.Between:
    """The paths through the gradient of an op on the way, from what comes in to what it gives, in a scratch graph."""
    active = between.active_inputs(op)
    with _Scratch(op.graph).as_default():
        scene = _Scene(op, active, between, _Settings(), [True] * len(op.outputs))
        gradients = [g for g in scene.gradient() if g is not None]
        return _in_scratch(gradients, [u for u in scene.cotangents if u is not None])


@dataclass(frozen=True)
class _Settings:
    """What is tried.

    Attributes:
      linear, corrections: as for `_vjp.reverse`.
      forward: whether the (first) pass is a forward one.
      order: that of the series which a forward pass pushes.
    """

    linear: bool = False
    corrections: bool = True
    forward: bool = False
    order: int = 1


@dataclass
class _Scene:
    """One op in its trial.

    Attributes:
      op: the op.
      active: the numbers of its inputs on a path.
      between: the paths.
      settings: what is tried.
      moves: for each output of the op whether its cotangent depends on xs.
    """

    op: tf.Operation
    active: list[int]
    between: _walk.Between
    settings: _Settings
    moves: list[bool]
    cotangents: list[tf.Tensor | None] = field(default_factory=list)

    def gradient(self) -> list[tf.Tensor | None]:
        """What the gradient function of the op gives for its active inputs at stand-ins for the cotangents."""
        self.cotangents = [_stand_in(t) if _tensors.is_floating(t) else None for t in self.op.outputs]
        options = {"linear": self.settings.linear, "corrections": self.settings.corrections}
        found = _vjp.gradient_of(self.op, self.cotangents, **options, instead=self.instead())
        return [_tensors.densify(found[i], self.op.inputs[i]) for i in self.active]

    def instead(self) -> _vjp.Instead:
        """Gradient functions for what a user's gradient function may differentiate, and TensorFlow would change."""
        if not rules.has_own_gradient(self.op):
            return {}
        entered = [op for op in _walk.ancestors(self.op.inputs) if op.type in _op_types.ENTERS]
        return dict.fromkeys(behind([self.op]), _any_gradient) | dict.fromkeys(entered, _refuse_to_leave)

    def captured(self) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """After `gradient`: what it reads and depends on xs, and the stand-ins for that."""
        return [(inner, stand_in) for _, inner, stand_in in self._captures()]

    def read(self) -> list[tf.Tensor]:
        """After `gradient`: what it reads and depends on xs, in a function body outside of it where it comes from."""
        return [outer for outer, _, _ in self._captures()]

    def _captures(self) -> list[tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
        inside = {id(outer): inner for outer, inner in getattr(self.op.graph, "captures", ())}
        known = [(t, inside.get(id(t), t), stand_in) for t, stand_in in tf.get_default_graph().captures]
        return [found for found in known if id(found[1]) in self.between.tensors and _tensors.is_floating(found[1])]

    def moving_cotangents(self) -> list[tf.Tensor]:
        """After `gradient`: those of `cotangents` that depend on xs."""
        return [u for u, moves in zip(self.cotangents, self.moves, strict=True) if u is not None and moves]

    def kind(self, trial: Trial) -> Hashable:
        """What decides how the trial ends."""
        on_paths = tuple(id(t) in self.between.tensors for t in (*self.op.inputs, *self.op.outputs))
        return trial, self.settings, tuple(self.active), tuple(self.moves), on_paths, _kinds.kind_of(self.op)


def _rehearse(between: _walk.Between, settings: _Settings, trial: Trial) -> list[tf.Tensor]:
    """Try all ops; what the derivatives of their gradients read."""
    if isinstance(tf.get_default_graph(), _Scratch):
        return []
    (refuse_inlining if settings.forward else refuse_copies)(between)
    return _try_each(between, settings, trial)


def _try_each(
    between: _walk.Between, settings: _Settings, trial: Trial, *, everywhere: bool = False
) -> list[tf.Tensor]:
    """The same, the last op first; in a body cotangents are taken to depend on xs `everywhere`."""
    if settings.corrections:  # else it is for the drop-in, which leaves gaps to TensorFlow
        (require_rules if settings.forward else _vjp.require_rules)(between)
    moving: set[int] = set()
    read: list[tf.Tensor] = []
    for op in reversed(between.ops):
        active = between.active_inputs(op)
        for inner in rules.inside(op, set(active)):
            if _try_each(inner, settings, trial, everywhere=True):
                read.extend(op.outputs)
        outcome = _Outcome((True,) * len(active))
        if _is_a_function_of_its_inputs(op, active):
            moves = [everywhere or _tf.in_v1_loop(op) or id(t) in moving for t in op.outputs]
            outcome = _tried(_Scene(op, active, between, settings, moves), trial)
        sources = between.sources.of(op)
        moving.update(id(sources[i]) for i, moves in zip(active, outcome.moves, strict=True) if moves)
        read.extend((*sources, *op.outputs)[i] for i in outcome.read)
    return read


def _upstream(between: _walk.Between, tensors: Sequence[tf.Tensor]) -> _walk.Between:
    """The part of the paths that leads to some of the `tensors`."""
    wanted = {id(t) for t in tensors}
    ops: dict[tf.Operation, None] = {}
    before = -1
    while before != len(ops):  # more than once for the back edges of V1 loops
        before = len(ops)
        for op in reversed(between.ops):
            if op not in ops and any(id(t) in wanted for t in op.outputs):
                ops[op] = None
                sources = between.sources.of(op)
                wanted.update(id(sources[i]) for i in between.active_inputs(op))
    return replace(between, ops=[op for op in between.ops if op in ops])


def _is_a_function_of_its_inputs(op: tf.Operation, active: Sequence[int]) -> bool:
    """False for control flow, for what holds state, and for what is given by reference."""
    if op.type in _op_types.V1_CONTROL_FLOW or op.type in _op_types.FUNCTIONAL or _tf.originals_of(op) is not None:
        return False
    if _op_types.lives_one_run(op.type) or _op_types.is_list(op.type) or _bodies.runs_bodies(op):
        return False
    entering = [op.inputs[i] for i in active if i < len(op.inputs)]
    return all(t.dtype.base_dtype in _tensors.FLOATING and not t.dtype._is_ref_dtype for t in entering) and not any(
        t.dtype in (tf.resource, tf.variant) for t in op.outputs
    )


def _may_change_v1_loops(op: tf.Operation) -> bool:
    """True if a user's gradient function might differentiate V1 loops, to which TensorFlow adds counters then."""
    if not rules.has_own_gradient(op) or _tf.is_recompute(op):
        return False
    return any(source.type in _op_types.EXITS for source in _walk.ancestors(op.inputs))


def _tried(scene: _Scene, trial: Trial) -> _Outcome:
    kind = scene.kind(trial)
    if kind not in _GONE_WELL:
        if _may_change_v1_loops(scene.op):
            return _Outcome((True,) * len(scene.active))
        with _Scratch(scene.op.graph).as_default():
            _GONE_WELL[kind] = trial(scene)
    return _GONE_WELL[kind]


def _pulled_back(scene: _Scene) -> _Outcome:
    scene.gradient()
    return _Outcome((True,) * len(scene.active))


def _pushed_forward(scene: _Scene) -> _Outcome:
    op, active = scene.op, scene.active
    if not is_by_table(op, active):
        tangents = [_stand_in(t) if i in active else None for i, t in enumerate(op.inputs)]
        through_op(op, tangents, [id(t) in scene.between.tensors for t in op.outputs], instead=scene.instead())
    return _Outcome((True,) * len(active))


def _pushed_as_series(scene: _Scene) -> _Outcome:
    op, active = scene.op, scene.active
    if not is_by_formula(op, active):
        moving = [op.inputs[i] for i in active]
        if rules.has_own_gradient(op):
            scene.gradient()
            moving += scene.read()
        unlike = {id(t): t for t in moving}.values()
        given = [(t, [_stand_in(t) for _ in range(scene.settings.order)]) for t in unlike]
        push_one(scene.between, op, given, instead=scene.instead())
    return _Outcome((True,) * len(active))


def _pulled_back_twice(scene: _Scene) -> _Outcome:
    gradients = [g for g in scene.gradient() if g is not None]
    cotangents = [u for u in scene.cotangents if u is not None]
    between = _in_scratch(gradients, cotangents)
    if between.ops:
        _vjp.Pullback(gradients, cotangents, between=between)([_stand_in(g) for g in gradients])
    return _Outcome((True,) * len(scene.active))


def _pushed_through_gradient(scene: _Scene) -> _Outcome:
    return _through_gradient(scene, lambda between, gs, xs: push(between, gs, xs, [_stand_in(x) for x in xs]))


def _pulled_through_gradient(scene: _Scene) -> _Outcome:
    def pull(between, gradients, xs):
        _vjp.Pullback(gradients, xs, between=between)([_stand_in(g) for g in gradients])

    return _through_gradient(scene, pull)


def _through_gradient(scene: _Scene, differentiate: Callable[..., object]) -> _Outcome:
    found = scene.gradient()
    gradients, captured = [g for g in found if g is not None], scene.captured()
    moving = [*(inner for _, inner in captured), *scene.moving_cotangents()]
    between = _in_scratch(gradients, moving)
    if between.ops:
        differentiate(between, gradients, moving)
    reached, connected = iter(between.reached), between.connected[: len(captured)]
    own = {id(t): i for i, t in enumerate((*scene.op.inputs, *scene.op.outputs))}
    read = [own.get(id(t), len(scene.op.inputs)) for (t, _), leads in zip(captured, connected, strict=True) if leads]
    return _Outcome(tuple(g is not None and next(reached) for g in found), tuple(read))


def _in_scratch(ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor]) -> _walk.Between:
    return rules.between(ys, xs, within=tf.get_default_graph().get_operations())


def _any_gradient(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[tf.Tensor | None]:
    """For a V2 op that the gradient function of a user differentiates itself, by which TensorFlow would change it."""
    total = tf.add_n([tf.cast(tf.reduce_sum(u), tf.complex128) for u in cotangents if u is not None])
    moving = [tf.cast(total, t.dtype.base_dtype) if _tensors.is_floating(t) else None for t in op.inputs]
    return [None if m is None else m * _stand_in(t) for m, t in zip(moving, op.inputs, strict=True)]


def _refuse_to_leave(op: tf.Operation, *cotangents: tf.Tensor | None) -> list[tf.Tensor | None]:
    """For the Enter of a V1 loop, when a user's gradient function in the loop calls `tf.gradients` by what is outside.

    TensorFlow sums up the gradients of all iterations there, outside of the loop in which they are then used.
    """
    raise ControlFlowError(
        f"a gradient function in a V1 loop differentiates with respect to what is outside of the loop (through "
        f"{op.name!r}), which TensorFlow cannot; hand it what is inside, tf.identity of the tensor"
    )


def _stand_in(like: tf.Tensor) -> tf.Tensor:
    return tf.placeholder(like.dtype.base_dtype, like.shape, name="stand_in")
