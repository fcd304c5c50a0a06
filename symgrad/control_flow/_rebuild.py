"""The Python objects by which TensorFlow knows V1 loops and branches, for graphs that came without them.

A MetaGraph carries these contexts beside the graph; a bare GraphDef (frozen, optimised, written by `write_graph`) does
not, and `tf.gradients` fails on its loops and is wrong on its branches. Here they are made from the dataflow.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from ..errors import ControlFlowError
from . import _places
from ._inside import inside
from ._places import ENTERS, EXITS, OUTSIDE, Frame, Place, Places


def rebuild(graph: tf.Graph) -> int:
    """Make the contexts of those V1 loops and branches of `graph` that have none, so that they can be differentiated.

    The operators do this themselves when they meet such a loop, and `symgrad.loaders.load` does it for what it loads.
    Only this function also takes apart a Switch that feeds both branches of a conditional (optimisers merge equal ops):
    call it before a session has run the graph.

    Args:
      graph: a graph, for instance one filled by `tf.import_graph_def`.

    Returns:
      How many contexts were made; 0 if none was missing.

    Raises:
      ControlFlowError: a frame is no loop as `tf.while_loop` builds it.
    """
    for switch in _shared_switches(graph.get_operations()):
        _split(switch)
    return _Rebuilt(graph).count


def rebuild_for(ops: Iterable[tf.Operation], graph: tf.Graph) -> None:
    """Make what contexts are missing if `ops` are to be differentiated; no op changes that a session may have run.

    Raises:
      ControlFlowError: a Switch among `ops` would have to be taken apart, or a frame is no loop.
    """
    if not lacks_contexts(ops):
        return
    shared = set(_shared_switches(graph.get_operations()))
    for switch in (op for op in ops if op in shared):
        raise ControlFlowError(
            f"Switch {switch.name!r} feeds both branches of a conditional and lies in no context; call "
            "symgrad.control_flow.rebuild(graph) before the first session runs the graph"
        )
    _Rebuilt(graph)


def lacks_contexts(ops: Iterable[tf.Operation]) -> bool:
    """True if some of the ops are a loop or branch whose context is missing."""
    return any(_needs_context(op) and op._get_control_flow_context() is None for op in ops)


def _needs_context(op: tf.Operation) -> bool:
    """True for ops that lie in a context wherever `tf.while_loop` or `tf.cond` made them."""
    return op.type in ENTERS or op.type in EXITS or _places.is_branch_switch(op)


def _shared_switches(ops: Iterable[tf.Operation]) -> list[tf.Operation]:
    """The Switches whose value goes into both branches of a conditional without contexts."""
    known = _known_predicates(ops)
    found = [op for op in ops if _places.is_branch_switch(op) and op._get_control_flow_context() is None]
    found = [op for op in found if not _is_pivot_switch(op) and _places.source(op.inputs[1]).name not in known]
    return [op for op in found if all(t.consumers() for t in op.outputs)]


def _known_predicates(ops: Iterable[tf.Operation]) -> set[str]:
    """What decides the branches that have a context."""
    contexts = {op._get_control_flow_context() for op in ops}
    return {_places.source(c.pred).name for c in contexts if c is not None and c.IsCondContext()}


def _split(switch: tf.Operation) -> None:
    """Let what reads the second output of `switch` read it from a Switch of its own."""
    with inside(switch.graph, None):
        own = tf.raw_ops.Switch(data=switch.inputs[0], pred=switch.inputs[1])
    for op in list(switch.outputs[1].consumers()):
        for i, tensor in enumerate(op.inputs):
            if tensor is switch.outputs[1]:
                op._update_input(i, own.output_true)


class _Rebuilt:
    """One pass over a graph: places, the contexts that are there, the contexts that are missing."""

    def __init__(self, graph: tf.Graph):
        self.graph = graph
        self.count = 0
        operations = graph.get_operations()
        if lacks_contexts(operations):
            self._without = {op for op in operations if op._get_control_flow_context() is None}
            self._survey(operations)
            missing = self._missing(_known_predicates(operations))
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
        for place, members in self._members.items():
            for op in members:
                if place in missing or op in self._without:
                    op._set_control_flow_context(self._contexts[place] if place in missing else None)

    def _home(self, op: tf.Operation) -> Place:
        """The place to whose context TensorFlow counts `op`: a Switch into a branch counts to that branch."""
        if _places.is_branch_switch(op) and not _is_pivot_switch(op):
            used = [t for t in op.outputs if t.consumers()]
            return self._places.behind((used or op.outputs)[0])
        return self._places.of(op)

    def _missing(self, known: set[str]) -> set[Place]:
        """The places to make a context for, with those around them."""
        missing = set()
        for place, members in self._members.items():
            if all(op._get_control_flow_context() is not None for op in members):
                continue
            if place in self._contexts:
                _refuse_second_loop(place, members)
            while place not in self._contexts and place not in missing:
                # tf.gradients itself puts Switches of a known branch outside of its context: leave those alone.
                if not (place.guards and place.guards[-1].pred in known):
                    missing.add(place)
                place = self._outer(place)
        return missing

    def _outer(self, place: Place) -> Place:
        if place.guards:
            return Place(place.frame, place.guards[:-1])
        return Place(place.frame[:-1], self._places.around.get(place.frame, ()))

    def _make(self, place: Place) -> Any:
        outer = self._contexts.get(self._outer(place))
        definition = self._branch(place) if place.guards else self._loop(place)
        kind = _tf.CondContext if place.guards else _tf.WhileContext
        with inside(self.graph, outer):
            return kind(context_def=definition)

    def _loop(self, place: Place) -> Any:
        members = self._members[place]
        self._exit_everywhere(members)
        enters = [op for op in members if op.type in ENTERS]
        conditions = [op for op in self._of_frame(place.frame) if op.type == "LoopCond"]
        merges = [op for op in members if _places.is_loop_merge(op)]
        if len(conditions) != 1 or not merges:
            raise ControlFlowError(
                f"frame {place.frame[-1]!r} (Enter {enters[0].name!r}) has {len(conditions)} LoopCond ops and "
                f"{len(merges)} loop variables; wanted a loop as tf.while_loop builds it, with one and at least one"
            )
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

    def _exit_everywhere(self, members: list[tf.Operation]) -> None:
        """Give each loop variable an Exit: where pruning took one away, `tf.gradients` would pass the variable over."""
        for switch in [op for op in members if _places.is_loop_switch(op)]:
            if not any(op.type in EXITS for op in switch.outputs[0].consumers()):
                with inside(self.graph, None):
                    members.append(tf.raw_ops.Exit(data=switch.outputs[0]).op)

    def _branch(self, place: Place) -> Any:
        guard = place.guards[-1]
        switches = [op for op in self._members[place] if _places.is_branch_switch(op)]
        pivots = _pivot_switches(self.graph.get_tensor_by_name(guard.pred))
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
        """The definition, told which tensors live inside and by which tensor each outside one is known there."""
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


def _pivot_switches(predicate: tf.Tensor) -> list[tf.Operation]:
    """The Switch of a predicate by itself, from which `tf.cond` makes the pivots of its branches."""
    return [op for op in predicate.consumers() if _places.is_branch_switch(op) and _is_pivot_switch(op)]


def _is_pivot_switch(op: tf.Operation) -> bool:
    return _places.source(op.inputs[0]) is _places.source(op.inputs[1])
