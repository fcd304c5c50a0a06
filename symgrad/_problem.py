"""What every operator does with its arguments before the mathematics."""

import contextlib
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tensors, _tf, rules
from ._control_flow import place_for

_DISCONNECTED = ("raise", "zero", "none")


def check_disconnected(disconnected: str) -> None:
    """Refuse a value that is none of the three."""
    if disconnected not in _DISCONNECTED:
        raise ValueError(f"disconnected={disconnected!r}; wanted one of {', '.join(map(repr, _DISCONNECTED))}")


class Call(contextlib.AbstractContextManager):
    """The checked arguments of one call of an operator; inside the block ops go to the graph of ys, under `name`.

    Attributes:
      ys: the leaves of ys as dense tensors.
      xs: the leaves of xs.
      stop: the tensors behind which no path continues.

    Inside of a V1 loop or branch the ops go where derivatives with `vectors` can be built.
    """

    def __init__(self, ys: Any, xs: Any, stop_gradients: Any, disconnected: str, name: str, vectors: Any = None):
        check_disconnected(disconnected)
        self._given = (ys, xs, stop_gradients)
        self._vectors = vectors
        self._name = name
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> "Call":
        ys, xs, stop = self._given
        with contextlib.ExitStack() as exits:
            graph = _tensors.building_graph(_tensors.symbolic(ys))
            exits.enter_context(graph.as_default())
            exits.enter_context(tf.name_scope(self._name))
            self.ys = _tensors.outputs(ys)
            self.xs = _tensors.inputs(xs, graph)
            self.stop = _tensors.stops(stop, graph)
            if graph._get_control_flow_context() is not None or isinstance(graph, _tf.FuncGraph):
                ops = rules.between(self.ys, self.tensors, self.stop).ops
                given = [*self.ys, *self.tensors, *_tensors.symbolic_leaves(self._vectors)]
                exits.enter_context(place_for(graph, ops, given))
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._exits.__exit__(*error)

    @property
    def tensors(self) -> list[tf.Tensor]:
        """What gradients are taken with respect to."""
        return [x.tensor for x in self.xs]

    @staticmethod
    def shaped(found: Sequence[tf.Tensor | None], likes: Sequence[Any]) -> list[Any]:
        """The results, each knowing what is known of its static shape."""
        for result, like in zip(found, likes):
            if result is not None:
                result.set_shape(like.shape)
        return list(found)
