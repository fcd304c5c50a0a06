"""Evaluate tensors in one session with some xs moved away from where they are."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors

# Relative to the size of the result: what rounding and the cubic term leave of a central difference, with a margin.
TOLERANCE = {tf.float64: 1e-6, tf.complex128: 1e-6, tf.float32: 1e-2, tf.complex64: 1e-2}
_COARSEST = 1e-1

Moved = Sequence[tuple[_tensors.Input, np.ndarray]]


class Probe:
    """The leaves of ys and xs, and a session in which they have values.

    Without a session it takes the default one, or opens one of its own in which the variables are initialised.
    """

    def __init__(self, ys: Any, xs: Any, session: tf.Session | None, feed_dict: dict[Any, Any] | None):
        leaves = _tensors.symbolic(ys)
        self.graph = _tensors.building_graph(leaves)
        with self.graph.as_default():
            self.ys = _tensors.outputs(ys)
            self.xs = _tensors.inputs(xs, self.graph)
            self._values = [x.value() for x in self.xs]
        self.feeds = dict(feed_dict or {})
        given = session or tf.get_default_session()
        if given is not None:
            _tensors.check_session(given, self.graph)
        self.session = given or self._own_session()

    def _own_session(self) -> tf.Session:
        with self.graph.as_default():
            session = tf.Session(graph=self.graph, config=_as_built())
            session.run([v.initializer for v in tf.global_variables()])
        return session

    def run(self, fetches: Any, moved: Moved = ()) -> Any:
        """The values of `fetches` with each x of `moved` at the value beside it."""
        feeds = dict(self.feeds)
        variables = [(x.given, value) for x, value in moved if _tensors.is_variable(x.given)]
        feeds.update((x.tensor, value) for x, value in moved if not _tensors.is_variable(x.given))
        with self._assigned(variables):
            return self.session.run(fetches, feeds)

    def points(self) -> list[np.ndarray]:
        """Where the xs are."""
        return self.session.run(self._values, self.feeds)

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the ys."""
        return [np.shape(y) for y in self.session.run(self.ys, self.feeds)]

    @contextlib.contextmanager
    def _assigned(self, variables: Sequence[tuple[tf.Variable, np.ndarray]]) -> Iterator[None]:
        """Variables at other values, assigned through their initializers: that adds no op."""
        before = self.session.run([v for v, _ in variables], self.feeds)
        try:
            for variable, value in variables:
                self._assign(variable, value)
            yield
        finally:
            for (variable, _), value in zip(variables, before, strict=True):
                self._assign(variable, value)

    def _assign(self, variable: tf.Variable, value: np.ndarray) -> None:
        self.session.run(variable.initializer, {variable.initializer.inputs[1]: value})


def _as_built() -> tf.ConfigProto:
    """A session that runs graphs as they are: a check runs each a few times, and optimising it would take longer."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def tolerance(dtypes: Sequence[tf.DType]) -> float:
    """The tolerance of the coarsest of the dtypes."""
    return max(TOLERANCE.get(dtype.base_dtype, _COARSEST) for dtype in dtypes)


def step(point: np.ndarray) -> float:
    """The step of a central difference: the cube root of the precision balances rounding against the cubic term."""
    return float(np.cbrt(np.finfo(point.dtype).eps)) * max(1.0, float(np.max(np.abs(point), initial=0.0)))


def random_like(shape: Sequence[int], dtype: tf.DType, rng: np.random.Generator) -> np.ndarray:
    """Standard normal numbers, complex if the dtype is."""
    numbers = rng.standard_normal(shape)
    if dtype.is_complex:
        numbers = numbers + 1j * rng.standard_normal(shape)
    return np.asarray(numbers).astype(dtype.base_dtype.as_numpy_dtype)


def inner(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> float:
    """The real inner product Re sum conj(a) b, in double precision."""
    return float(sum(np.vdot(_wide(p), _wide(q)).real for p, q in zip(a, b, strict=True)))


def _wide(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.complex128 if np.iscomplexobj(array) else np.float64)
