"""The Jacobian, the Hessian and the generalised Gauss-Newton matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _vjp
from .._finding import sentences
from .._flat import Flat
from .._problem import Problem, posed
from ..errors import DisconnectedError, DtypeError, ShapeError
from ._data import Data, check_keywords
from ._operator import GraphOperator, Product
from ._products import Pull, Push, Stack


class Jacobian(GraphOperator):
    """J, d ys / d xs, shape (elements of ys, elements of xs); `A @ v` is a Rop, `A.T @ u` a Lop.

    Args:
      ys: tensor or structure of tensors, real.
      xs: tensor, variable or structure of them, real, of known shapes.
      session: in which variables have their values; by default the default one.
      feed_dict: what every run is fed.
      batches: a list of feed_dicts, or a function that gives an iterator over them anew: the rows of the batches stand
        under one another.
      block_size: how many vectors go through the graph at once; None chooses.
      disconnected: what to do where ys do not depend on some x: "raise", or "zero" for zeros.

    Raises:
      DisconnectedError, MissingRuleError, GraphMismatchError, ControlFlowError: as for `symgrad.Rop`.
      DtypeError: a complex tensor.
      ShapeError: an x of unknown shape.
      ValueError: no session; batches that can be gone through once only.

    Example:
      >>> x = tf.constant([1., 2., 3.])
      >>> J = symgrad.linops.Jacobian(x[:2] ** 2, x, session=run.session)
      >>> J.shape
      (2, 3)
      >>> J @ np.array([1., 1., 0.])
      array([2., 4.])
      >>> J.T @ np.array([1., 0.])
      array([2., 0., 0.])
    """

    def __init__(
        self,
        ys: Any,
        xs: Any,
        *,
        session: Any = None,
        feed_dict: Any = None,
        batches: Any = None,
        block_size: int | None = None,
        disconnected: str = "raise",
    ):
        check_keywords(session, block_size, disconnected)
        data = Data.of(feed_dict, batches, "sum")
        with posed(ys, xs, disconnected=disconnected, name="Jacobian") as problem:
            flat = flat_of(problem)
            require_real(problem.ys)
            self._ys = problem.ys
            push, pull = Push(problem), Pull(problem)
            require_paths(pull.connected, problem, disconnected)
            sizes = tf.stack([tf.size(y) for y in problem.ys])
        super().__init__((0, flat.size), flat, data, session=session, block_size=block_size)
        self._rows = [int(np.sum(self._run(sizes, feeds))) for feeds in data.feeds()]
        self.shape = (sum(self._rows), flat.size)
        name = {"name": "Jacobian", "dtype": flat.dtype}
        with self.graph.as_default():
            self._ways["forward"] = Product(build=self._pushing(push), width=flat.size, stacks=push.stacks, **name)
            self._ways["backward"] = Product(build=self._pulling(pull), width=None, stacks=pull.stacks, **name)

    def _pushing(self, push: Push):
        def build(block: tf.Tensor, count: Stack) -> tf.Tensor:
            pushed = push(self._flat.unpack(block), count)
            return tf.concat([_rows_of(t, count, block.dtype) for t in pushed], -1)

        return build

    def _pulling(self, pull: Pull):
        def build(block: tf.Tensor, count: Stack) -> tf.Tensor:
            parts = tf.split(block, [tf.size(y) for y in self._ys], axis=-1, num=len(self._ys))
            shapes = [tf.shape(y) if count is None else tf.concat([[count], tf.shape(y)], 0) for y in self._ys]
            cotangents = [
                tf.cast(tf.reshape(p, s), y.dtype.base_dtype) for p, s, y in zip(parts, shapes, self._ys, strict=True)
            ]
            for cotangent, y in zip(cotangents, self._ys, strict=True):
                cotangent.set_shape(y.shape if count is None else tf.TensorShape([None]).concatenate(y.shape))
            return self._flat.pack(pull(cotangents, count), 0 if count is None else 1)

        return build

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return np.concatenate(list(self._by_batch("forward", X)), 1).T if X.shape[1] else np.zeros((self.shape[0], 0))

    def _by_batch(self, way: str, X: np.ndarray):
        blocks = self._blocks(way, X)
        for number, feeds in enumerate(self._data.feeds()):
            yield np.concatenate([self._multiplied(way, block, feeds, number) for block in blocks])

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        blocks = self._blocks("backward", X)
        if not blocks:
            return np.zeros((self.shape[1], 0))
        found: list[Any] = [0.0] * len(blocks)
        ends = np.cumsum(self._rows)
        for number, feeds in enumerate(self._data.feeds()):
            own = slice(ends[number] - self._rows[number], ends[number])
            for i, block in enumerate(blocks):
                found[i] = found[i] + self._multiplied("backward", block[:, own], feeds, number)
        return np.concatenate(found).T


class Hessian(GraphOperator):
    """H, d2 loss / d xs2, shape (elements of xs, the same), by forward over reverse.

    Args:
      loss: scalar tensor, real.
      xs, session, feed_dict, batches, block_size, disconnected: as for `Jacobian`; disconnected judges the first
        derivative.
      reduction: how the Hessians of the batches make up that of all data: "mean", weighed by the leading dimension of
        what is fed, for losses that are means over examples; "sum" for losses that are sums.

    Raises:
      ShapeError: also for a loss that is no scalar; arrays of a batch without one leading dimension.
      DisconnectedError, MissingRuleError, GraphMismatchError, ControlFlowError, DtypeError, ValueError: as for
        `Jacobian`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> H = symgrad.linops.Hessian(x[0] ** 2 * x[1], x, session=run.session)
      >>> H @ np.eye(2)
      array([[4., 2.],
             [2., 0.]])

    Reference: B. Pearlmutter (1994), Fast exact multiplication by the Hessian, Neural Computation 6(1).
    """

    def __init__(
        self,
        loss: Any,
        xs: Any,
        *,
        session: Any = None,
        feed_dict: Any = None,
        batches: Any = None,
        reduction: str = "mean",
        block_size: int | None = None,
        disconnected: str = "raise",
    ):
        check_keywords(session, block_size, disconnected)
        data = Data.of(feed_dict, batches, reduction)
        with posed(loss, xs, disconnected=disconnected, name="Hessian") as problem:
            flat = flat_of(problem)
            gradients = slopes_of(problem, disconnected)
            push = Push(Problem(gradients, problem.xs))
        super().__init__((flat.size, flat.size), flat, data, session=session, block_size=block_size)

        def build(block: tf.Tensor, count: Stack) -> tf.Tensor:
            return flat.pack(push(flat.unpack(block), count), 0 if count is None else 1)

        with self.graph.as_default():
            self._ways["forward"] = Product("Hessian", build, width=flat.size, dtype=flat.dtype, stacks=push.stacks)


class GGN(GraphOperator):
    """The generalised Gauss-Newton matrix J^T H J, with J = d outputs/d xs and H = d2 loss/d outputs2.

    It is positive semidefinite where the loss is convex in the outputs, also where the Hessian is not.

    Args:
      loss: scalar tensor, real, a function of `outputs`.
      outputs: tensor or structure of tensors between xs and the loss, such as logits or residuals.
      xs, session, feed_dict, batches, reduction, block_size, disconnected: as for `Hessian`.

    Raises:
      ShapeError, DisconnectedError, MissingRuleError, GraphMismatchError, ControlFlowError, DtypeError, ValueError: as
        for `Hessian`.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> residuals = tf.stack([x[0] * x[1], x[0]])
      >>> G = symgrad.linops.GGN(tf.reduce_sum(residuals ** 2) / 2, residuals, x, session=run.session)
      >>> G @ np.eye(2)
      array([[5., 2.],
             [2., 1.]])

    Reference: N. Schraudolph (2002), Fast curvature matrix-vector products for second-order gradient descent, Neural
    Computation 14(7).
    """

    def __init__(
        self,
        loss: Any,
        outputs: Any,
        xs: Any,
        *,
        session: Any = None,
        feed_dict: Any = None,
        batches: Any = None,
        reduction: str = "mean",
        block_size: int | None = None,
        disconnected: str = "raise",
    ):
        check_keywords(session, block_size, disconnected)
        data = Data.of(feed_dict, batches, reduction)
        with posed(loss, outputs, disconnected=disconnected, name="GGN") as of_loss:
            leaves = [x.value() for x in of_loss.xs]
            require_real(leaves)
            curve = Push(Problem(slopes_of(of_loss, disconnected), of_loss.xs))
        with posed(leaves, xs, disconnected=disconnected, name="GGN") as problem:
            flat = flat_of(problem)
            push, pull = Push(problem), Pull(problem)
            require_paths(pull.connected, problem, disconnected)
        super().__init__((flat.size, flat.size), flat, data, session=session, block_size=block_size)

        def build(block: tf.Tensor, count: Stack) -> tf.Tensor:
            curved = curve(push(flat.unpack(block), count), count)
            return flat.pack(pull(curved, count), 0 if count is None else 1)

        stacks = push.stacks and curve.stacks and pull.stacks
        with self.graph.as_default():
            self._ways["forward"] = Product("GGN", build, width=flat.size, dtype=flat.dtype, stacks=stacks)


def flat_of(problem: Problem) -> Flat:
    """xs as one vector; its dtype is the widest of theirs.

    Raises:
      DtypeError: one is complex.
    """
    for x in problem.xs:
        if x.dtype.is_complex:
            raise DtypeError(f"{x.label} is {x.dtype.name}; {_REAL}")
    widest = tf.as_dtype(np.result_type(np.float32, *(x.dtype.as_numpy_dtype for x in problem.xs)))
    return Flat([x.given for x in problem.xs], widest)


def require_real(tensors: Sequence[tf.Tensor]) -> None:
    """Raise DtypeError for a complex tensor."""
    for t in tensors:
        if t.dtype.is_complex:
            raise DtypeError(f"{t.name} is {t.dtype.name}; {_REAL}")


_REAL = (
    "operators are real matrices: split it into tf.math.real and tf.math.imag, and make complex inputs by tf.complex "
    "of two real ones"
)


def require_paths(connected: Sequence[bool], problem: Problem, disconnected: str) -> None:
    """Raise DisconnectedError for an x that no path leaves, unless that is allowed."""
    from .. import diagnose

    lost = [x.tensor for x, c in zip(problem.xs, connected, strict=True) if not c]
    if lost and disconnected == "raise":
        causes = "\n".join(sentences(diagnose.why_none(problem.ys, lost)))
        raise DisconnectedError(f'{causes}\nPass disconnected="zero" if this is meant to be so.')


def slopes_of(problem: Problem, disconnected: str) -> list[tf.Tensor]:
    """The gradient of a scalar loss by each x; zeros where there is none and that is allowed."""
    if len(problem.ys) != 1 or problem.ys[0].shape.rank not in (0, None):
        shapes = ", ".join(f"{y.name} of shape {y.shape}" for y in problem.ys)
        raise ShapeError(f"the loss must be one scalar, came {shapes}; reduce it (tf.reduce_mean)")
    require_real(problem.ys)
    (loss,) = problem.ys
    with tf.control_dependencies([tf.debugging.assert_rank(loss, 0, message="the loss must be one scalar")]):
        one = tf.ones_like(loss)
    found = _vjp.vjp([loss], problem.tensors, [one], between=problem.between)
    require_paths([g is not None for g in found], problem, disconnected)
    return [x.zeros() if g is None else g for g, x in zip(found, problem.xs, strict=True)]


def _rows_of(tangent: tf.Tensor, count: Stack, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(tf.reshape(tangent, [-1] if count is None else [count, -1]), dtype)
