"""The op that calls copies of planned ops as one function that XLA compiles."""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import ENTERS, FUNCTIONAL, V1_CONTROL_FLOW
from .._tensors import is_differentiable
from ._bounds import LIMITED, Bound
from ._plan import Plan

# What no process registers: where the Python function of a call is lost, its gradient is an error.
_GRADIENT = "SymgradCompiled"
_COPIES = "of"
_SUFFIX = "_compiled"


def call(plan: Plan, fetches: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The fetches, which are all outputs of planned ops, once more from one compiled call.

    Its gradient is that of the originals: they are built for a session, and differentiate as often as wanted.
    """
    graph = fetches[0].graph
    values = {id(t): tf.identity(t) if t.dtype._is_ref_dtype else t for t in plan.arguments}
    given = sorted(values.values(), key=_is_resource)  # in the order that XlaLaunch wants

    def body() -> list[tf.Tensor]:
        here = tf.get_default_graph()
        captured = {id(t): here.capture(t) for t in given}
        taken = {t.name: captured[id(values[id(t)])] for t in plan.arguments}
        wanted = [t.name for t in fetches]
        made = tf.import_graph_def(_definition(plan), input_map=taken, return_elements=wanted, name=_COPIES)
        _mend(plan, here)
        return made

    function = tf.wrap_function(body, [])  # tf.function lets ops wait for each other, across the frames of V1 loops
    function.add_to_graph(graph)
    with tf.control_dependencies(plan.waits), tf.device("/device:CPU:0"):
        made = _calling(graph, function, [t for t, _ in function.graph.captures], plan)
    for old, new in zip(fetches, made.outputs, strict=True):
        new.set_shape(old.shape)
    made._set_attr("_gradient_op_type", tf.AttrValue(s=_GRADIENT.encode()))
    made._gradient_function = _Gradient(list(fetches), plan)
    return list(made.outputs)


class _Gradient:
    """The gradient function of a call: that of the originals with respect to the arguments, each held apart.

    Attributes:
      originals: what the call gives copies of.
      arguments: what it reads, in the order of its inputs.
      copied: the ids of the tensors of which it computes copies.
    """

    def __init__(self, originals: list[tf.Tensor], plan: Plan):
        self.originals = originals
        self.arguments = sorted(plan.arguments, key=_is_resource)
        self.copied = frozenset(id(t) for op in plan.ops for t in op.outputs) - {id(t) for t in plan.arguments}

    def __call__(self, op: tf.Operation, *cotangents: Any) -> list[Any]:
        pairs = [(y, u) for y, u in zip(self.originals, cotangents, strict=True) if u is not None]
        moving = [i for i, t in enumerate(self.arguments) if is_differentiable(t)]
        xs = [self.arguments[i] for i in moving]
        found = tf.gradients([y for y, _ in pairs], xs, [u for _, u in pairs], stop_gradients=xs)
        gradients = dict(zip(moving, found, strict=True))
        return [gradients.get(i) for i in range(len(self.arguments))]


def _calling(graph: tf.Graph, function: Any, given: list[tf.Tensor], plan: Plan) -> tf.Operation:
    """The op: XLA makes loops of its own of V1 loops and branches only in the functions of an XlaLaunch.

    A PartitionedCall finds out by itself which arguments XLA has to know, and compiles again for each of their values.
    """
    results = function.graph.outputs
    of = tf.AttrValue(func=tf.NameAttrList(name=function.name))
    resources = sum(t.dtype == tf.resource for t in given)
    if any(op.type in V1_CONTROL_FLOW for op in plan.ops):
        kind, attributes = (
            "XlaLaunch",
            {
                "Tconstants": _types([]),
                "Targs": _types(given[: len(given) - resources]),
                "Nresources": tf.AttrValue(i=resources),
                "Tresults": _types(results),
                "function": of,
            },
        )
    else:
        kind, attributes = (
            "StatefulPartitionedCall" if resources else "PartitionedCall",
            {
                "Tin": _types(given),
                "Tout": _types(results),
                "f": of,
                "_XlaMustCompile": tf.AttrValue(b=True),
            },
        )
    return graph.create_op(kind, given, [t.dtype for t in results], attrs=attributes, name="call")


def _is_resource(tensor: tf.Tensor) -> bool:
    return bool(tensor.dtype == tf.resource)


def _types(tensors: Sequence[tf.Tensor]) -> Any:
    return tf.AttrValue(list=tf.AttrValue.ListValue(type=[t.dtype.as_datatype_enum for t in tensors]))


def _definition(plan: Plan) -> Any:
    """The planned ops as a GraphDef: without devices, and without what waits outside."""
    inside = {op.name for op in plan.ops}
    definition = tf.GraphDef(versions=plan.ops[0].graph.graph_def_versions)
    for op in plan.ops:
        node = definition.node.add()
        node.CopyFrom(op.node_def)
        node.device = ""
        for attribute in ("_class", "_gradient_op_type"):
            node.attr.pop(attribute, None)
        node.input[:] = [t.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs if c.name in inside]
    for name in _functions(plan):
        definition.library.function.add().CopyFrom(_tf.function_in(plan.ops[0].graph, name))
    _keep_whole(definition)
    return definition


def _keep_whole(definition: Any) -> None:
    """Let no V2 loop or branch be lowered to V1 ops, for which XLA has no kernels; also those in functions, under other
    names.
    """
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    for function in definition.library.function:
        function.signature.name += _SUFFIX
    for node in nodes:
        for value in node.attr.values():
            for called in [value.func] if value.HasField("func") else value.list.func:
                called.name += _SUFFIX
        if "_lower_using_switch_merge" in node.attr:
            node.attr["_lower_using_switch_merge"].b = False


def _functions(plan: Plan) -> list[str]:
    """The names of all functions that planned ops run, directly or through others."""
    graph = plan.ops[0].graph
    todo = [name for op in plan.ops if op.type in FUNCTIONAL for name in _called(op.node_def)]
    found: dict[str, None] = {}
    for name in todo:
        if name not in found:
            found[name] = None
            todo += [called for node in _tf.function_in(graph, name).node_def for called in _called(node)]
    return list(found)


def _called(node: Any) -> Iterator[str]:
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)


def _mend(plan: Plan, graph: tf.Graph) -> None:
    """Let the copies be as XLA wants them."""
    for op in plan.ops:
        copy = graph.get_operation_by_name(f"{_COPIES}/{op.name}")
        if op in plan.bounds:
            _limit(copy, plan.bounds[op], graph)
        if op.type == "ZerosLike" and copy.inputs[0].op.type in ("EmptyTensorList", "TensorListReserve"):
            _replace(
                copy.outputs[0], copy.inputs[0]
            )  # of zeros like a list that nothing was put into XLA knows nothing
        if op.type in ENTERS and not op.get_attr("is_constant"):
            _enter_zeros(copy)
        if op.type in FUNCTIONAL:
            copy._set_attr("_xla_propagate_compile_time_consts", tf.AttrValue(b=True))


def _limit(copy: tf.Operation, most: Bound, graph: tf.Graph) -> None:
    terms = [
        n if isinstance(n, int) else tf.cast(graph.get_tensor_by_name(f"{_COPIES}/{n.name}"), tf.int32) for n in most
    ]
    index = LIMITED[copy.type]
    copy._update_input(index, tf.cast(tf.maximum(tf.add_n(terms), 1), copy.inputs[index].dtype))


def _replace(tensor: tf.Tensor, other: tf.Tensor) -> None:
    for reader in tensor.consumers():
        for i, t in enumerate(reader.inputs):
            if t is tensor:
                reader._update_input(i, other)


def _enter_zeros(enter: tf.Operation) -> None:
    """Make zeros like what enters a loop before they enter: XLA knows no op between an Enter and its Merge."""
    for zeros in [op for op in enter.outputs[0].consumers() if op.type == "ZerosLike"]:
        before = tf.raw_ops.Enter(
            data=tf.zeros_like(enter.inputs[0]),
            frame_name=enter.get_attr("frame_name"),
            parallel_iterations=enter.get_attr("parallel_iterations"),
        )
        _replace(zeros.outputs[0], before)
        zeros._update_input(0, enter.inputs[0])
