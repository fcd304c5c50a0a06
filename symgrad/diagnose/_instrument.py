"""A GraphDef with a probe behind every op that gives floating values, in the graph and in every body that runs.

A probe is a PyFunc that takes the op's inputs and outputs and hands the outputs on. Each place that runs a function
gets a copy of the function, so that a probe knows where it is.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import PLACEHOLDERS, V1_CONTROL_FLOW, is_list, lives_one_run
from ..errors import GraphMismatchError
from ._loops_around import frames
from ._record import Clock, Probe
from ._scope import Scope, data_inputs, function_attributes

_TRANSPARENT = V1_CONTROL_FLOW | PLACEHOLDERS | {"Const"}
_CHOICES = frozenset({"Select", "SelectV2"})
# What runs a body with probes, which are stateful.
_STATEFUL = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessCase": "Case",
    "StatelessIf": "If",
    "StatelessWhile": "While",
}


class Instrumented:
    """The rewritten graph.

    Attributes:
      graph_def: the GraphDef to import.
      root: the graph as it was, with the bodies that its ops run.
      probes: by scope and node name.
      frames: for each node of the graph inside of V1 loops, key and name of these, outermost first.
      placeholders: for each tensor that is to be fed the name of its placeholder.
    """

    def __init__(self, graph_def: Any, given: dict[str, int], dropped: set[str], *, fed: set[str]):
        """`given` are tensors of the graph to feed, with their types; `dropped` nodes of which all tensors are given.

        `fed` are those of them that the user feeds: they read nothing.
        """
        self._dropped, self._fed = dropped, fed
        self.graph_def = tf.GraphDef()
        self.graph_def.CopyFrom(graph_def)
        self.probes: dict[tuple[Scope, str], Probe] = {}
        self.clock = Clock()
        self._library = {f.signature.name: f for f in graph_def.library.function}
        self._functions: list[Any] = []
        self._tokens: list[Any] = []
        self.placeholders = {ref: f"symgrad_given_{i}" for i, ref in enumerate(given)}
        self._replaced = {ref: f"{name}:0" for ref, name in self.placeholders.items()}
        self.root = Scope({node.name: node for node in graph_def.node}, self._library)
        self.frames = frames(self.root)
        self._new_names = self._rewrite(self.root, self.graph_def.node, ())
        kept = [node for node in self.graph_def.node if node.name not in dropped]
        del self.graph_def.node[:]
        self.graph_def.node.extend(kept)
        for node in self.graph_def.node:
            node.input[:] = [ref for ref in node.input if ref[0] != "^" or ref[1:] not in dropped]
        for ref, name in self.placeholders.items():
            placeholder = self.graph_def.node.add(name=name, op="Placeholder")
            placeholder.attr["dtype"].type = given[ref]
            placeholder.attr["shape"].shape.unknown_rank = True
        self.graph_def.library.function.extend(self._functions)

    def name_of(self, ref: str) -> str:
        """The tensor behind the probe of the tensor `ref` of the graph."""
        return self._new_names.get(ref, ref)

    def _rewrite(self, scope: Scope, nodes: Any, loops: Sequence[tuple[Any, str]]) -> dict[str, str]:
        """Put probes into NodeDefs of a scope, in place; gives the new names of what was renamed."""
        renamed = dict(self._replaced) if scope.function is None else {}
        added, late = [], []
        for node in list(nodes):
            if scope.function is None and node.name in self._fed:
                continue
            _tame(node)
            around = loops if scope.function is not None else self.frames.get(node.name, ())
            if function_attributes(node, self._library):
                self._specialise(scope, node, around)
            elif scope.function is None and node.op == "LoopCond":
                added.append(self._tick(scope, node, around[-1][0], renamed))
            elif self._is_probed(scope, node):
                added.append(self._probe(scope, node, around, renamed))
                if scope.function is None and node.name in self._dropped:
                    late.append(added[-1])
        for node in nodes:
            node.input[:] = [renamed.get(ref, renamed.get(f"{ref}:0", ref)) for ref in node.input]
        for probe in late:  # stands for the op: the probes before it run for its sake alone
            taken = len(probe.attr["Tin"].list.type) - len(probe.attr["Tout"].list.type)
            probe.input[:taken] = [renamed.get(ref, renamed.get(f"{ref}:0", ref)) for ref in probe.input[:taken]]
        nodes.extend(added)
        return renamed

    def _is_probed(self, scope: Scope, node: Any) -> bool:
        if node.op in _TRANSPARENT:
            return False
        if lives_one_run(node.op) or is_list(node.op):
            return False  # its floating output is no value but a token that orders reads and writes
        if node.op == "Identity" and scope.output(scope.inputs(node.name)[0]).is_ref:
            return False  # shares its memory with the variable: a copy would miss what is written in between
        return any(o.is_floating and not o.is_ref for o in scope.outputs(node.name))

    def _probe(self, scope: Scope, node: Any, loops: Sequence[tuple[Any, str]], renamed: dict[str, str]) -> Any:
        chooses = node.op in _CHOICES
        places = scope.inputs(node.name)
        inputs = [i for i, p in enumerate(places) if chooses or scope.output(p).is_floating]
        outputs = [k for k, o in enumerate(scope.outputs(node.name)) if o.is_floating]
        probe = Probe(inputs, outputs, chooses, loops, self.clock)
        self.probes[scope, node.name] = probe
        refs = data_inputs(node)
        made = [scope.outputs(node.name)[k] for k in outputs]
        taken = [(refs[i], scope.output(places[i]).dtype) for i in inputs]
        return self._python_node(scope, probe, taken, [(o.ref, o.dtype) for o in made], renamed)

    def _tick(self, scope: Scope, node: Any, loop: Any, renamed: dict[str, str]) -> Any:
        output = scope.outputs(node.name)[0]
        return self._python_node(scope, self.clock.ticker(loop), [], [(output.ref, output.dtype)], renamed)

    def _python_node(self, scope: Scope, function: Any, taken: list, made: list, renamed: dict[str, str]) -> Any:
        """A PyFunc that is handed `taken` and `made` and stands for `made` from now on."""
        self._tokens.append(function)  # TensorFlow keeps no reference of its own
        node = tf.NodeDef(name=f"symgrad_probe_{len(self._tokens)}", op="PyFunc")
        old = {} if scope.function is not None else self._replaced
        node.input.extend(old.get(ref, old.get(f"{ref}:0", ref)) for ref, _ in taken + made)
        node.attr["token"].s = _tf.register_python_function(function).encode()
        node.attr["Tin"].list.type.extend(dtype for _, dtype in taken + made)
        node.attr["Tout"].list.type.extend(dtype for _, dtype in made)
        for k, (ref, _) in enumerate(made):
            renamed[ref] = f"{node.name}:output:{k}" if scope.function is not None else f"{node.name}:{k}"
        return node

    def _specialise(self, scope: Scope, node: Any, loops: Sequence[tuple[Any, str]]) -> None:
        """Give the node copies of its functions, with probes in them."""
        children = []
        for kind, offset, named in function_attributes(node, self._library):
            name = named.op if named is node else named.name
            if name not in self._library:
                raise GraphMismatchError(f"{node.op} {node.name!r} calls {name!r}, and the graph has no such function")
            child = Scope(
                {n.name: n for n in self._library[name].node_def}, self._library, self._library[name], scope,
                node.name, kind, offset,
            )  # fmt: skip
            children.append(child)
            inside = (*loops, ((scope, node.name), node.name)) if kind in ("cond", "body") else loops
            copied = self._copy(child, f"{name}_symgrad_{_tf.uid()}", inside)
            if named is node:
                node.op = copied
            else:
                named.name = copied
        node.op = _STATEFUL.get(node.op, node.op)
        scope.children[node.name] = children

    def _copy(self, child: Scope, name: str, loops: Sequence[tuple[Any, str]]) -> str:
        function = type(child.function)()
        function.CopyFrom(child.function)
        function.signature.name = name
        function.signature.is_stateful = True  # probes are
        for attribute in [a for a in function.attr if a.startswith("_Xla") or a == "_noinline"]:
            del function.attr[attribute]
        renamed = self._rewrite(child, function.node_def, loops)
        if child.kind == "cond":
            result = child.output(child.results()[0])
            tick = self._python_node(child, self.clock.ticker(loops[-1][0]), [], [(result.ref, result.dtype)], renamed)
            function.node_def.append(tick)
        for key, ref in list(function.ret.items()):
            function.ret[key] = renamed.get(ref, ref)
        self._functions.append(function)
        return name


def _tame(node: Any) -> None:
    """Take from a node what a private run must not do: stop at a NaN, run several iterations at once, compile."""
    node.device = ""
    for attribute in [a for a in node.attr if a == "_class" or a.startswith("_Xla")]:
        del node.attr[attribute]
    if node.op in ("CheckNumerics", "CheckNumericsV2"):
        node.op = "Identity"
        del node.attr["message"]
    elif node.op == "Assert":
        node.op = "NoOp"
        node.input[:] = [ref for ref in node.input if ref.startswith("^")]
        node.attr.clear()
    elif "parallel_iterations" in node.attr:
        node.attr["parallel_iterations"].i = 1
