"""Patterns of Jacobians and Hessians: where a derivative can be other than zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import tensorflow.compat.v1 as tf

from .. import _plots, _tensors, _vjp, _walk, rules
from .._tangents import push
from ..errors import PatternError, ShapeError
from ._flow import Flow
from ._known import Runner
from ._mirror import Mirror, Scratch, Values, mirror_of
from ._probe import shape_of, size_of
from ._reach import Reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Coarse:
    """An op behind which every element was taken to depend on all that goes in.

    Attributes:
      op: its name; that of an op of the derivative, if it has none in the user's graph.
      type: its type.
      cause: why.
      where: "file:line" of the user's code, or None.
    """

    op: str
    type: str
    cause: str
    where: str | None

    def __str__(self) -> str:
        return f"{self.type} {self.op!r}{f' (made at {self.where})' if self.where else ''}: {self.cause}"


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the derivatives of ys by xs can be other than zero.

    Attributes:
      matrix: boolean `scipy.sparse.csr_array`, [size of ys, size of xs]; leaves are flattened in order.
      y_shapes: the shapes of the leaves of ys.
      x_shapes: the shapes of the leaves of xs.
      coarse: the ops where the pattern had to be dense, and why.
    """

    matrix: Any
    y_shapes: tuple[tuple[int, ...], ...]
    x_shapes: tuple[tuple[int, ...], ...]
    coarse: tuple[Coarse, ...] = ()

    @property
    def offsets(self) -> tuple[list[int], list[int]]:
        """For ys (rows) and xs (columns): where each leaf begins, and where the last ends."""
        return _offsets(self.y_shapes), _offsets(self.x_shapes)

    def spy(self, **options: Any) -> Figure:
        """A picture of the pattern: a mark for each entry (a matplotlib figure)."""
        return _plots.spy(self.matrix, **options)

    def __repr__(self) -> str:
        m, n = self.matrix.shape
        return f"<Pattern [{m}, {n}] of {self.matrix.nnz} entries, {len(self.coarse)} coarse ops>"


def _offsets(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return [0, *np.cumsum([int(np.prod(s)) for s in shapes], dtype=int).tolist()]


def pattern(
    ys: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict | None = None,
    stop_gradients: Any = None,
) -> Pattern:
    """Where the Jacobian of `ys` by `xs` can be other than zero.

    It is found in a copy of the graph, on the ops that compute J v, so that a gradient of the user's own, a
    stop_gradient or an op without derivative does to the pattern what it does to the value. It holds for every value of
    the floating inputs; integers, such as indices, count as they are now.

    Args:
      ys: tensor or structure of tensors.
      xs: tensor, variable or structure of them.
      session: reads integers that only a session knows, such as indices in variables.
      feed_dict: what it is fed. Placeholders of unknown shape have the shapes that are fed.
      stop_gradients: tensor or structure of tensors that count as constants.

    Returns:
      The pattern, with `matrix` [size of ys, size of xs].

    Raises:
      PatternError: a shape is not known; there are too many entries.
      DtypeError, GraphMismatchError, MissingRuleError, ControlFlowError: as for `Rop`.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> symgrad.sparsity.pattern(x[1:] * x[:-1], x).matrix.toarray().astype(int)
      array([[1, 1, 0],
             [0, 1, 1]])
    """
    return _found(ys, xs, stop_gradients, session, feed_dict, _as_they_are)


def hessian_pattern(
    y: Any,
    xs: Any,
    *,
    session: tf.Session | None = None,
    feed_dict: dict | None = None,
) -> Pattern:
    """Where the Hessian of a scalar `y` by `xs` can be other than zero: symmetric.

    Arguments, errors and what the pattern promises are those of `pattern`.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> symgrad.sparsity.hessian_pattern(tf.reduce_sum(x[1:] ** 2 * x[:-1]), x).matrix.toarray().astype(int)
      array([[0, 1, 0],
             [1, 1, 1],
             [0, 1, 1]])
    """
    found = _found(y, xs, None, session, feed_dict, _gradients)
    matrix = found.matrix.multiply(found.matrix.T)
    return Pattern(canonical(matrix), found.x_shapes, found.x_shapes, found.coarse)


def _as_they_are(ys, xs):
    return ys


def _gradients(ys, xs):
    """The gradient of y by each x; zeros where there is none."""
    if len(ys) != 1 or ys[0].shape.rank not in (0, None):
        raise ShapeError(f"y must be one scalar, came {[str(y.shape) for y in ys]}; reduce it, or take a Jacobian")
    found = _vjp.vjp(ys, [x.tensor for x in xs], [tf.ones_like(ys[0])])
    return [x.zeros() if g is None else tf.math.conj(g) for g, x in zip(found, xs)]


def _found(ys, xs, stop_gradients, session, feed_dict, of_ys) -> Pattern:
    graph = _tensors.building_graph(_tensors.symbolic(ys))
    if not isinstance(ys, tf.IndexedSlices) and all(isinstance(y, tf.Tensor) for y in tf.nest.flatten(ys)):
        ends = _tensors.outputs(ys)
    else:
        raise PatternError("a pattern needs ys that are tensors: read variables and densify slices first")
    with graph.as_default():
        inputs, stop = _tensors.inputs(xs, graph), _tensors.stops(stop_gradients, graph)
    mirror = mirror_of([*ends, *(x.tensor for x in inputs), *stop], feed_dict)
    values = Values(mirror, session, [mirror.of(x.tensor) for x in inputs])
    values.settle([mirror.of(y) for y in ends])
    with mirror.graph.as_default():
        copies = [mirror.of(y) for y in ends]
        moved = [_tensors.Input(_Like(x, mirror.of(x.tensor)), mirror.of(x.tensor), x.label) for x in inputs]
        targets = of_ys(copies, moved)
        stopped = [mirror.of(t) for t in stop]
    shapes = tuple(tuple(shape_of(y)) for y in targets), tuple(tuple(shape_of(x)) for x in moved)
    matrix, coarse = _by_structure(mirror, values, (targets, moved, stopped))
    return Pattern(canonical(matrix), *shapes, coarse)


class _Like:
    """What an x of the mirror is: of a variable only its shape and dtype are asked for."""

    def __init__(self, x: _tensors.Input, copy: tf.Tensor):
        self.dtype = x.dtype
        self.shape = copy.shape if copy.dtype != tf.resource else x.shape


def _by_structure(mirror, values, problem) -> tuple[Any, tuple[Coarse, ...]]:
    targets, xs, stop = problem
    tensors = [x.tensor for x in xs]
    sizes = [size_of(x) for x in xs]
    starts = [0, *np.cumsum(sizes, dtype=int).tolist()]
    with mirror.graph.as_default():
        tangents = [tf.placeholder(x.dtype, x.shape, name="tangent") for x in xs]
        pushed = push(rules.between(targets, tensors, stop), targets, tensors, tangents)
    runner = Runner()
    flow = Flow(values.of, runner)
    for tangent, start, size in zip(tangents, starts, sizes):
        flow.reach[id(tangent)] = Reach.identity(start, size, starts[-1])
    ends = [t for t in pushed if t is not None]
    values.settle(ends, tangents)
    try:
        if ends:
            flow.run(_on_the_way(ends, tangents))
        rows = [_rows_of(flow, y, t, starts[-1]) for y, t in zip(targets, pushed)]
    except PatternError as error:
        because = "; ".join(map(str, _described(mirror, flow)[:3]))
        raise PatternError(f"{error}. Taken as dense: {because}" if because else str(error)) from None
    finally:
        values.close()
        runner.close()
    return sp.vstack(rows, format="csr"), _described(mirror, flow)


def _on_the_way(ends, tangents):
    return _walk.between(ends, tangents).ops


def _rows_of(flow: Flow, y: tf.Tensor, pushed: tf.Tensor | None, width: int) -> Any:
    reach = None if pushed is None else flow.reach.get(id(pushed))
    return sp.csr_array((size_of(y), width), dtype=bool) if reach is None else reach.matrix()


def _described(mirror: Mirror | Scratch, flow: Flow) -> tuple[Coarse, ...]:
    return tuple(Coarse(op.name, op.type, why, mirror.where(op)) for op, why in flow.coarse.items())


def canonical(matrix: Any) -> Any:
    matrix = sp.csr_array(matrix).astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
