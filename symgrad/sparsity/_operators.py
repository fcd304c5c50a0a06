"""Sparse Jacobians and Hessians: checked arguments, and how their products are taken."""

import functools
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors
from .._jacobians._holomorphic import check_holomorphic
from .._jacobians._sizing import check_block_size
from .._keywords import operator
from .._problem import Problem, posed
from ..operators import Rop, hvp
from ..operators._disconnected import for_paths
from ..operators._hessian import first_derivatives, require_scalar
from ._derivative import Recipe, SparseDerivative
from ._pattern import hessian_pattern, rehearse
from ._pattern import pattern as find_pattern
from ._products import entries


@operator
def sparse_jacobian(
    ys: Any,
    xs: Any,
    *,
    pattern: Any = None,
    coloring: Any = None,
    block_size: int | None = None,
    check: bool = False,
    disconnected: str = "raise",
    name: str = "sparse_jacobian",
) -> SparseDerivative:
    """The Jacobian of all ys by all xs as one sparse matrix, from a few compressed products.

    Leaves are flattened in order: rows are the elements of ys, columns those of xs.

    Args:
      ys: tensor or structure of tensors.
      xs: tensor, variable or structure of them.
      pattern: a `symgrad.sparsity.Pattern` or SciPy sparse matrix of where the Jacobian may be other than zero; None
        finds it (`symgrad.sparsity.pattern`).
      coloring: a `symgrad.sparsity.Coloring`; None makes one of the pattern.
      block_size: how many products are vectorised at a time, as for `jacobian`.
      check: whether each run is held to one more product with a random vector, so that no missed entry passes. Without
        it only the first `run` of a pattern or colouring that was given is; `values` and `tensor()` are not.
      disconnected: what to do for an x that no y depends on and a y that depends on no x: "raise", or "zero" (as "none"
        is here: there is one matrix).
      name: scope of the new ops.

    Returns:
      A `SparseDerivative`: `.values` [nnz] and `.tensor()` in the graph, `.run(session, feed_dict)` a `csr_array`.

    Raises:
      PatternError: a pattern of another shape, an invalid colouring; from `run`, a missed entry.
      DisconnectedError, MissingRuleError, DtypeError, GraphMismatchError: as for `jacobian`.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> J = symgrad.sparse_jacobian(x[1:] * x[:-1], x)
      >>> with tf.Session() as session:
      ...     J.run(session).toarray()
      array([[2., 1., 0.],
             [0., 3., 2.]], dtype=float32)

    Reference: A. Curtis, M. Powell, J. Reid (1974), On the estimation of sparse Jacobian matrices, IMA Journal 13(1).
    """
    _check(pattern, coloring, block_size)
    with posed(ys, xs, disconnected=disconnected, name=name) as problem:
        for_paths(problem, disconnected)
        check_holomorphic(problem)

    def made(chosen):
        with tf.name_scope(name):
            return entries(problem, chosen, block_size=block_size)

    def product(numbers):
        given = [x.given for x in problem.xs]
        return _flat(Rop(problem.ys, given, _parts(numbers, problem.xs), disconnected="zero"))

    def detect(session, feed_dict):
        return find_pattern(problem.ys, [x.given for x in problem.xs], session=session, feed_dict=feed_dict)

    def rehearsed():
        rehearse(problem.ys, [x.given for x in problem.xs], hessian=False)

    recipe = Recipe(detect, made, product, rehearsed, problem.ys[0].graph, problem.ys, problem.xs, False)
    return SparseDerivative(recipe, pattern if coloring is None else coloring, check)


@operator
def sparse_hessian(
    y: Any,
    xs: Any,
    *,
    pattern: Any = None,
    coloring: Any = None,
    block_size: int | None = None,
    check: bool = False,
    disconnected: str = "raise",
    name: str = "sparse_hessian",
) -> SparseDerivative:
    """The Hessian of a scalar y by all xs as one sparse matrix, from a few products with it.

    Arguments, result and errors are those of `sparse_jacobian`; a `coloring` is to be made with `symmetric=True`.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> H = symgrad.sparse_hessian(tf.reduce_sum(x[1:] ** 2 * x[:-1]), x)
      >>> with tf.Session() as session:
      ...     H.run(session).toarray()
      array([[0., 4., 0.],
             [4., 2., 6.],
             [0., 6., 4.]], dtype=float32)
    """
    _check(pattern, coloring, block_size)
    with posed(y, xs, disconnected=disconnected, name=name) as problem:
        check_holomorphic(problem)
        require_scalar(problem.ys)
        for_paths(problem, disconnected)
        turned = not problem.crossings.v1_loops

    @functools.cache
    def second():
        found = first_derivatives(problem, "none")
        return Problem([x.zeros() if g is None else g for g, x in zip(found, problem.xs, strict=True)], problem.xs)

    def made(chosen):
        with tf.name_scope(name):
            return entries(second(), chosen, block_size=block_size, turned=turned and not chosen.counts[1])

    def product(numbers):
        given = [x.given for x in problem.xs]
        return _flat(hvp(problem.ys[0], given, _parts(numbers, problem.xs), disconnected="zero"))

    def detect(session, feed_dict):
        return hessian_pattern(problem.ys[0], [x.given for x in problem.xs], session=session, feed_dict=feed_dict)

    def rehearsed():
        rehearse(problem.ys, [x.given for x in problem.xs], hessian=True)

    recipe = Recipe(detect, made, product, rehearsed, problem.ys[0].graph, problem.xs, problem.xs, True)
    return SparseDerivative(recipe, pattern if coloring is None else coloring, check)


def _check(pattern, coloring, block_size) -> None:
    check_block_size(block_size)
    if pattern is not None and coloring is not None:
        raise ValueError("pattern= and coloring= are both given; a colouring has its pattern: give one of them")


def _parts(numbers: np.ndarray, xs) -> list[tf.Tensor]:
    """A flat vector as tangents of xs."""
    sizes = [x.shape.num_elements() for x in xs]
    if None in sizes:  # one x may have a size that only a session knows
        if len(xs) > 1:
            return list(_dynamic_parts(numbers, xs))
        return [tf.reshape(tf.cast(tf.constant(numbers), xs[0].dtype), tf.shape(xs[0].value()))]
    starts = np.cumsum([0, *sizes])
    return [
        tf.reshape(tf.cast(tf.constant(numbers[start : start + size]), x.dtype), x.shape)
        for start, size, x in zip(starts[:-1], sizes, xs, strict=True)
    ]


def _dynamic_parts(numbers, xs):
    start = tf.constant(0)
    for x in xs:
        size = tf.size(x.value())
        yield tf.reshape(tf.cast(tf.constant(numbers), x.dtype)[start : start + size], tf.shape(x.value()))
        start += size


def _flat(products) -> tf.Tensor:
    flat = [tf.reshape(p, [-1]) for p in _tensors.flatten(products)]
    dtype = max((f.dtype for f in flat), key=lambda d: (d.is_complex, d.size))
    return tf.concat([tf.cast(f, dtype) for f in flat], 0)
