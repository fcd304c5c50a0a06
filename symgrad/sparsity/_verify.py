"""Whether a pattern explains a derivative: its product with a random vector, row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from ..errors import PatternError
from ._coloring import Coloring


def tolerance(tensors: Sequence[Any]) -> float:
    """How far two ways of adding up a row may differ, relative to the sum of the sizes of its terms.

    Args:
      tensors: all ys and xs; the least precise of their dtypes counts.
    """
    return 1e3 * max(_eps(tf.as_dtype(t.dtype).base_dtype.real_dtype) for t in tensors)


def _eps(dtype: tf.DType) -> float:
    return 2.0**-7 if dtype == tf.bfloat16 else float(np.finfo(dtype.as_numpy_dtype).eps)


def require_explained(matrix: Any, values: np.ndarray, product: Any, recipe: Any) -> None:
    """Raise PatternError if the entries times a random vector are not what the derivative times it is.

    Args:
      matrix: the pattern.
      values: the entries.
      product: the random vector, and the derivative times it.
      recipe: has the ys and xs.
    """
    numbers, pushed = product
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    terms = values * numbers[matrix.indices]
    given = np.zeros(matrix.shape[0], terms.dtype)
    np.add.at(given, rows, terms)
    size = np.bincount(rows, np.abs(terms), matrix.shape[0]) + np.abs(pushed)
    with np.errstate(invalid="ignore"):
        wrong = np.where(np.isfinite(pushed), np.abs(given - pushed), 0) / np.where(size == 0, 1, size)
    bad = np.flatnonzero(~(wrong <= tolerance((*recipe.ys, *recipe.xs))))
    if len(bad):
        worst = int(bad[np.argmax(wrong[bad])])
        raise PatternError(
            f"the pattern misses an entry in row {worst}, that is {described(recipe.ys, worst)} ({len(bad)} such "
            "rows): the derivative "
            f"times a random vector differs from the entries times it by {wrong[worst]:.1e} of their size. Find the "
            "pattern by symgrad.sparsity.pattern, or add the entry"
        )


def residual_of(coloring: Coloring, values: tf.Tensor, numbers: np.ndarray, product: tf.Tensor | None) -> tf.Tensor:
    """The same in the graph: for each row how far both are apart, relative."""
    matrix = coloring.matrix
    m = matrix.shape[0]
    rows = tf.constant(np.repeat(np.arange(m, dtype=np.int32), np.diff(matrix.indptr)))
    terms = values * tf.constant(numbers[matrix.indices], values.dtype)
    pushed = tf.zeros([m], values.dtype) if product is None else product
    given = tf.math.unsorted_segment_sum(terms, rows, m)
    size = tf.math.unsorted_segment_sum(tf.abs(terms), rows, m) + tf.abs(pushed)
    apart = tf.math.divide_no_nan(tf.abs(given - pushed), size)
    return tf.where_v2(tf.math.is_finite(tf.abs(pushed)), apart, tf.zeros_like(apart))


def described(ys: Sequence[Any], row: int) -> str:
    """The element of ys that a row belongs to, as 'name[i, j]'."""
    for y in ys:
        shape = tf.TensorShape(y.shape)
        size = shape.num_elements()
        label = getattr(y, "label", None) or y.name
        if size is None:
            return f"element {row} of ys"
        if row < size:
            place = ", ".join(map(str, np.unravel_index(row, shape.as_list()))) if shape.rank else ""
            return f"{label}[{place}]"
        row -= size
    return f"element {row} of ys"
