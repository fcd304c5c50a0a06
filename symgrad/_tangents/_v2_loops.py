"""Tangents through V2 loops: a loop of our own that turns the values and, beside them, their tangents.

It keeps nothing of the iterations that are over. Of the values it turns those alone that the condition and the tangents
need.
"""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _walk, rules
from .._control_flow import graft, refuse_side_effects
from .._reach import reach
from ._handlers import whole
from ._push import Push, Series
from ._v2_bodies import function, tangents_within

# The counter and the most iterations, by which TensorFlow's gradient of a loop knows how often it turned.
_COUNTERS = 2


@whole("While", "StatelessWhile")
def _through_loop(series: Series, op: tf.Operation) -> None:
    given = series.given(op)
    if not given:
        return
    refuse_side_effects(op)
    shapes = [t.shape for t in op.outputs]
    body, condition = (_tf.function_graph(op, shapes, op.get_attr(name).name) for name in ("body", "cond"))
    first = series.pushes[0]
    places = [(i, driver) for i in _carried(body, set(given), first.needed(op)) for driver in series.pushes]
    with first.where_outputs_lie(op):
        starts = [given.get(i, {}).get(driver.term) for i, driver in places]
        starts = [driver.zeros(op.inputs[i]) if t is None else t for (i, driver), t in zip(places, starts, strict=True)]
        outputs = _build(series, op, (body, condition), list(zip(places, starts, strict=True)))
    for (i, driver), tangent in zip(places, outputs, strict=True):
        driver.add(op.outputs[i], tangent)


def _carried(body: tf.Graph, moving: set[int], needed: Sequence[bool]) -> list[int]:
    """The loop variables that move in some iteration and whose tangents lead, in some other, to one that is needed."""
    floating = [i for i, t in enumerate(body.inputs) if _tensors.is_differentiable(t)]
    between = {i: rules.between([body.outputs[i]], [body.inputs[j] for j in floating]) for i in floating}
    leads = {
        i: {j for j, connected in zip(floating, b.connected, strict=True) if connected} for i, b in between.items()
    }
    forward = reach(moving, lambda i: (k for k in floating if i in leads[k]))
    back = reach({i for i in floating if needed[i]}, leads.__getitem__)
    return sorted(forward.keys() & back.keys())


Start = tuple[tuple[int, Push], tf.Tensor]


def _build(series: Series, op: tf.Operation, graphs: tuple, starts: Sequence[Start]) -> list[tf.Tensor]:
    """What a loop of values and tangents makes of the tangents, which start as `starts` at their variable and term."""
    body, condition = graphs
    name = op.name.rsplit("/", 1)[-1]

    def step(inputs):
        values, tangents = inputs[: len(body.inputs)], inputs[len(body.inputs) :]
        given: dict[int, dict[int, tf.Tensor]] = {}
        for ((i, driver), _), tangent in zip(starts, tangents, strict=True):
            given.setdefault(i, {})[driver.term] = tangent
        after, moved = tangents_within(body, values, given, list(given), series.algebra)
        return after + moved

    likes = [*zip(op.inputs, (t.shape for t in op.outputs), strict=True)]
    moving = [(start, driver.static(op.outputs[i], start)) for (i, driver), start in starts]
    both = function(f"{name}_whole", likes + moving, step)
    both.outputs.extend(both.internal_captures)
    kept = _kept(both, condition, len(likes))
    likes = [likes[i] for i in kept]
    captured = [(t, t.shape) for t in both.external_captures]
    variables = [*kept, *range(len(body.inputs), len(both.inputs))]
    signature = likes + moving + captured
    return _tf.build_while_op(
        [t for t, _ in signature],
        function(f"{name}_cond", signature, lambda inputs: _only(condition, kept, inputs, [0])),
        function(f"{name}_body", signature, lambda inputs: _only(both, variables, inputs, variables)),
        output_shapes=[shape for _, shape in signature],
        parallel_iterations=op.get_attr("parallel_iterations"),
        name=f"{name}_tangent",
        num_original_outputs=len(signature),
    )[len(kept) : len(kept) + len(moving)]


def _only(function: tf.Graph, variables: Sequence[int], inputs: Sequence[tf.Tensor], wanted: Sequence[int]) -> list:
    """The `wanted` outputs of a function body, on `inputs` in the place of those of its inputs that are `variables`."""
    given: list[tf.Tensor | None] = [None] * len(function.inputs)
    for i, tensor in zip(variables, inputs, strict=False):
        given[i] = tensor
    ends = [function.outputs[i] for i in wanted]
    _tf.share_functions(function, tf.get_default_graph())
    outputs = graft(function, given, [], ops=set(_walk.ancestors(ends, every=True)))
    return [outputs[i] for i in wanted]


def _kept(both: tf.Graph, condition: tf.Graph, values: int) -> list[int]:
    """Which values the loop has to turn: those that its condition and the tangents come from."""

    def read(function, ends):
        ops = set(_walk.ancestors(ends, every=True))
        return {i for i, t in enumerate(function.inputs[:values]) if t.op in ops}

    start = read(condition, condition.outputs) | read(both, both.outputs[values:]) | set(range(min(values, _COUNTERS)))
    return sorted(reach(start, lambda i: read(both, [both.outputs[i]])))
