"""Tangents through V2 branches: an op of our own whose branches compute the tangents."""

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._control_flow import alias, refuse_side_effects
from ._handlers import whole
from ._push import Series
from ._v2_bodies import function, tangents_within


@whole("Case", "If", "StatelessCase", "StatelessIf")
def _through_branch(series: Series, op: tf.Operation) -> None:
    given = {i - 1: terms for i, terms in series.given(op).items()}
    first = series.pushes[0]
    wanted = [i for i, n in enumerate(first.needed(op)) if n and _tensors.is_differentiable(op.outputs[i])]
    if not given or not wanted:
        return
    refuse_side_effects(op)
    values, name = list(op.inputs[1:]), f"{op.name.rsplit('/', 1)[-1]}_tangent"

    def branch(attribute):
        body = _tf.function_graph(op, [t.shape for t in values], attribute.name)

        def tangents(_):  # all comes in by capture, as in the branches that TensorFlow builds
            moved = [alias(t) if i in given else t for i, t in enumerate(values)]
            inside = {i: {term: alias(t) for term, t in terms.items()} for i, terms in given.items()}
            return tangents_within(body, moved, inside, wanted, series.algebra)[1]

        return function(name, [], tangents)

    with first.where_outputs_lie(op):
        if "branches" in op.node_def.attr:
            graphs = [branch(f) for f in op.get_attr("branches")]
            outputs = _tf.build_case(op.inputs[0], graphs, [g.external_captures for g in graphs], name=name)
        else:
            graphs = [branch(op.get_attr(f"{which}_branch")) for which in ("then", "else")]
            outputs = _tf.build_cond(op.inputs[0], *graphs, *(g.external_captures for g in graphs), False, name=name)
    places = [(driver, op.outputs[i]) for i in wanted for driver in series.pushes]
    for (driver, tensor), tangent in zip(places, outputs, strict=True):
        driver.add(tensor, driver.shaped(tangent, tensor))
