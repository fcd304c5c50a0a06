"""The compact core of a graph: flat lists and int arrays, from a live graph or from a GraphDef."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from .._files import Wiring
from .._op_types import BRANCHES, ENTERS, LOOPS, PLACEHOLDERS, REFERENCE_VARIABLES

TensorSpec = tuple[str, tuple[int | None, ...] | None]


@dataclass
class Core:
    """What is known of each op without its attributes.

    Attributes:
      wiring: names, types and edges.
      devices: requested device of each op, "" for none.
      outputs: (dtype name, shape or None) of each output of each op.
      enters: position of each Enter op to its frame name.
      original: position of each op with an `_original_op` to that op's position, -1 where it is in another graph.
    """

    wiring: Wiring
    devices: list[str]
    outputs: list[tuple[TensorSpec, ...]]
    enters: dict[int, str] = field(default_factory=dict)
    original: dict[int, int] = field(default_factory=dict)


def from_live(graph: Any) -> Core:
    """The core of a `tf.Graph` or FuncGraph, read from its ops without serialising it."""
    ops = graph.get_operations()
    index = {op.name: i for i, op in enumerate(ops)}
    spec = _interned(_live_spec)
    source: list[int] = []
    target: list[int] = []
    output: list[int] = []
    slot: list[int] = []
    core = Core(Wiring([], [], *[np.zeros(0, np.int32)] * 4), [], [])
    names, types, devices, outputs = core.wiring.names, core.wiring.types, core.devices, core.outputs
    for i, op in enumerate(ops):
        names.append(op.name)
        types.append(op.type)
        devices.append(op.device)
        outputs.append(tuple(spec(tensor.dtype, tensor.shape) for tensor in op.outputs))
        for k, tensor in enumerate(op.inputs):
            source.append(index[tensor.op.name])
            target.append(i)
            output.append(tensor.value_index)
            slot.append(k)
        for other in op.control_inputs:
            source.append(index[other.name])
            target.append(i)
            output.append(-1)
            slot.append(-1)
        original = op._original_op
        if original is not None:
            core.original[i] = index[original.name] if original.graph is graph else -1
        if op.type in ENTERS:
            core.enters[i] = op.get_attr("frame_name").decode("utf-8", "replace")
    core.wiring = Wiring(names, types, *(np.asarray(c, np.int32) for c in (source, target, output, slot)))
    return core


def from_graph_def(graph_def: Any, wiring: Wiring) -> Core:
    """The core of a GraphDef: dtypes where TensorFlow knows the op, shapes where they are stored."""
    nodes = graph_def.node
    read = _Reader(wiring)
    core = Core(wiring, [node.device for node in nodes], [read.outputs(i, node) for i, node in enumerate(nodes)])
    for i, node in enumerate(nodes):
        if node.op in ENTERS:
            core.enters[i] = node.attr["frame_name"].s.decode("utf-8", "replace") if "frame_name" in node.attr else ""
    return core


def _interned(make: Callable[..., TensorSpec]) -> Callable[..., TensorSpec]:
    """`make` with equal results shared: a deep net has few different shapes and many tensors."""
    known: dict[TensorSpec, TensorSpec] = {}

    def interned(*args: Any) -> TensorSpec:
        value = make(*args)
        return known.setdefault(value, value)

    return interned


def _live_spec(dtype: Any, shape: Any) -> TensorSpec:
    return dtype.base_dtype.name, live_shape(shape)


def live_shape(shape: Any) -> tuple[int | None, ...] | None:
    """The sizes in a TensorShape, None for an unknown rank."""
    return None if shape.rank is None else tuple(shape.as_list())


class _Reader:
    """Output dtypes and shapes of NodeDefs."""

    def __init__(self, wiring: Wiring):
        from .._tf import op_def_registry

        self._dtypes = _dtype_names()
        self._op_def = op_def_registry.get
        self._known: dict[TensorSpec, TensorSpec] = {}
        self._definitions: dict[str, list[tuple[int, str, str, str]] | None] = {}
        self._used = np.zeros(len(wiring.names), np.int64)
        data = wiring.output >= 0
        np.maximum.at(self._used, wiring.source[data], wiring.output[data] + 1)

    def outputs(self, position: int, node: Any) -> tuple[TensorSpec, ...]:
        """One spec per output; for an op nobody knows, as many as its consumers read."""
        dtypes = self._output_dtypes(node)
        if dtypes is None:
            count = min(int(self._used[position]), 1024)
            dtypes = ["unknown"] * count
        shapes = self._shapes(node, len(dtypes))
        pairs = zip(dtypes, shapes, strict=True)
        return tuple(self._known.setdefault(pair, pair) for pair in pairs)

    def _output_dtypes(self, node: Any) -> list[str] | None:
        kind = node.op
        if kind not in self._definitions:
            self._definitions[kind] = _output_arguments(self._op_def(kind))
        arguments = self._definitions[kind]
        if arguments is None:
            return None
        result: list[str] = []
        attrs = node.attr if arguments else {}
        for number, type_attr, number_attr, list_attr in arguments:
            if list_attr:
                types = attrs[list_attr].list.type if list_attr in attrs else ()
                result += [self._name(number) for number in types]
                continue
            if type_attr:
                number = attrs[type_attr].type if type_attr in attrs else 0
            if not number_attr:
                result.append(self._name(number))
                continue
            repeat = attrs[number_attr].i if number_attr in attrs else 1
            result += [self._name(number)] * max(0, min(repeat, 65536))
        return result

    def _name(self, number: int) -> str:
        return self._dtypes.get(number if number < 100 else number - 100, "unknown")

    def _shapes(self, node: Any, count: int) -> list[tuple[int | None, ...] | None]:
        attrs = node.attr
        if "_output_shapes" in attrs:
            stored = [shape_of(proto) for proto in attrs["_output_shapes"].list.shape]
            return (stored + [None] * count)[:count]
        if node.op in DECLARED and "output_shapes" in attrs:
            stored = [shape_of(proto) for proto in attrs["output_shapes"].list.shape]
            return (stored + [None] * count)[:count]
        if node.op in _SHAPED and "shape" in attrs:
            return [shape_of(attrs["shape"].shape)] * count
        if node.op == "Const" and "value" in attrs:
            return [shape_of(attrs["value"].tensor.tensor_shape)] * count
        return [None] * count


def _output_arguments(definition: Any) -> list[tuple[int, str, str, str]] | None:
    """Of each output of an OpDef: its dtype, or the attributes that tell dtype, number and dtypes."""
    if definition is None:
        return None
    return [(arg.type, arg.type_attr, arg.number_attr, arg.type_list_attr) for arg in definition.output_arg]


# Ops that say in an attribute what shapes they give.
DECLARED = BRANCHES | LOOPS | {"IteratorGetNext", "OptionalGetValue"}
_SHAPED = PLACEHOLDERS | REFERENCE_VARIABLES


def shape_of(proto: Any) -> tuple[int | None, ...] | None:
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


@cache
def _dtype_names() -> dict[int, str]:
    """The dtypes this TensorFlow has names for, by number; reference dtypes are these plus 100."""
    import tensorflow.compat.v1 as tf

    names = {}
    for number in range(1, 100):
        try:
            names[number] = tf.as_dtype(number).name
        except TypeError:
            continue
    return names
