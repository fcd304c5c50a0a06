"""What every operator does with its arguments before the mathematics: they become one problem."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import tensorflow.compat.v1 as tf

from . import _crossings, _tensors, _tf, _vectors, _walk, rules
from ._control_flow import place_for
from ._op_types import CALLING
from .errors import GraphMismatchError

Disconnected = Literal["raise", "zero", "none"]
_DISCONNECTED = get_args(Disconnected)


def check_disconnected(disconnected: str) -> None:
    """Refuse a value that is none of the three."""
    if disconnected not in _DISCONNECTED:
        raise ValueError(f"disconnected={disconnected!r}; wanted one of {', '.join(map(repr, _DISCONNECTED))}")


@dataclass(frozen=True, eq=False)
class Problem:
    """A derivative that is asked for: that of ys by xs.

    Attributes:
      ys: dense tensors.
      xs: what to differentiate with respect to.
      stop: the tensors behind which no path continues.
      within: the ops to look for paths among, where they are known; else all that ys are computed from.
    """

    ys: Sequence[tf.Tensor]
    xs: Sequence[_tensors.Input]
    stop: Sequence[tf.Tensor] = ()
    within: Iterable[tf.Operation] | None = None

    @cached_property
    def tensors(self) -> list[tf.Tensor]:
        """What gradients are taken with respect to."""
        return [x.tensor for x in self.xs]

    @cached_property
    def between(self) -> _walk.Between:
        """What lies on the paths from xs to ys, which are walked once, when this is first asked for."""
        found = rules.between(self.ys, self.tensors, self.stop, within=self.within)
        self._refuse_copied(found)
        return found

    def _refuse_copied(self, between: _walk.Between) -> None:
        """Raise for an x inside of what was compiled: ys depend on a copy of it."""
        for op in between.candidates:
            copied = _tf.copied_by(op) if op.type in CALLING else ()
            for x in self.xs if copied else ():
                if id(x.tensor) in copied:
                    raise GraphMismatchError(
                        f"{x.label} is inside of what {op.name!r} computes compiled, from a copy of it; give it there: "
                        f"symgrad.compiled(..., inputs=...)"
                    )

    @cached_property
    def crossings(self) -> _crossings.Crossings:
        """What loops and branches these paths cross."""
        return _crossings.crossings(self.between)

    def part(self, *, ys: Sequence[tf.Tensor] | None = None, xs: Sequence[_tensors.Input] | None = None) -> "Problem":
        """The problem of some of the ys or xs, or of tensors on the paths instead; only these paths are walked."""
        return Problem(self.ys if ys is None else ys, self.xs if xs is None else xs, self.stop, within=self.between.ops)

    def through(self, narrow: tf.Tensor) -> tuple["Problem", "Problem"]:
        """The problems of ys by a tensor that all paths cross, and of that tensor by xs."""
        return self.part(xs=_tensors.inputs([narrow], narrow.graph)), self.part(ys=[narrow])


@contextlib.contextmanager
def posed(
    ys: Any, xs: Any, stop_gradients: Any = None, *, disconnected: str, name: str, vectors: Any = None
) -> Iterator[Problem]:
    """The checked arguments of one call of an operator; inside the block ops go to the graph of ys, under `name`.

    Inside of a V1 loop or branch the ops go where derivatives with `vectors` can be built.
    """
    check_disconnected(disconnected)
    with contextlib.ExitStack() as exits:
        graph = _tensors.building_graph(_tensors.symbolic(ys))
        exits.enter_context(graph.as_default())
        exits.enter_context(tf.name_scope(name))
        problem = Problem(_tensors.outputs(ys), _tensors.inputs(xs, graph), _tensors.stops(stop_gradients, graph))
        if graph._get_control_flow_context() is not None or isinstance(graph, _tf.FuncGraph):
            given = [*problem.ys, *problem.tensors, *_vectors.symbolic_leaves(vectors)]
            exits.enter_context(place_for(graph, problem.between.ops, given))
        yield problem


def shaped(found: Sequence[tf.Tensor | None], likes: Sequence[Any]) -> list[Any]:
    """The results, each knowing what is known of its static shape."""
    for result, like in zip(found, likes, strict=True):
        if result is not None:
            result.set_shape(like.shape)
    return list(found)
