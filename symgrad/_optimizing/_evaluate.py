"""Evaluate a graph at points of a vector of variables: one session call a point, none for the same point again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._session_callable import SessionCallable
from ..errors import OptimizerError
from ._vector import Vector

Feeds = Mapping[Any, Any]


class Evaluator:
    """The tensors of one problem, in a session, as functions of the vector.

    Args:
      vector: the variables.
      tensors: what to evaluate at every point, by name; all of them come from one call.
      session: the session; by default the default one.
      feed_dict: what to feed, or a function of the number of the iteration that gives it.
      run_kwargs: `options` and `run_metadata` for `session.run`.
    """

    def __init__(
        self, vector: Vector, tensors: dict[str, Any], session: Any, feed_dict: Any, run_kwargs: dict[str, Any]
    ):
        self.vector = vector
        self.session = session or tf.get_default_session()
        if self.session is None:
            raise OptimizerError(
                "minimize needs a session, and there is no default one; call minimize(session), or call it under `with "
                "session:`"
            )
        self._tensors = tensors
        self._feed_of: Callable[[int], Feeds] = feed_dict if callable(feed_dict) else lambda step: feed_dict or {}
        self._run_kwargs = run_kwargs
        self._callables: dict[Any, SessionCallable] = {}
        self._feeds_change = callable(feed_dict)
        self.iteration = 0
        self.offset = 0.0
        self.evaluations = 0
        self._feeds = self._feed_of(0)
        self._at: bytes | None = None
        self._held: bytes | None = None
        self._values: dict[str, Any] = {}
        self._on_evaluation: Callable[[np.ndarray, dict[str, Any]], None] = lambda x, values: None

    def watch(self, on_evaluation: Callable[[np.ndarray, dict[str, Any]], None]) -> None:
        """Call a function with the vector and the values after each evaluation."""
        self._on_evaluation = on_evaluation

    def start(self) -> np.ndarray:
        """The vector as the variables hold it now."""
        return self.session.run(self.vector.value)

    def next_iteration(self, x: np.ndarray) -> None:
        """Go to the next feeds, at a point.

        SciPy keeps the loss of that point and compares the next line search with it, which has another batch. So the
        losses of the new feeds are counted from there: `offset` is what to add to them.
        """
        self.iteration += 1
        feeds = self._feed_of(self.iteration)
        if feeds is self._feeds or not self._feeds_change:
            return
        before = self("loss", x)
        self._feeds, self._at = feeds, None
        self.offset += float(before - self("loss", x))

    def assign(self, x: np.ndarray) -> None:
        """Give the variables the values in x."""
        if self._held != x.tobytes():
            self._held = None
            self._run(self.vector.assign, {self.vector.given: x})
            self._held = x.tobytes()

    def __call__(self, name: str, x: np.ndarray) -> Any:
        """The value of one of the tensors at x."""
        x = np.asarray(x, np.float64)
        if self._at != x.tobytes():
            self.assign(x)
            self._values = self._run(self._tensors, {})
            self.evaluations += 1
            self._at = x.tobytes()
            self._on_evaluation(x, self._values)
        return self._values[name]

    def product(self, tensor: tf.Tensor, x: np.ndarray, extra: Feeds) -> np.ndarray:
        """A tensor that wants more fed, such as a Hessian-vector product, at x."""
        self.assign(np.asarray(x, np.float64))
        return self._run(tensor, extra)

    def _run(self, fetches: Any, extra: Feeds) -> Any:
        feeds = {**self._feeds, **extra}
        if (
            self._run_kwargs
            or not isinstance(self.session, (tf.Session, tf.InteractiveSession))
            or _odd(fetches, feeds)
        ):
            return self.session.run(fetches, feeds, **self._run_kwargs)
        key = id(fetches), tuple(feeds)
        if key not in self._callables:
            self._callables[key] = SessionCallable(self.session, fetches, list(feeds))
        return self._callables[key](feeds.values())


def _odd(fetches: Any, feeds: Feeds) -> bool:
    """Whether only `session.run` knows what to do: feeds of sparse tensors, and fetches of what is fed."""
    fetched = {id(fetch) for fetch in tf.nest.flatten(fetches, expand_composites=False)}
    return any(isinstance(key, tf.SparseTensor) or id(key) in fetched for key in feeds)


def real_vector(values: Sequence[Any]) -> tf.Tensor:
    """Scalars and tensors as one float64 vector, such as the residuals of several constraints."""
    flat = [tf.cast(tf.reshape(v, [-1]), tf.float64) for v in values]
    return flat[0] if len(flat) == 1 else tf.concat(flat, 0)
