"""Back from a result that is not finite, along what is not finite, to the ops where it began."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._op_types import ENTERS, EXITS, NEXT_ITERATIONS, VARIABLES
from ._iterations import LAST, Iterations, any_of, begins, goes_on, matching, previous
from ._nan_causes import Birth
from ._private_run import PrivateRun
from ._record import Sample
from ._scope import Place, Scope

# Where the walk is: a place, and the iterations of the loops around it (around its output, for an op on a loop's edge).
At = tuple[Scope, Place, Iterations]


@dataclass(frozen=True)
class Origin:
    """One op where it began, or where infinities became NaN.

    Attributes:
      scope, node: where and which.
      birth: how.
      path: names of the ops from here to the result.
      sample: what one execution of it saw; None for what was fed, variables and constants.
      values: of what was fed, a variable or a constant.
    """

    scope: Scope
    node: str
    birth: Birth
    path: tuple[str, ...]
    sample: Sample | None = None
    values: Any = None


class Trace:
    """The walk back from one result.

    It goes by what was recorded and not by the time at which ops ran: they run in parallel, so the first op that gave a
    NaN in a step may be of another branch of the graph. And it goes by the same iteration of each loop, or the one
    before where a value comes round: the iteration next to it may have been finite.

    Attributes:
      origins: what was found.
      turned: the ops met on the way that made NaN of infinities.
    """

    def __init__(self, run: PrivateRun, start: Iterable[Place]):
        self.run = run
        self.origins: list[Origin] = []
        self.turned: list[Origin] = []
        self._frames = run.instrumented.frames
        self._handles: dict[Scope, dict[str, list[str]]] = {}
        self._after: dict[At, At | None] = {}
        for name, index in start:
            is_exit = run.instrumented.root.nodes[str(name)].op in EXITS  # its output is outside of its loop
            depth = len(self._frames.get(str(name), ())) - is_exit
            self._after[run.instrumented.root, (name, index), any_of(depth)] = None
        todo = deque(self._after)
        while todo:
            at = todo.popleft()
            for before in self._before(at):
                if before not in self._after:
                    self._after[before] = at
                    todo.append(before)

    def _before(self, at: At) -> Iterator[At]:
        """Where the values at a place come from, as far as they are not finite."""
        scope, (name, index), iterations = at
        if name is None:
            yield from _argument(scope, index, iterations)
        elif scope.children.get(name):
            yield from _result(scope, name, index, iterations)
        elif (scope, name) in self.run.instrumented.probes:
            yield from self._probed(at, name, index)
        elif scope.parent is None and f"{name}:{index}" in self.run.given:
            self._given(at, Birth.FED, self.run.given[f"{name}:{index}"])
        else:
            yield from self._transparent(at, name)

    def _probed(self, at: At, name: str, index: int) -> Iterator[At]:
        scope, _, iterations = at
        inputs = scope.inputs(name)
        handles = [place for place in inputs if scope.output(place).is_handle]
        executions = self.run.instrumented.probes[scope, name].executions
        for iteration in matching(executions, iterations):
            execution = executions[iteration]
            if index not in execution.outputs:
                continue
            if not execution.carried and not handles:
                nan = any(map(np.isnan, execution.sample.values))
                self._found(at, Birth.NAN if nan else Birth.INFINITY, execution.sample)
            elif execution.makes_nan:
                self._found(at, Birth.MIXED, execution.sample)
            yield from ((scope, inputs[i], iteration) for i in sorted(execution.carried))
            yield from ((scope, handle, any_of(len(iteration))) for handle in handles)

    def _transparent(self, at: At, name: str) -> Iterator[At]:
        """Through an op without a probe: to all it reads, and from a container to what is written into it."""
        scope, _, iterations = at
        node = scope.nodes[name]
        if node.op == "Const":
            self._given(at, Birth.CONSTANT, tf.make_ndarray(node.attr["value"].tensor))
        elif scope.parent is None and node.op in VARIABLES and name in self.run.variables:
            self._given(at, Birth.VARIABLE, self.run.variables[name])
        makes_handle = any(output.is_handle for output in scope.outputs(name))
        for place, there in self._moved(scope, node, any_of(len(iterations)) if makes_handle else iterations):
            if scope.output(place).is_floating or scope.output(place).is_handle:
                yield scope, place, there
        for reader in self._takers(scope, name) if makes_handle else ():
            there = any_of(len(self._frames.get(reader, ())) if scope.parent is None else len(iterations))
            yield from ((scope, place, there) for place in scope.inputs(reader) if scope.output(place).is_floating)

    def _moved(self, scope: Scope, node: Any, iterations: Iterations) -> Iterator[tuple[Place, Iterations]]:
        """What an op of V1 control flow, or any other, reads, and in which iteration."""
        inputs = scope.inputs(node.name)
        if node.op in ENTERS:
            yield from ((place, iterations[:-1]) for place in inputs)
        elif node.op in EXITS:
            yield from ((place, (*iterations, LAST)) for place in inputs)
        elif node.op in NEXT_ITERATIONS:
            yield from ((place, previous(iterations)) for place in inputs)
        elif any(_op(scope, place) in NEXT_ITERATIONS for place in inputs):
            for place in inputs:
                is_back = _op(scope, place) in NEXT_ITERATIONS
                if goes_on(iterations) if is_back else begins(iterations):
                    yield place, iterations
        else:
            yield from ((place, iterations) for place in inputs)

    def _found(self, at: At, birth: Birth, sample: Sample | None = None, values: Any = None) -> None:
        origin = Origin(at[0], str(at[1][0]), birth, self._path(at), sample, values)
        (self.turned if birth is Birth.MIXED else self.origins).append(origin)

    def _given(self, at: At, birth: Birth, values: Any) -> None:
        values = np.asarray(values)
        is_number = np.issubdtype(values.dtype, np.number) or values.dtype.kind == "V"  # V: bfloat16
        if is_number and not np.isfinite(values).all():
            self._found(at, birth, values=values)

    def _path(self, at: At | None) -> tuple[str, ...]:
        """The names of the ops from a place to the result."""
        names: list[str] = []
        while at is not None:
            scope, (name, _), _ = at
            name = scope.call if name is None else name
            if not names or names[-1] != name:
                names.append(name)
            at = self._after[at]
        return tuple(names)

    def _takers(self, scope: Scope, name: str) -> Iterator[str]:
        """The ops of the same scope that take the handle which an op makes, also by way of others."""
        if scope not in self._handles:
            self._handles[scope] = _takers_of_handles(scope)
        seen: set[str] = set()
        todo = [name]
        while todo:
            for taker in self._handles[scope].get(todo.pop(), ()):
                if taker not in seen:
                    seen.add(taker)
                    yield taker
                    todo.append(taker)


def _takers_of_handles(scope: Scope) -> dict[str, list[str]]:
    found = defaultdict(list)
    for taker in scope.nodes:
        for place in scope.inputs(taker):
            if place[0] is not None and scope.output(place).is_handle:
                found[place[0]].append(taker)
    return found


def _op(scope: Scope, place: Place) -> str:
    return "" if place[0] is None else scope.nodes[place[0]].op


def _argument(scope: Scope, index: int, iterations: Iterations) -> Iterator[At]:
    """What an argument of a body is: an input of the op that runs it, or what a loop's body gave before."""
    parent = scope.parent
    assert parent is not None
    is_loop = scope.kind in ("cond", "body")
    if not is_loop or begins(iterations):
        yield parent, parent.inputs(scope.call)[index + scope.offset], iterations[:-1] if is_loop else iterations
    for sibling in parent.children[scope.call]:
        if is_loop and sibling.kind == "body" and goes_on(iterations):
            yield sibling, sibling.results()[index], previous(iterations)


def _result(scope: Scope, name: str, index: int, iterations: Iterations) -> Iterator[At]:
    """What a loop, branch or call gives: what its body gave, or what a loop without an iteration began with."""
    for child in scope.children[name]:
        if child.kind == "body":
            yield scope, scope.inputs(name)[index], iterations
            yield child, child.results()[index], (*iterations, LAST)
        elif child.kind != "cond":
            yield child, child.results()[index], iterations
