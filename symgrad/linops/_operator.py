"""A matrix of a graph whose product with a block of vectors is one run of a session for each batch of data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from scipy.sparse.linalg import LinearOperator

from .._flat import Flat
from .._jacobians import _limits
from .._session_callable import SessionCallable
from ._data import Data, default_session
from ._products import Stack, say_single

# Builds the product with vectors [K, width], or one [width] if the stack is None.
Build = Callable[[tf.Tensor, Stack], tf.Tensor]

# So many vectors at a time run fastest on a processor; more of them leave its caches (measured with 55,210 weights).
_BEST_BLOCK = 16


class Product:
    """One side of an operator: the ops that multiply a block of vectors, built when they are first wanted.

    Args:
      name: of the operator, for messages.
      build: builds the product.
      width: how long a vector is; None if only the session knows.
      dtype: of the vectors.
      stacks: whether many vectors can go at once.
    """

    def __init__(self, name: str, build: Build, *, width: int | None, dtype: tf.DType, stacks: bool):
        self._name, self._build, self._width, self._dtype, self.stacks = name, build, width, dtype, stacks
        self._graph = tf.get_default_graph()
        self._built: dict[bool, tuple[tf.Tensor, tf.Tensor]] = {}

    def of(self, vectors: int) -> tuple[tf.Tensor, tf.Tensor]:
        """(placeholder, product) for one vector, or for a block of them."""
        many = self.stacks and vectors > 1
        if many not in self._built:
            with self._graph.as_default(), tf.control_dependencies(None), tf.name_scope(self._name):
                self._built[many] = self._many() if many else self._one()
        return self._built[many] if many in self._built else self._built[False]

    def _one(self) -> tuple[tf.Tensor, tf.Tensor]:
        vector = tf.placeholder(self._dtype, [self._width], name="vector")
        return vector, self._build(vector, None)

    def _many(self) -> tuple[tf.Tensor, tf.Tensor]:
        block = tf.placeholder(self._dtype, [None, self._width], name="block")
        try:
            return block, self._build(block, tf.shape(block)[0])
        except (ValueError, NotImplementedError) as error:  # what strict_pfor and the errors of ours derive from
            say_single(self._name, error)
            self.stacks = False
            return self._one()


class GraphOperator(LinearOperator):
    """A matrix of a graph as a `scipy.sparse.linalg.LinearOperator`: `@`, `.T`, sums, `eigsh`, `cg`, `lsmr` work on it.

    Variables are read at each product, so the operator follows them. Sums over batches are taken in float64.

    Attributes:
      graph: the graph.
      runs: how often a session has run.
    """

    def __init__(self, shape: tuple[int, int], flat: Flat, data: Data, *, session: Any, block_size: int | None):
        super().__init__(np.float64, shape)
        self._flat, self._data = flat, data
        self._session = default_session(session)
        self._block_size = block_size or max(1, min(_BEST_BLOCK, _limits.current().block_bytes // (8 * flat.size or 1)))
        self._callables: dict[Any, SessionCallable] = {}
        self._batch_number: tf.Tensor | None = None
        self._ways: dict[str, Product] = {}
        self.graph = tf.get_default_graph()
        self.runs = 0

    @property
    def results(self) -> list[tf.Tensor]:
        """The tensors that products are computed by, so far."""
        return [result for way in self._ways.values() for _, result in way._built.values()]

    def pack(self, arrays: Sequence[Any]) -> np.ndarray:
        """Arrays of the shapes of xs as one vector of float64, shape [columns]."""
        return np.concatenate([np.ravel(np.asarray(a, np.float64)) for a in arrays])

    def unpack(self, vector: np.ndarray) -> list[np.ndarray]:
        """A vector of shape [columns] as arrays of the shapes and dtypes of xs."""
        return self._flat.arrays(np.asarray(vector))

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.reshape(x, [-1, 1]))[:, 0]

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._rmatmat(np.reshape(x, [-1, 1]))[:, 0]

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._summed("forward", X)

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:  # the matrices here are symmetric, but for Jacobians
        return self._matmat(X)

    def _blocks(self, way: str, X: np.ndarray) -> list[np.ndarray]:
        product = self._ways[way]
        product.of(X.shape[1])  # finds out whether it stacks
        size = self._block_size if product.stacks else 1
        rows = np.ascontiguousarray(np.asarray(X).T)
        return [rows[i : i + size] for i in range(0, len(rows), size)]

    def _summed(self, way: str, X: np.ndarray) -> np.ndarray:
        if X.shape[1] == 0:
            return np.zeros((self.shape[0], 0))
        blocks = self._blocks(way, X)
        found: list[Any] = [0.0] * len(blocks)
        total = 0.0
        for number, feeds in enumerate(self._data.feeds()):
            weight = self._data.weight(feeds)
            total += weight
            for i, block in enumerate(blocks):
                found[i] = found[i] + weight * self._multiplied(way, block, feeds, number)
        if total == 0.0:
            raise ValueError("batches gave no batch; wanted at least one feed_dict")
        scale = total if self._data.batches is not None and self._data.reduction == "mean" else 1.0
        return np.concatenate(found).T / scale

    def _multiplied(self, way: str, block: np.ndarray, feeds: dict[Any, Any], number: int) -> np.ndarray:
        """The products with the rows of `block`, as rows of float64."""
        placeholder, result = self._ways[way].of(len(block))
        given = block if placeholder.shape.rank == 2 else block[0]
        extra = {placeholder: given}
        if self._batch_number is not None:
            extra[self._batch_number] = number
        found = self._run(result, {**feeds, **extra}).astype(np.float64)
        return found if placeholder.shape.rank == 2 else found[np.newaxis]

    def _run(self, fetch: tf.Tensor, feeds: dict[Any, Any]) -> np.ndarray:
        self.runs += 1
        if not isinstance(self._session, (tf.Session, tf.InteractiveSession)):
            return self._session.run(fetch, feeds)
        key = fetch.name, tuple(getattr(feed, "name", feed) for feed in feeds)
        if key not in self._callables:
            self._callables[key] = SessionCallable(self._session, fetch, list(feeds))
        return self._callables[key](feeds.values())
