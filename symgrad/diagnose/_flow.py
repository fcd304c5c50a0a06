"""How values flow from xs to ys, function bodies included, as numbered nodes and flat edges.

Loops, branches and calls of V2 are walked as if their bodies stood in the graph, once for each place that runs them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _sources, rules
from .._bodies import Body, bodies, differentiates_bodies


class Site:
    """The graph itself.

    Attributes:
      within: names of the loops, branches and calls around it, outermost first.
      numbers: of the nodes that make the tensors read here, by the tensors' ids.
    """

    within: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}


class Inside(Site):
    """A function body where one op at one site runs it.

    Attributes:
      parent, op: who runs it.
      body: the function.
      loop: in a loop, the site of its body.
    """

    def __init__(self, parent: Site, op: tf.Operation, body: Body):
        super().__init__()
        self.parent, self.op, self.body = parent, op, body
        self.within = (*parent.within, op.name)
        self.loop: Inside | None = None
        self._arguments = {id(t): i for i, t in enumerate(body.graph.inputs)}

    def argument(self, tensor: tf.Tensor) -> int | None:
        """Which argument of the body `tensor` is, None if it is none."""
        return self._arguments.get(id(tensor))


# A node: (site, op, None) an op; (site, op, j) output j of an op whose outputs depend on different inputs;
# (site, None, i) argument i of a body; (site, op, ("tensor", j)) an x or a stopped tensor.
Node = tuple[Site, Any, Any]


class Flow:
    """What ys are computed from.

    Attributes:
      nodes: by number.
      source, target: the numbers of the nodes that each edge joins.
      tensor: what flows along each edge.
      use: as which input the target's op reads it; -1 where it is handed on as it is.
      ends: for each y, the number of its node.
    """

    def __init__(self, ys: Sequence[tf.Tensor], xs: Sequence[tf.Tensor], stop: Sequence[tf.Tensor] = ()):
        self.nodes: list[Node] = []
        self.source: list[int] = []
        self.target: list[int] = []
        self.tensor: list[tf.Tensor] = []
        self.use: list[int] = []
        self.root = Site()
        self.stopped = {id(t) for t in stop}
        self._special = {id(t) for t in xs} | self.stopped
        self._sources = _sources.Sources([*xs, *stop])
        self._numbers: dict[Node, int] = {}
        self._sites: dict[tuple[Site, tf.Operation], list[Inside]] = {}
        self._runs_bodies: dict[str, bool] = {}
        self.ends = [self._at(self.root, y) for y in ys]
        self._walk()

    def number_of(self, tensor: tf.Tensor) -> int | None:
        """The number of an x or a stopped tensor; None if ys are not computed from it."""
        return self._numbers.get(self._node(self.root, tensor))

    def holds(self, op: tf.Operation) -> bool:
        """True if ys are computed from `op` of the graph itself."""
        return any((self.root, op, slot) in self._numbers for slot in (None, *range(len(op.outputs))))

    def leaves(self) -> list[tf.Operation]:
        """The ops of the graph itself that read nothing and that ys are computed from."""
        return list({op: None for site, op, _ in self.nodes if op is not None and site is self.root and not op.inputs})

    def _walk(self) -> None:
        """Follow every edge from ys backward; an edge is recorded when its target is reached."""
        at = 0
        while at < len(self.nodes):
            for source, tensor, use in self._reads(self.nodes[at]):
                self.source.append(source)
                self.target.append(at)
                self.tensor.append(tensor)
                self.use.append(use)
            at += 1

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def _at(self, site: Site, tensor: tf.Tensor) -> int:
        """The number of the node that makes `tensor` as seen from `site`."""
        number = site.numbers.get(id(tensor))
        if number is None:
            number = site.numbers[id(tensor)] = self._number(self._node(site, tensor))
        return number

    def _node(self, site: Site, tensor: tf.Tensor) -> Node:
        """The node that makes `tensor` as seen from `site`."""
        if isinstance(site, Inside):
            argument = site.argument(tensor)
            if argument is not None:
                return (site, None, argument)
        else:
            tensor = self._sources.outer(tensor)
            if id(tensor) in self._special:
                return (site, tensor.op, ("tensor", tensor.value_index))
        op = tensor.op
        return (site, op, tensor.value_index if self._has_split_outputs(op) else None)

    def _reads(self, node: Node) -> Iterator[tuple[int, tf.Tensor, int]]:
        """The numbers of the nodes that `node` reads, with the tensor, and as which input an op reads it."""
        site, op, slot = node
        if isinstance(site, Inside) and op is None:
            yield from self._argument(site, slot)
        elif isinstance(slot, tuple):
            tensor = op.outputs[slot[1]]
            yield self._number((site, op, slot[1] if self._has_split_outputs(op) else None)), tensor, -1
        elif slot is None:
            for i, tensor in enumerate(op.inputs):
                yield self._at(site, tensor), tensor, i
            for pivot in filter(_is_pivot, op.control_inputs):
                yield self._at(site, pivot.outputs[0]), pivot.outputs[0], -1
        elif op.type == "IdentityN":
            yield self._at(site, op.inputs[slot]), op.inputs[slot], slot
        else:
            yield from self._result(site, op, slot)

    def _has_split_outputs(self, op: tf.Operation) -> bool:
        if op.type == "IdentityN":
            return not rules.has_own_gradient(op)
        if op.type not in self._runs_bodies:
            self._runs_bodies[op.type] = bool(bodies(op))
        return self._runs_bodies[op.type] and differentiates_bodies(op)

    def _bodies(self, site: Site, op: tf.Operation) -> list[Inside]:
        """The bodies that `op` runs at `site`."""
        key = (site, op)
        if key not in self._sites:
            self._sites[key] = sites = [Inside(site, op, body) for body in bodies(op)]
            for each in sites:
                each.loop = next((s for s in sites if s.body.kind == "body"), None)
        return self._sites[key]

    def _argument(self, site: Inside, index: int):
        """What argument `index` of a body is: an input of the op, or what a loop's body gave the iteration before."""
        outer = site.op.inputs[index + site.body.offset]
        yield self._at(site.parent, outer), outer, -1
        if site.loop is not None and index < len(site.loop.body.graph.outputs):
            inner = site.loop.body.graph.outputs[index]
            yield self._at(site.loop, inner), inner, -1

    def _result(self, site: Site, op: tf.Operation, index: int):
        """What output `index` of a loop, branch or call is."""
        inner = self._bodies(site, op)
        kinds = [s.body.kind for s in inner]
        for s in inner:
            outputs = s.body.graph.outputs
            position = 0 if s.body.kind == "cond" else index
            if position < len(outputs):
                yield self._at(s, outputs[position]), outputs[position], -1
        if "body" in kinds and index < len(op.inputs):
            yield self._at(site, op.inputs[index]), op.inputs[index], -1
        if "branch" in kinds:
            yield self._at(site, op.inputs[0]), op.inputs[0], -1


def _is_pivot(op: tf.Operation) -> bool:
    """True for the op by which an op of a V1 branch that reads nothing, such as a constant, hangs on the predicate."""
    return op.type == "Identity" and op.inputs[0].op.type == "Switch" and op.outputs[0].dtype == tf.bool
