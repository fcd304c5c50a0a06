"""A graph or a function body as NodeDefs: what each output is called there, its type, and which bodies an op runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import CALLS, CASES, IFS, LOOPS
from .._tensors import FLOATING

ENUMS = frozenset(dtype.as_datatype_enum for dtype in FLOATING)
HANDLES = frozenset(dtype.as_datatype_enum for dtype in (tf.resource, tf.variant))


@dataclass(frozen=True)
class Output:
    """One output of a node: how other nodes call it, and its type as a DataType number."""

    ref: str
    dtype: int
    is_ref: bool

    @property
    def is_floating(self) -> bool:
        """True for values that may be NaN."""
        return self.dtype in ENUMS

    @property
    def is_handle(self) -> bool:
        """True for what only refers to values: a variable, a TensorList, a stack."""
        return self.dtype in HANDLES or self.is_ref


# What an input refers to: output `index` of `node`, or argument `index` of the body if the node is None.
Place = tuple[str | None, int]


@dataclass(eq=False)
class Scope:
    """The graph itself, or a function body where one node runs it.

    Attributes:
      nodes: NodeDefs by name.
      library: FunctionDefs by name, of the whole graph.
      function: the FunctionDef of a body.
      parent, call, kind, offset: the scope and name of the node that runs the body; "cond" or "body" of a loop,
        "branch" or "call"; which input of that node is the body's first argument.
      children: the bodies that each node runs.
    """

    nodes: dict[str, Any]
    library: dict[str, Any]
    function: Any = None
    parent: "Scope | None" = None
    call: str = ""
    kind: str = ""
    offset: int = 0
    children: dict[str, list["Scope"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._outputs: dict[str, list[Output]] = {}
        self._places: dict[str, Place] = {}
        for i, arg in enumerate(self.function.signature.input_arg if self.function else ()):
            self._places[arg.name] = (None, i)

    @property
    def within(self) -> tuple[str, ...]:
        """Names of the nodes that run this body, outermost first."""
        return () if self.parent is None else (*self.parent.within, self.call)

    def outputs(self, name: str) -> list[Output]:
        """The outputs of a node, in order."""
        if name not in self._outputs:
            node = self.nodes[name]
            self._outputs[name] = list(self._flat_outputs(node))
            for i, output in enumerate(self._outputs[name]):
                self._places[output.ref] = (name, i)
        return self._outputs[name]

    def place(self, ref: str) -> Place:
        """What a data input refers to."""
        if ref not in self._places:
            name = ref.partition(":")[0]
            self.outputs(name)
            if ref == name:
                return (name, 0)
        return self._places[ref]

    def inputs(self, name: str) -> list[Place]:
        """What a node reads, in order, control inputs left out."""
        return [self.place(ref) for ref in data_inputs(self.nodes[name])]

    def output(self, place: Place) -> Output:
        """The output, or the argument, at a place."""
        name, index = place
        if name is not None:
            return self.outputs(name)[index]
        arg = self.function.signature.input_arg[index]
        return Output(arg.name, arg.type, arg.is_ref)

    def results(self) -> list[Place]:
        """What a body gives back, in order."""
        return [self.place(self.function.ret[arg.name]) for arg in self.function.signature.output_arg]

    def _flat_outputs(self, node: Any) -> Iterator[Output]:
        definition = self.library[node.op].signature if node.op in self.library else _tf.op_def_registry.get(node.op)
        flat = 0
        for arg in definition.output_arg:
            for k, dtype in enumerate(_types(node, definition, arg)):
                ref = f"{node.name}:{arg.name}:{k}" if self.function else f"{node.name}:{flat}"
                yield Output(ref, dtype, arg.is_ref)
                flat += 1


def data_inputs(node: Any) -> list[str]:
    """The inputs of a node that are no control inputs."""
    return [ref for ref in node.input if not ref.startswith("^")]


def _types(node: Any, definition: Any, arg: Any) -> list[int]:
    """The types of the tensors that one declared output stands for."""
    if arg.type_list_attr:
        return list(_attr(node, definition, arg.type_list_attr).list.type)
    dtype = arg.type or _attr(node, definition, arg.type_attr).type
    return [dtype] * (_attr(node, definition, arg.number_attr).i if arg.number_attr else 1)


def _attr(node: Any, definition: Any, name: str) -> Any:
    """The attribute, or its default where the file leaves it out."""
    if name in node.attr:
        return node.attr[name]
    return next(attr.default_value for attr in definition.attr if attr.name == name)


def function_attributes(node: Any, library: dict[str, Any]) -> list[tuple[str, int, Any]]:
    """(kind, offset, NameAttrList or the node itself) of each body that a node runs."""
    if node.op in LOOPS:
        return [("cond", 0, node.attr["cond"].func), ("body", 0, node.attr["body"].func)]
    if node.op in IFS:
        return [("branch", 1, node.attr["then_branch"].func), ("branch", 1, node.attr["else_branch"].func)]
    if node.op in CASES:
        return [("branch", 1, func) for func in node.attr["branches"].list.func]
    if node.op in CALLS:
        return [("call", 0, node.attr["f"].func)]
    return [("call", 0, node)] if node.op in library else []
