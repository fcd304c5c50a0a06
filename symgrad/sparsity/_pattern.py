"""Patterns of Jacobians and Hessians: where a derivative can be other than zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from ._told_apart import ALONE, Map, one_by_one, told_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


METHODS = ("structure", "probe")


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
      local: whether it is that of one point only (`method="probe"`).
    """

    matrix: Any
    y_shapes: tuple[tuple[int, ...], ...]
    x_shapes: tuple[tuple[int, ...], ...]
    coarse: tuple[Coarse, ...] = ()
    local: bool = False

    @property
    def offsets(self) -> tuple[list[int], list[int]]:
        """For ys (rows) and xs (columns): where each leaf begins, and where the last ends."""
        return _offsets(self.y_shapes), _offsets(self.x_shapes)

    def spy(self, **options: Any) -> Figure:
        """A picture of the pattern: a mark for each entry (a matplotlib figure)."""
        return _plots.spy(self.matrix, **options)

    def __repr__(self) -> str:
        m, n = self.matrix.shape
        how = "at one point" if self.local else f"{len(self.coarse)} coarse ops"
        return f"<Pattern [{m}, {n}] of {self.matrix.nnz} entries, {how}>"


def _offsets(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return [0, *np.cumsum([int(np.prod(s)) for s in shapes], dtype=int).tolist()]


def pattern(
    ys: Any,
    xs: Any,
    *,
    method: str = "structure",
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
      method: "structure", as above; or "probe": where J is not zero at the one point of `session` and `feed_dict`, from
        products with random vectors. That is smaller where branches and comparisons are, sees through loops of any
        length, and says nothing of other points.
      session: reads integers that only a session knows, such as indices in variables; to probe, all variables.
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
    return _found(ys, xs, stop_gradients, (session, feed_dict), (method, _as_they_are))


def hessian_pattern(
    y: Any,
    xs: Any,
    *,
    method: str = "structure",
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
    found = _found(y, xs, None, (session, feed_dict), (method, _gradients))
    across = found.matrix.T
    matrix = found.matrix + across if found.local else found.matrix.multiply(across)
    return Pattern(canonical(matrix), found.x_shapes, found.x_shapes, found.coarse, found.local)


def _as_they_are(ys, xs):
    return ys


def _gradients(ys, xs):
    """The gradient of y by each x; zeros where there is none."""
    if len(ys) != 1 or ys[0].shape.rank not in (0, None):
        raise ShapeError(f"y must be one scalar, came {[str(y.shape) for y in ys]}; reduce it, or take a Jacobian")
    found = _vjp.vjp(ys, [x.tensor for x in xs], [tf.ones_like(ys[0])])
    return [x.zeros() if g is None else tf.math.conj(g) for g, x in zip(found, xs, strict=True)]


@dataclass
class _Work:
    """The program that computes J v, in a copy of the user's graph; `close` gives its sessions back.

    Attributes:
      mirror, values: the copy, and what is known of its tensors.
      targets, xs: the ys and xs, copied.
      tangents: for each x the placeholder of its v.
      pushed: for each y the tensor J v, None where it is zero.
    """

    mirror: Mirror | Scratch
    values: Values
    targets: list[tf.Tensor]
    xs: list[_tensors.Input]
    tangents: list[tf.Tensor] = field(default_factory=list)
    pushed: list[tf.Tensor | None] = field(default_factory=list)


def rehearse(ys: Any, xs: Any, *, hessian: bool) -> None:
    """Refuse what J v or the gradient refuses, in a copy of the graph, so that the user's keeps its ops."""
    _work(ys, xs, None, (None, None), _gradients if hessian else _as_they_are).values.close()


def _work(ys, xs, stop_gradients, at, of_ys) -> _Work:
    graph = _tensors.building_graph(_tensors.symbolic(ys))
    if not isinstance(ys, tf.IndexedSlices) and all(isinstance(y, tf.Tensor) for y in tf.nest.flatten(ys)):
        ends = _tensors.outputs(ys)
    else:
        raise PatternError("a pattern needs ys that are tensors: read variables and densify slices first")
    session, feed_dict = at
    with graph.as_default():
        inputs, stop = _tensors.inputs(xs, graph), _tensors.stops(stop_gradients, graph)
    mirror = mirror_of([*ends, *(x.tensor for x in inputs), *stop], feed_dict)
    values = Values(mirror, session, [mirror.of(x.tensor) for x in inputs])
    values.settle([mirror.of(y) for y in ends])
    with mirror.graph.as_default():
        copies = [mirror.of(y) for y in ends]
        moved = [_tensors.Input(_Like(x, mirror.of(x.tensor)), mirror.of(x.tensor), x.label) for x in inputs]
        work = _Work(mirror, values, of_ys(copies, moved), moved)
        work.tangents = [tf.placeholder(x.dtype, x.shape, name="tangent") for x in moved]
        tensors, stopped = [x.tensor for x in moved], [mirror.of(t) for t in stop]
        work.pushed = push(rules.between(work.targets, tensors, stopped), work.targets, tensors, work.tangents)
    return work


def _found(ys, xs, stop_gradients, at, how) -> Pattern:
    method, of_ys = how
    if method not in METHODS:
        raise ValueError(f"method={method!r}; wanted one of {', '.join(map(repr, METHODS))}")
    work = _work(ys, xs, stop_gradients, at, of_ys)
    try:
        shapes = tuple(tuple(shape_of(y)) for y in work.targets), tuple(tuple(shape_of(x)) for x in work.xs)
        work.values.settle([t for t in work.pushed if t is not None], work.tangents)
        matrix, coarse = _by_structure(work) if method == "structure" else (_by_probing(work), ())
    finally:
        work.values.close()
    return Pattern(canonical(matrix), *shapes, coarse, method == "probe")


class _Like:
    """What an x of the mirror is: of a variable only its shape and dtype are asked for."""

    def __init__(self, x: _tensors.Input, copy: tf.Tensor):
        self.dtype = x.dtype
        self.shape = copy.shape if copy.dtype != tf.resource else x.shape


def _by_structure(work: _Work) -> tuple[Any, tuple[Coarse, ...]]:
    starts = _offsets([tuple(shape_of(x)) for x in work.xs])
    runner = Runner()
    flow = Flow(work.values.of, runner)
    for tangent, start, size in zip(work.tangents, starts, np.diff(starts), strict=False):
        flow.reach[id(tangent)] = Reach.identity(start, int(size), starts[-1])
    ends = [t for t in work.pushed if t is not None]
    try:
        if ends:
            flow.run(_on_the_way(ends, work.tangents))
        rows = [_rows_of(flow, y, t, starts[-1]) for y, t in zip(work.targets, work.pushed, strict=True)]
    except PatternError as error:
        because = "; ".join(map(str, _described(work.mirror, flow)[:3]))
        raise PatternError(f"{error}. Taken as dense: {because}" if because else str(error)) from None
    finally:
        runner.close()
    return sp.vstack(rows, format="csr"), _described(work.mirror, flow)


def _by_probing(work: _Work) -> Any:
    """Where J is not zero at the point of the session: its columns are told apart by products with random numbers."""
    starts = _offsets([tuple(shape_of(x)) for x in work.xs])
    out = sum(size_of(y) for y in work.targets)
    given = [(y, t) for y, t in zip(work.targets, work.pushed, strict=True)]
    run = work.values.runner_of([t for t in work.pushed if t is not None])

    def apply(vector: np.ndarray) -> np.ndarray:
        parts = zip(work.tangents, starts, starts[1:], strict=False)
        found = iter(run({t: vector[a:b].reshape(shape_of(t)) for t, a, b in parts}))
        flat = [np.zeros(size_of(y)) if t is None else np.ravel(next(found)) for y, t in given]
        product = np.concatenate([*flat, np.zeros(0)])
        if not np.all(np.isfinite(product)):
            raise PatternError("J v is not finite at this point, so that nothing can be read from it: probe at another")
        return product

    linear = Map(apply, starts[-1], out)
    fine = all(t.dtype in (tf.float64, tf.complex128) for t in (*work.targets, *work.tangents))
    if starts[-1] <= ALONE and not fine:
        return one_by_one(linear)
    found = told_apart(linear, np.random.default_rng(3)) if fine else None
    if found is None:
        raise PatternError(
            f"products with J do not tell its {starts[-1]:,} columns apart: "
            + ("its rows are too long, so that it is not sparse" if fine else "probing needs float64 for so many")
        )
    return found


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
