"""The op that calls copies of planned ops as one function that XLA compiles."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from ._plan import Plan
from ._reasons import CALLS


def call(plan: Plan, fetches: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The fetches, which are all outputs of planned ops, once more from one compiled call.

    Its gradient is that of the originals: they are built for a session, and differentiate as often as wanted.
    """
    graph = fetches[0].graph
    nodes = _nodes(plan)
    used = [op for op in plan.ops if op.type in CALLS]
    nodes.library.CopyFrom(graph.as_graph_def(add_shapes=False).library if used else nodes.library)

    def body() -> list[tf.Tensor]:
        here = tf.get_default_graph()
        taken = {t.name: here.capture(t) for t in plan.arguments}
        return tf.graph_util.import_graph_def(nodes, taken, [t.name for t in fetches], name="") if nodes.node else []

    # Not tf.function, which lets ops wait for each other.
    function = tf.wrap_function(body, [])
    function.add_to_graph(graph)
    given = [t for t, _ in function.graph.captures]
    attributes = {
        "Tin": _types(given),
        "Tout": _types(fetches),
        "f": tf.AttrValue(func=tf.NameAttrList(name=function.name)),
        "_XlaMustCompile": tf.AttrValue(b=True),
    }
    with tf.control_dependencies(plan.waits), tf.device("/device:CPU:0"):
        made = graph.create_op("PartitionedCall", given, [t.dtype for t in fetches], attrs=attributes, name="call")
    for old, new in zip(fetches, made.outputs, strict=True):
        new.set_shape(old.shape)
    made._gradient_function = _Gradient(list(fetches), given)
    return list(made.outputs)


class _Gradient:
    """The gradient function of the call: that of the originals with respect to the arguments."""

    def __init__(self, fetches: list[tf.Tensor], given: list[tf.Tensor]):
        self._fetches = fetches
        self._given = given

    def __call__(self, op: tf.Operation, *cotangents: Any) -> list[Any]:
        pairs = [(y, u) for y, u in zip(self._fetches, cotangents, strict=True) if u is not None]
        moving = [i for i, t in enumerate(self._given) if t.dtype.is_floating]
        xs = [self._given[i] for i in moving]
        # One argument may be computed from another, outside: that road is not the call's, and would count twice.
        slopes = tf.gradients([y for y, _ in pairs], xs, [u for _, u in pairs], stop_gradients=xs)
        found = dict(zip(moving, slopes, strict=True))
        return [found.get(i) for i in range(len(self._given))]


def _nodes(plan: Plan) -> Any:
    """The planned ops as a GraphDef: without devices, and without what waits outside."""
    inside = {op.name for op in plan.ops}
    made = tf.GraphDef()
    for op in plan.ops:
        node = made.node.add()
        node.CopyFrom(op.node_def)
        node.device = ""
        for attribute in ("_class", "_gradient_op_type"):
            node.attr.pop(attribute, None)
        kept = [name for name in node.input if not name.startswith("^") or name[1:] in inside]
        node.input[:] = kept
        if "_lower_using_switch_merge" in node.attr:  # lowered, a loop has no kernel in XLA
            node.attr["_lower_using_switch_merge"].b = False
    made.versions.CopyFrom(plan.ops[0].graph.graph_def_versions)
    return made


def _types(tensors: Sequence[tf.Tensor]) -> Any:
    return tf.AttrValue(list=tf.AttrValue.ListValue(type=[t.dtype.as_datatype_enum for t in tensors]))
