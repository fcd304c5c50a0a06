"""Compressed products in the graph, and the entries of the matrix read from them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._jacobians._linear_maps import Columns, LinearMap, Rows
from .._jacobians._sweep import sweep
from .._problem import Problem
from ._coloring import Coloring


def entries(problem: Problem, coloring: Coloring, *, block_size: int | None, turned: bool = False) -> tf.Tensor:
    """The entries of dy/dx in the order of the pattern, shape [nnz].

    Args:
      problem: ys and xs.
      coloring: which products to take.
      block_size: how many products are vectorised at a time.
      turned: whether the matrix is its own transpose and rows are the cheaper products.
    """
    ys, xs = problem.ys, problem.xs
    dtype = _common(ys)
    if coloring.matrix.nnz == 0:
        return tf.zeros([0], dtype)
    (by_columns, by_rows), parts = coloring.counts, []
    if by_columns and turned:
        linear = Rows(problem).flat(by_columns, seeds(coloring.columns, ys))
        parts.append(_joined(linear, (block_size, "compressed products", dtype)))
    elif by_columns:
        forward = Columns(problem).flat(by_columns, seeds(coloring.columns, xs))
        parts.append(_joined(forward, (block_size, "compressed columns", dtype)))
    if by_rows:
        linear = Rows(problem).flat(by_rows, seeds(coloring.rows, ys))
        parts.append(_joined(linear, (block_size, "compressed rows", dtype)))
    if not all(p is not None for p in parts):  # no path at all
        return tf.zeros([coloring.matrix.nnz], dtype)
    products = tf.concat(parts, 0) if len(parts) > 1 else parts[0]
    small = coloring.sources.max(initial=0) < 2**31
    return tf.gather(products, tf.constant(coloring.sources.astype(np.int32 if small else np.int64)))


def _joined(linear: LinearMap | None, how) -> tf.Tensor | None:
    """The results of all products, those of one product after those of another, as one vector."""
    block_size, label, dtype = how
    if linear is None:
        return None
    found = sweep(linear, block_size, label)
    if all(f is None for f in found):
        return None
    flat = []
    for f, space in zip(found, linear.targets, strict=True):
        stacked = space.zeros(linear.count) if f is None else f
        flat.append(tf.cast(tf.reshape(stacked, [linear.count, space.size]), dtype))
    return tf.reshape(tf.concat(flat, 1) if len(flat) > 1 else flat[0], [-1])


def seeds(colors: np.ndarray, likes: Sequence[Any]) -> Callable[[tf.Tensor], tf.Tensor]:
    """From the numbers of products to their vectors: ones where the colour is that number."""
    dtype = _common(likes)

    def vectors(indices: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.equal(indices[:, tf.newaxis], tf.constant(colors)[tf.newaxis]), dtype)

    return vectors


def _common(likes: Sequence[Any]) -> tf.DType:
    """The dtype that holds the numbers of all."""
    dtypes = {tf.as_dtype(t.dtype).base_dtype for t in likes}
    if len(dtypes) == 1:
        return dtypes.pop()
    return tf.as_dtype(np.result_type(*(np.float32 if d == tf.bfloat16 else d.as_numpy_dtype for d in dtypes)))
