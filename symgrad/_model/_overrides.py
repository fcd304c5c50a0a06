"""`watch_overrides`: which gradient_override_maps have been in force, which a graph does not remember."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

_noted: "WeakKeyDictionary[Any, dict[tuple[str, str], None]]" = WeakKeyDictionary()


@contextmanager
def watch_overrides(graph: Any) -> Iterator[None]:
    """Note the keys of every `gradient_override_map` of a graph, so that `lint` can tell which have matched no op.

    TensorFlow marks the ops that a map matches and forgets the map.

    Args:
      graph: the `tf.Graph` that is built within.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g, symgrad.graph.watch_overrides(g):
      ...     with g.gradient_override_map({"relu": "GuidedRelu"}):
      ...         _ = tf.nn.relu(tf.zeros([2]))
      >>> print(symgrad.graph.lint(symgrad.graph.build(g))[0])
      relu: a key of gradient_override_map that matches no op: 'GuidedRelu' is no op's gradient; did you mean 'Relu'?
    """
    usual = graph.gradient_override_map
    noted = _noted.setdefault(graph, {})

    def noting(op_type_map: dict[str, str]) -> Any:
        noted.update(dict.fromkeys(op_type_map.items()))
        return usual(op_type_map)

    graph.gradient_override_map = noting
    try:
        yield
    finally:
        del graph.gradient_override_map


def noted_overrides(source: Any) -> list[tuple[str, str]]:
    """(op type, name of a gradient) of the maps of a live graph that were noted or are in force now."""
    import tensorflow.compat.v1 as tf

    from .._tf import active_overrides

    if not isinstance(source, tf.Graph):
        return []
    return list({**_noted.get(source, {}), **dict.fromkeys(active_overrides(source).items())})
