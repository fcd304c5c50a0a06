"""From a node of the private copy back to the user's op, and from a backward op to its forward op."""

import re
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _pairs
from .._bodies import bodies
from ._scope import Scope

# A body is differentiated outside of the graph that would remember the forward ops: the scope of a gradient tells.
_GRADIENT_SCOPE = re.compile(r"(?:^|/)([^/]+)_grad(?:_\d+)?/")


@dataclass(frozen=True)
class Forward:
    """The op whose gradient a backward op is part of; the name alone where the op cannot be found."""

    name: str | None = None
    op: tf.Operation | None = None


class Locator:
    """Finds ops of one graph."""

    def __init__(self, graph: tf.Graph):
        self._graph = graph
        self._paired: dict[str, str] | None = None

    def op(self, scope: Scope, name: str) -> tf.Operation | None:
        """The op of the user's graph or function body that a node is a copy of; None for bodies of another process."""
        graph = self._graph_of(scope)
        # Ops of a stored body whose name an argument or a result bears get a number.
        for candidate in (name, re.sub(r"_\d+$", "", name)):
            found = _find(graph, candidate)
            if found is not None and found.type == scope.nodes[name].op:
                return found
        return None

    def forward(self, scope: Scope, name: str) -> Forward:
        """The forward op of a node, an empty `Forward` if it is none of a gradient."""
        op = self.op(scope, name)
        original = None if op is None else op._original_op
        if original is not None:
            return Forward(original.name, original)
        if scope.parent is None:
            paired = self._pairs().get(name)
            return Forward(paired, _find(self._graph, paired)) if paired else Forward()
        match = _GRADIENT_SCOPE.search(name)
        return Forward(match[1]) if match else Forward()

    def _graph_of(self, scope: Scope) -> tf.Graph | None:
        if scope.parent is None:
            return self._graph
        caller = self.op(scope.parent, scope.call)
        if caller is None:
            return None
        return bodies(caller)[scope.parent.children[scope.call].index(scope)].graph

    def _pairs(self) -> dict[str, str]:
        """The name of the forward op by the name of the backward op, for graphs that do not remember."""
        if self._paired is None:
            ops = self._graph.get_operations()
            position = {op: i for i, op in enumerate(ops)}
            edges = [(position[t.op], i, t.value_index) for i, op in enumerate(ops) for t in op.inputs]
            edges += [(position[c], i, -1) for i, op in enumerate(ops) for c in op.control_inputs]
            source, target, output = np.array(edges, np.int64).reshape(-1, 3).T
            names = [op.name for op in ops]
            found = _pairs.pair(names, [op.type for op in ops], (source, target, output)).forward.tolist()
            self._paired = {names[i]: names[forward] for i, forward in enumerate(found) if forward >= 0}
        return self._paired


def _find(graph: tf.Graph | None, name: str) -> tf.Operation | None:
    try:
        return None if graph is None else graph.get_operation_by_name(name)
    except KeyError:
        return None
