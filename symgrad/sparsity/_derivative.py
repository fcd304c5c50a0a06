"""The entries of a sparse Jacobian or Hessian, in the graph and as SciPy matrices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import tensorflow.compat.v1 as tf

from .. import _tensors
from ..errors import PatternError
from ._coloring import Coloring
from ._pattern import Pattern
from ._verify import require_explained, residual_of, tolerance


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a sparse derivative is made of.

    Attributes:
      detect: from session and feed_dict to the pattern.
      entries: from a colouring to the tensor of the entries.
      product: from flat random numbers for all xs to the product of the true derivative with them, flat; None if zero.
      rehearse: refuses what the entries would, before anything is built.
      graph: where the tensors are made.
      ys, xs: the rows and the columns, for messages and shapes.
      symmetric: whether it is a Hessian.
    """

    detect: Callable[[Any, Any], Pattern]
    entries: Callable[[Coloring], tf.Tensor]
    product: Callable[[np.ndarray], tf.Tensor | None]
    rehearse: Callable[[], None]
    graph: tf.Graph
    ys: Sequence[Any]
    xs: Sequence[_tensors.Input]
    symmetric: bool


class SparseDerivative:
    """A Jacobian or Hessian of which only the entries of a pattern are computed.

    `sparse_jacobian` and `sparse_hessian` make it.
    """

    def __init__(self, recipe: Recipe, given: Any, check: bool):
        self._recipe, self._check = recipe, check
        self._users = given is not None
        self._built: dict[Any, _Built] = {}
        self._coarse: tuple = ()
        if given is not None:
            self._built[None] = self._build(given)
        elif all(tf.TensorShape(t.shape).is_fully_defined() for t in (*recipe.ys, *recipe.xs)):
            self._built[None] = self._build(recipe.detect(None, None))

    def _build(self, given: Any) -> _Built:
        recipe = self._recipe
        coarse = given.coarse if isinstance(given, Pattern) else ()
        coloring = given if isinstance(given, Coloring) else Coloring(given, symmetric=recipe.symmetric)
        self._require_shape(coloring.matrix.shape)
        if self._users:
            recipe.rehearse()  # what finds a pattern has done so
        with recipe.graph.as_default():
            values = recipe.entries(coloring)
            values.set_shape([coloring.matrix.nnz])
            numbers = np.random.default_rng(7).uniform(1, 2, coloring.matrix.shape[1])
            product = recipe.product(numbers) if self._users or self._check else None
            checked = self._asserted(coloring, values, numbers, product) if self._check else values
        return _Built(coloring, values, checked, numbers, product, coarse)

    def _asserted(self, coloring, values, numbers, product) -> tf.Tensor:
        wrong = residual_of(coloring, values, numbers, product)
        limit = tolerance((*self._recipe.ys, *self._recipe.xs))
        text = "the pattern of the sparse derivative misses an entry; .run(session) says in which row"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(wrong <= limit), [text], name="check")]):
            return tf.identity(values)

    def _require_shape(self, shape) -> None:
        for wanted, got, what in zip((self._recipe.ys, self._recipe.xs), shape, ("rows", "columns"), strict=True):
            sizes = [tf.TensorShape(t.shape).num_elements() for t in wanted]
            if None not in sizes and sum(sizes) != got:
                raise PatternError(
                    f"the pattern has shape {tuple(shape)}, and the derivative has {sum(sizes)} {what}: it belongs to "
                    "other ys or xs"
                )

    @property
    def coloring(self) -> Coloring:
        """The products that it is computed from."""
        return self._known().coloring

    @property
    def values(self) -> tf.Tensor:
        """The entries, shape [nnz], in the order of `coloring.matrix`; only `check=True` checks them."""
        return self._known().checked

    def tensor(self) -> tf.SparseTensor:
        """The matrix in the graph, [size of ys, size of xs], in row-major order."""
        built = self._known()
        places = built.coloring.matrix.tocoo()
        indices = np.stack(places.coords, 1).astype(np.int64)
        with built.values.graph.as_default():
            return tf.SparseTensor(tf.constant(indices), built.checked, np.asarray(places.shape, np.int64))

    def _known(self) -> _Built:
        if None not in self._built:
            unknown = [t.name if hasattr(t, "name") else t.label for t in (*self._recipe.ys, *self._recipe.xs)]
            raise PatternError(
                f"the shapes of {', '.join(unknown)} are not all known, so there is no pattern yet: use .run(session, "
                "feed_dict), or give pattern=symgrad.sparsity.pattern(ys, xs, session=..., feed_dict=...)"
            )
        return self._built[None]

    def run(self, session: tf.Session, feed_dict: dict | None = None) -> sp.csr_array:
        """The matrix as a `scipy.sparse.csr_array`.

        The first run of a pattern or colouring of the user's is checked by one more product; with `check=True` every
        run is. Where shapes are not known before, the first run with some shapes finds the pattern and builds.

        Raises:
          PatternError: the pattern misses an entry; the message names the row.
        """
        built = self._for(session, feed_dict)
        matrix = built.coloring.matrix
        if self._check or (self._users and not built.trusted):
            fetched = [built.values] if built.product is None else [built.values, built.product]
            values, *product = session.run(fetched, feed_dict)
            pushed = product[0] if product else np.zeros(matrix.shape[0], values.dtype)
            require_explained(matrix, values, (built.numbers, pushed), self._recipe)
            built.trusted = True
        else:
            values = session.run(built.values, feed_dict)
        return sp.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)

    def _for(self, session, feed_dict) -> _Built:
        if None in self._built:
            return self._built[None]
        key = tuple(sorted((getattr(k, "name", str(k)), np.shape(v)) for k, v in (feed_dict or {}).items()))
        if key not in self._built:
            self._built[key] = self._build(self._recipe.detect(session, feed_dict))
        return self._built[key]


@dataclasses.dataclass
class _Built:
    """The tensors for one pattern.

    Attributes:
      coloring: the products.
      values: the entries.
      checked: the same, which stop a run if the pattern misses one and that was asked for.
      numbers: a random vector.
      product: the derivative times that vector.
      coarse: ops where the pattern is dense.
      trusted: whether a run has been checked.
    """

    coloring: Coloring
    values: tf.Tensor
    checked: tf.Tensor
    numbers: np.ndarray
    product: tf.Tensor | None
    coarse: tuple
    trusted: bool = False
