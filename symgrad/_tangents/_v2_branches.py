"""Tangents through V2 branches: an op of our own whose branches compute the tangents."""

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._control_flow import alias, refuse_side_effects
from ._push import Push, handler
from ._v2_bodies import function, tangents_within


@handler("Case", "If", "StatelessCase", "StatelessIf")
def _through_branch(driver: Push, op: tf.Operation) -> None:
    given = {i: t for i, t in enumerate(driver.inputs(op)[1:]) if t is not None}
    wanted = [i for i, n in enumerate(driver.needed(op)) if n and _tensors.is_differentiable(op.outputs[i])]
    if not given or not wanted:
        return
    refuse_side_effects(op)
    values, name = list(op.inputs[1:]), f"{op.name.rsplit('/', 1)[-1]}_tangent"

    def branch(attribute):
        body = _tf.function_graph(op, [t.shape for t in values], attribute.name)

        def tangents(_):  # all comes in by capture, as in the branches that TensorFlow builds
            moved = [alias(t) if i in given else t for i, t in enumerate(values)]
            inside = {i: alias(t) for i, t in given.items()}
            return tangents_within(body, moved, inside, wanted, driver.count)[1]

        return function(name, [], tangents)

    with driver.beside(op):
        if "branches" in op.node_def.attr:
            graphs = [branch(f) for f in op.get_attr("branches")]
            outputs = _tf.build_case(op.inputs[0], graphs, [g.external_captures for g in graphs], name=name)
        else:
            graphs = [branch(op.get_attr(f"{which}_branch")) for which in ("then", "else")]
            outputs = _tf.build_cond(op.inputs[0], *graphs, *(g.external_captures for g in graphs), False, name=name)
    for i, tangent in zip(wanted, outputs):
        driver.add(op.outputs[i], driver.shaped(tangent, op.outputs[i]))
