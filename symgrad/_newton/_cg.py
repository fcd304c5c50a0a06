"""Conjugate gradients as ops of a graph: one loop inside of one run, or a fixed number of steps one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from .. import _tf
from .._control_flow import v2_control_flow

Product = Callable[[tf.Tensor], tf.Tensor]

_GROWTH = 1.3  # from one point whose true loss is looked at to the next


class Solution(NamedTuple):
    """What conjugate gradients find.

    Attributes:
      best: the point [n] with the lowest true loss among those looked at, else the last one.
      last: the last point [n].
      residual: b - A last, as the recurrence has it.
      steps: how many were taken, int32.
    """

    best: tf.Tensor
    last: tf.Tensor
    residual: tf.Tensor
    steps: tf.Tensor


@dataclass(frozen=True)
class Stop:
    """When to stop: after `iterations`, or earlier.

    Attributes:
      iterations: the most steps.
      tolerance: of the progress of the model over the last k = max(10, i / 10) steps, relative and for each of them;
        None: of the residual, relative to b, 1e-10.

    Reference: J. Martens (2010), Deep learning via Hessian-free optimization, ICML, section 4.4.
    """

    iterations: int
    tolerance: float | None = None


def conjugate_gradients(
    product: Product,
    b: tf.Tensor,
    stop: Stop,
    *,
    start: tf.Tensor | None = None,
    loss: Callable[[tf.Tensor], tf.Tensor] | None = None,
    unrolled: bool = False,
) -> Solution:
    """Minimise x^T A x / 2 - b^T x; ends where the curvature along a direction is not positive, or not a number.

    Args:
      product: builds A times a vector.
      b: vector [n].
      stop: when to stop.
      start: where to begin, else 0.
      loss: builds the true loss at a point; it is looked at after 1, 1.3, 1.3^2... steps, and the best point is kept.
      unrolled: build the steps one after the other and not as a loop, which products with V1 loops cannot enter.
    """
    state = _State.begin(product, b, stop.iterations, start)
    turn = _Turn(product, b, stop, loss)
    if unrolled:
        for _ in range(stop.iterations):
            state = turn.masked(state)
    else:
        found = _tf.while_loop_v2(
            lambda *s: turn.goes_on(_State(*s)), lambda *s: turn(_State(*s)), list(state), parallel_iterations=1,
            maximum_iterations=stop.iterations,
        )  # fmt: skip
        state = _State(*found)
    best = state.best
    if loss is not None:
        best = tf.where(loss(state.x) < state.best_loss, state.x, state.best)
    return Solution(state.x if loss is None else best, state.x, state.r, state.i)


class _State(NamedTuple):
    i: tf.Tensor
    x: tf.Tensor
    r: tf.Tensor
    p: tf.Tensor
    rr: tf.Tensor
    models: tf.Tensor
    best: tf.Tensor
    best_loss: tf.Tensor
    next_look: tf.Tensor
    flat: tf.Tensor

    @staticmethod
    def begin(product: Product, b: tf.Tensor, iterations: int, start: tf.Tensor | None) -> "_State":
        x = tf.zeros_like(b) if start is None else start
        r = b if start is None else b - product(start)
        first = [-0.5 * dot(x, r + b)] if start is not None else [tf.zeros([], b.dtype)]
        models = tf.concat([tf.stack(first), tf.zeros([iterations], b.dtype)], 0)
        infinite = tf.constant(float("inf"), b.dtype)
        return _State(
            tf.constant(0), x, r, r, dot(r, r), models, x, infinite, tf.constant(1.0), tf.constant(False)
        )  # fmt: skip


class _Turn:
    """One step from a state to the next."""

    def __init__(self, product: Product, b: tf.Tensor, stop: Stop, loss: Callable | None):
        self._product, self._b, self._stop, self._loss = product, b, stop, loss
        self._limit = None if stop.tolerance is not None else 1e-10 * tf.norm(b)

    def goes_on(self, s: _State) -> tf.Tensor:
        """Whether another step is to be taken."""
        if self._stop.tolerance is None:
            settled = tf.sqrt(s.rr) <= self._limit
        else:
            k = tf.maximum(10, s.i // 10)
            now, before = s.models[s.i], s.models[tf.maximum(s.i - k, 0)]
            progress = (now - before) / now
            settled = (s.i > k) & (now < 0) & (progress < tf.cast(k, now.dtype) * self._stop.tolerance)
        return (s.i < self._stop.iterations) & ~settled & ~s.flat

    def __call__(self, s: _State) -> _State:
        """The next state."""
        q = self._product(s.p)
        curvature = dot(s.p, q)
        flat = ~((curvature > 0) & (s.rr > 0) & tf.math.is_finite(s.rr / curvature))  # also where something is NaN
        alpha = tf.where(flat, tf.zeros_like(curvature), s.rr / tf.where(flat, tf.ones_like(curvature), curvature))
        x, r = s.x + alpha * s.p, s.r - alpha * q
        x, r = tf.where(flat, s.x, x), tf.where(flat, s.r, r)
        rr = dot(r, r)
        p = tf.where(flat, s.p, r + s.p * (rr / tf.where(flat, tf.ones_like(rr), s.rr)))
        i = s.i + tf.cast(~flat, tf.int32)
        places = tf.reshape(i, [1, 1])
        models = tf.tensor_scatter_nd_update(s.models, places, tf.reshape(-0.5 * dot(x, r + self._b), [1]))
        best, best_loss, next_look = self._looked(i, x, s)
        return _State(i, x, r, p, rr, models, best, best_loss, next_look, flat)

    def _looked(self, i: tf.Tensor, x: tf.Tensor, s: _State) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The best point, its loss, and when to look again."""
        if self._loss is None:
            return s.best, s.best_loss, s.next_look
        loss = self._loss

        def look():
            value = loss(x)
            better = value < s.best_loss
            return tf.where(better, x, s.best), tf.where(better, value, s.best_loss), s.next_look * _GROWTH

        with v2_control_flow():
            due = tf.cast(i, tf.float32) >= s.next_look
            return tf.cond(due, look, lambda: (s.best, s.best_loss, s.next_look))

    def masked(self, s: _State) -> _State:
        """The next state, or the same if no further step is to be taken."""
        goes_on, new = self.goes_on(s), self(s)
        return _State(*(tf.where(goes_on, a, b) for a, b in zip(new, s, strict=True)))


def dot(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """a^T b."""
    return tf.reduce_sum(a * b)
