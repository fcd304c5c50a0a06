"""The Python objects by which TensorFlow knows V1 loops and branches, for graphs that came without them.

A MetaGraph carries these contexts beside the graph; a bare GraphDef (frozen, optimised, written by `write_graph`) does
not, and `tf.gradients` fails on its loops and is wrong on its branches. Here they are made from the dataflow.
"""

import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from .._op_types import ENTERS, EXITS
from ..errors import ControlFlowError
from . import _places
from ._in_context import inside
from ._irregular import irregular, is_pivot_switch, is_shared, pivot_switches, put_outside, regularise
from ._places import OUTSIDE, Frame, Place, Places
from ._side_effects import refuse_v1_in_bodies

_made: weakref.WeakSet = weakref.WeakSet()  # the contexts that were made here


def rebuild(graph: tf.Graph) -> int:
    """Make the contexts of those V1 loops and branches of `graph` that have none, so that they can be differentiated.

    The operators do this themselves when they meet such a loop, and `symgrad.loaders.load` does it for what it loads.
    Only this function also undoes what optimisers of graphs do to loops and branches and what hides a derivative (equal
    Switches merged, Identities taken out): call it before a session has run the graph.

    Args:
      graph: a graph, for instance one filled by `tf.import_graph_def`.

    Returns:
      How many contexts were made; 0 if none was missing.

    Raises:
      ControlFlowError: a frame is no loop as `tf.while_loop` builds it.
    """
    contexts = {op: op._get_control_flow_context() for op in graph.get_operations()}
    ours = [op for op, context in contexts.items() if context is None or context in _made]
    merged = irregular(ours)
    for op in ours if merged else ():
        op._set_control_flow_context(None)  # what was found out about the graph as it was
    for switch in merged:
        with inside(graph, None):
            regularise(switch)
    return _Rebuilt(graph).count


def rebuild_for(ops: Iterable[tf.Operation], graph: tf.Graph) -> None:
    """Make what contexts are missing if tangents are to pass `ops`; no op changes that a session may have run.

    Raises:
      ControlFlowError: a body has V1 control flow inside.
    """
    for op in ops:
        refuse_v1_in_bodies(op)
        put_outside(op)
    if any(_needs_context(op) and op._get_control_flow_context() is None for op in ops):
        _Rebuilt(graph)


def rebuild_for_reverse(ops: Iterable[tf.Operation], graph: tf.Graph) -> None:
    """The same if `ops` are to be differentiated in reverse.

    Raises:
      ControlFlowError: one of them is not as `tf.gradients` needs it, and would have to be changed; or a body has V1
        control flow inside.
    """
    rebuild_for(ops, graph)
    for op in ops:
        context = op._get_control_flow_context()
        if context is not None and context.IsWhileContext() and irregular([op]):
            raise ControlFlowError(
                f"{op.type} {op.name!r} in the V1 loop {context.name!r} is not as tf.while_loop and tf.cond build it "
                "(an optimiser has merged or removed ops), and its gradient would be wrong; call "
                "symgrad.loaders.rebuild(graph) before the first session runs the graph"
            )


def _needs_context(op: tf.Operation) -> bool:
    """True for ops that lie in a context wherever `tf.while_loop` or `tf.cond` made them."""
    return op.type in ENTERS or op.type in EXITS or _places.is_branch_switch(op)


def _without_contexts(ops: Iterable[tf.Operation]) -> set[str]:
    """The predicates whose branches get no context: they have one, or TensorFlow gives them none.

    It leaves the backward pass of a branch outside of contexts; that is where one Switch feeds both sides.
    """
    contexts = {op._get_control_flow_context() for op in ops}
    known = {_places.source(c.pred).name for c in contexts if c is not None and c.IsCondContext()}
    shared = [op for op in ops if _places.is_branch_switch(op) and is_shared(op)]
    return known | {_places.source(op.inputs[1]).name for op in shared}


class _Rebuilt:
    """One pass over a graph: places, the contexts that are there, the contexts that are missing."""

    def __init__(self, graph: tf.Graph):
        self.graph = graph
        self.count = 0
        operations = graph.get_operations()
        if any(_needs_context(op) and op._get_control_flow_context() is None for op in operations):
            self._without = {op for op in operations if op._get_control_flow_context() is None}
            self._survey(operations)
            missing = self._missing(_without_contexts(operations))
            # From the outside in: a context takes the one that is current when it is made for the one around it.
            for place in sorted(missing, key=lambda p: (len(p.frame), len(p.guards))):
                self._contexts[place] = self._make(place)
            self._assign(missing)
            self.count = len(missing)

    def _survey(self, operations: list[tf.Operation]) -> None:
        """What lies where, and which contexts are there."""
        self._places = Places(operations)
        self._contexts: dict[Place, Any] = {OUTSIDE: None}
        self._members: dict[Place, list[tf.Operation]] = defaultdict(list)
        self._values: dict[Place, list[str]] = defaultdict(list)
        self._predicates: dict[str, tf.Tensor] = {}  # by its source, the one tensor by which both branches know it
        for op in self._places.order:
            home = self._home(op)
            self._members[home].append(op)
            if op not in self._without:
                self._contexts.setdefault(home, op._get_control_flow_context())
            if _places.is_branch_switch(op):
                self._predicates.setdefault(_places.source(op.inputs[1]).name, op.inputs[1])
            for tensor in op.outputs:
                for place in _enclosing(self._places.behind(tensor)):
                    self._values[place].append(tensor.name)

    def _assign(self, missing: set[Place]) -> None:
        """Tell the ops their contexts; at the end, as making a context claims every op with an output inside."""
        for home, members in self._members.items():
            place = home
            while place not in missing and place != OUTSIDE:
                place = self._outer(place)
            for op in members:
                if home in missing or op in self._without:
                    op._set_control_flow_context(self._contexts[place])

    def _home(self, op: tf.Operation) -> Place:
        """The place to whose context TensorFlow counts `op`: a Switch into a branch counts to that branch."""
        if _places.is_branch_switch(op) and not is_pivot_switch(op):
            used = [t for t in op.outputs if t.consumers()]
            return self._places.behind((used or op.outputs)[0])
        return self._places.of(op)

    def _missing(self, excepted: set[str]) -> set[Place]:
        """The places to make a context for, with those around them; none for the branches of some predicates."""
        missing = set()
        for place, members in self._members.items():
            if all(op._get_control_flow_context() is not None for op in members):
                continue
            if place in self._contexts:
                _refuse_second_loop(place, members)
            while place not in self._contexts and place not in missing:
                if not (place.guards and place.guards[-1].pred in excepted):
                    missing.add(place)
                place = self._outer(place)
        return missing

    def _outer(self, place: Place) -> Place:
        if place.guards:
            return Place(place.frame, place.guards[:-1])
        return Place(place.frame[:-1], self._places.around.get(place.frame, ()))

    def _make(self, place: Place) -> Any:
        around = self._outer(place)
        while around not in self._contexts:
            around = self._outer(around)
        outer = self._contexts[around]
        definition = self._branch(place) if place.guards else self._loop(place)
        kind = _tf.CondContext if place.guards else _tf.WhileContext
        # From a definition, as where a MetaGraph is read: TensorFlow's one way to a context for ops that are there.
        with inside(self.graph, outer):
            made = kind(context_def=definition)
        _made.add(made)
        return made

    def _loop(self, place: Place) -> Any:
        members = self._members[place]
        self._exit_everywhere(members, place)
        enters = [op for op in members if op.type in ENTERS]
        conditions = [op for op in self._of_frame(place.frame) if op.type == "LoopCond"]
        merges = [op for op in members if _places.is_loop_merge(op)]
        if len(conditions) != 1 or not merges:
            raise ControlFlowError(
                f"frame {place.frame[-1]!r} (Enter {enters[0].name!r}) has {len(conditions)} LoopCond ops and "
                f"{len(merges)} loop variables; wanted a loop as tf.while_loop builds it, with one and at least one"
            )
        # The Enters and Exits that it is told are those of the loop's variables; what is constant in a loop it knows as
        # a value from outside that has another name inside.
        definition = _tf.WhileContextDef(
            context_name=_places.frame_name(enters[0]),
            parallel_iterations=enters[0].get_attr("parallel_iterations"),
            back_prop=True,
            pivot_name=conditions[0].outputs[0].name,
            pivot_for_pred_name=merges[0].outputs[0].name,
            pivot_for_body_name=self._pivot(_body_sides(members), place).name,
            loop_enter_names=[op.outputs[0].name for op in enters if not op.get_attr("is_constant")],
            loop_exit_names=[op.outputs[0].name for op in members if op.type in EXITS],
        )
        constants = {op.inputs[0].name: op.outputs[0].name for op in enters if op.get_attr("is_constant")}
        return self._with_values(definition, place, constants)

    def _exit_everywhere(self, members: list[tf.Operation], place: Place) -> None:
        """Give each loop variable an Exit: where pruning took one away, `tf.gradients` would pass the variable over."""
        for switch in [op for op in members if _places.is_loop_switch(op)]:
            if not any(op.type in EXITS for op in switch.outputs[0].consumers()):
                with inside(self.graph, None):
                    left = tf.raw_ops.Exit(data=switch.outputs[0])
                members.append(left.op)
                for around in _enclosing(self._outer(place)):
                    if self._contexts.get(around) is not None:
                        self._contexts[around].AddName(left.name)

    def _branch(self, place: Place) -> Any:
        guard = place.guards[-1]
        switches = [op for op in self._members[place] if _places.is_branch_switch(op)]
        pivots = pivot_switches(self.graph.get_tensor_by_name(guard.pred))
        sides = [op.outputs[guard.branch] for op in [*pivots, *switches]]
        predicate = self._predicates[guard.pred]
        definition = _tf.CondContextDef(
            context_name=f"branch_{guard.branch}_of_{predicate.op.name}",
            pred_name=predicate.name,
            pivot_name=self._pivot(sides, place).name,
            branch=guard.branch,
        )
        guarded = {op.inputs[0].name: op.outputs[guard.branch].name for op in switches}
        return self._with_values(definition, place, {predicate.name: predicate.name, **guarded})

    def _with_values(self, definition: Any, place: Place, external: dict[str, str]) -> Any:
        """The definition, told which tensors live inside and by which tensor each outside one is known there.

        What is missing among the values is taken for something outside, and brought in by a Switch or Enter of its own
        as soon as a gradient reads it (`AddValue` of the contexts).
        """
        definition.values_def.values.extend(sorted({*self._values[place], *external}))
        definition.values_def.external_values.update(external)
        return definition

    def _of_frame(self, frame: Frame) -> Iterator[tf.Operation]:
        return (op for place, members in self._members.items() if place.frame == frame for op in members)

    def _pivot(self, sides: list[tf.Tensor], place: Place) -> tf.Tensor:
        """An Identity that runs exactly when the place does: what has no inputs is made to wait for it.

        A Switch cannot stand for it, as what waits for a Switch runs whichever way it goes.
        """
        for side in sides:
            for op in side.consumers():
                if op.type == "Identity":
                    return op.outputs[0]
        with inside(self.graph, sides[0].op._get_control_flow_context()):
            pivot = tf.identity(sides[0], name="pivot")
        self._members[place].append(pivot.op)
        self._values[place].append(pivot.name)
        return pivot


def _refuse_second_loop(place: Place, members: list[tf.Operation]) -> None:
    for op in members:
        if op.type in ENTERS and op._get_control_flow_context() is None:
            raise ControlFlowError(
                f"Enter {op.name!r} leads into the frame {place.frame[-1]!r} of another loop, as when a graph is "
                "imported twice; TensorFlow cannot run two loops of one frame: import each into a tf.Graph of its own"
            )


def _enclosing(place: Place) -> Iterator[Place]:
    """The place and the branches around it in its frame, and the frame itself."""
    for depth in range(len(place.guards) + 1):
        yield Place(place.frame, place.guards[:depth])


def _body_sides(members: list[tf.Operation]) -> list[tf.Tensor]:
    return [op.outputs[1] for op in members if _places.is_loop_switch(op)]
