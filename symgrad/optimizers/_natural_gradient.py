"""The natural gradient as a link of the chain: the gradient times the inverse of a damped Fisher matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, operators, rules
from .._crossings import crossings
from .._newton._cg import Stop, conjugate_gradients, dot
from .._newton._elsewhere import Elsewhere
from .._newton._minimizer import Point
from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs
from .._optimizing._hyperparameters import is_number
from ..errors import DisconnectedError, OptimizerError, ShapeError

__all__ = ["natural_gradient"]

_CORRECTIONS = 20
_CLOSE = 0.02  # of the logarithm of the divergence


class natural_gradient(Transform):
    """The natural gradient (F + damping I)^-1 g, F the Hessian of a Kullback-Leibler divergence at its minimum 0.

    Conjugate gradients run within the step, as one loop; where the policy crosses V1 loops, such as a `dynamic_rnn`,
    the steps stand one after the other, each with a copy of the policy. With `trust` the result is scaled such that
    `SGD(1.0)` behind it moves the variables just so far that the divergence is `trust`, as in TRPO. What other rules
    make of it is not bounded. It works in a graph alone.

    Args:
      kl: scalar tensor, the mean divergence of the new distribution from the old one; the old one, computed from the
        same variables, is held by tf.stop_gradient (or fed).
      damping: added to the diagonal of F, above 0.
      iterations: the most steps of conjugate gradients.
      trust: the divergence after the step; None: the plain natural gradient.

    Attributes:
      report: tensors "kl" (after the step, as SGD(1.0) takes it), "cg" (steps of conjugate gradients).

    Raises:
      OptimizerError: eager mode or a tf.function; a number out of range.
      ShapeError: kl is no scalar.
      DisconnectedError: kl does not depend on a variable that is trained.

    Example:
      >>> logits = tf.Variable(np.zeros(2))
      >>> old, new = tf.stop_gradient(tf.nn.log_softmax(logits)), tf.nn.log_softmax(logits)
      >>> kl = tf.reduce_sum(tf.exp(old) * (old - new))
      >>> to_the_policy = symgrad.optimizers.natural_gradient(kl, trust=0.01)
      >>> step = symgrad.optimizers.SGD(1.0, transforms=[to_the_policy]).minimize(-new[0])
      >>> print(f"{run([step, to_the_policy.report])[1]['kl']:.4f}")
      0.0100

    Reference: S. Amari (1998), Natural gradient works efficiently in learning, Neural Computation 10(2); J. Schulman et
    al. (2015), Trust region policy optimization, ICML.
    """

    def __init__(self, kl: Any, *, damping: float = 0.1, iterations: int = 10, trust: float | None = None):
        for name, value in (("damping", damping), ("trust", 1.0 if trust is None else trust)):
            if not is_number(value) or not value > 0:
                raise OptimizerError(f"natural_gradient: {name} is {value!r}; wanted a number above 0")
        if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
            raise OptimizerError(f"natural_gradient: iterations is {iterations!r}; wanted an int of at least 1")
        self._kl, self._damping, self._stop, self._trust = kl, damping, Stop(iterations), trust
        self.report: dict[str, tf.Tensor] = {}

    def __call__(self, pairs: Pairs) -> Pairs:
        """The natural gradients."""
        kl = self._checked()
        point = Point([var for _, var in pairs])
        gradient = point.flat.pack([tf.convert_to_tensor(grad) for grad, _ in pairs])
        product = self._product(kl, point)
        damping = tf.constant(self._damping, point.dtype)
        point.read()
        found = conjugate_gradients(
            lambda v: product(v) + damping * v, gradient, self._stop, unrolled=isinstance(product, _ThroughCopies)
        )
        direction = found.last
        curvature = dot(direction, gradient - found.residual) - damping * dot(direction, direction)
        with tf.control_dependencies([_assert_curved(kl, curvature, damping, direction)]):
            direction = tf.identity(direction)
        elsewhere = Elsewhere([kl], point.variables)

        def divergence(rate: tf.Tensor) -> tf.Tensor:
            return tf.cast(elsewhere.at(point.moved(-rate * direction))[0], point.dtype)

        rate = tf.ones_like(curvature)
        if self._trust is not None:
            rate = _rate(curvature, tf.constant(self._trust, point.dtype), divergence)
        self.report = {"kl": divergence(rate), "cg": found.steps}
        with tf.control_dependencies(list(self.report.values())):  # else what they tell may be read after the update
            direction *= rate
        return [(part, var) for part, (_, var) in zip(point.flat.unpack(direction), pairs, strict=True)]

    def _checked(self) -> tf.Tensor:
        graph = tf.get_default_graph()
        inside = tf.executing_eagerly() or isinstance(graph, _tf.FuncGraph)
        if inside or isinstance(self._kl, _tf.EagerTensor) or not isinstance(self._kl, tf.Tensor):
            raise OptimizerError(
                "natural_gradient needs a graph of the policy: kl as a tensor of the graph in which training is built, "
                "under tf.Graph().as_default(), and no tf.function"
            )
        (kl,) = _tensors.outputs(self._kl)
        if kl.shape.rank not in (0, None):
            raise ShapeError(f"kl {kl.name} has shape {kl.shape}; wanted a scalar, the tf.reduce_mean over states")
        return kl

    def _product(self, kl: tf.Tensor, point: Point) -> Callable[[tf.Tensor], tf.Tensor]:
        """F times a vector, as a function of it that builds ops."""
        between = rules.between([kl], [x.tensor for x in _tensors.inputs(point.variables, kl.graph)])
        lost = [v.name for v, connected in zip(point.variables, between.connected, strict=True) if not connected]
        if lost:
            raise DisconnectedError(
                f"kl {kl.name} does not depend on {', '.join(lost)}, for which there is no natural gradient; give the "
                "variables of the policy as var_list, and train others with an optimizer of their own"
            )
        if crossings(between).v1:
            return _ThroughCopies(kl, point)
        slopes = operators.Lop(kl, point.variables, tf.ones_like(kl))

        def product(vector: tf.Tensor) -> tf.Tensor:
            parts = point.flat.unpack(vector)
            return point.flat.pack(operators.Rop(slopes, point.variables, parts, disconnected="zero"))

        return product


class _ThroughCopies:
    """F times a vector through V1 loops, each time in a copy: what a loop gives cannot enter the same loop again."""

    def __init__(self, kl: tf.Tensor, point: Point):
        self._elsewhere, self._point = Elsewhere([kl], point.variables), point

    def __call__(self, vector: tf.Tensor) -> tf.Tensor:
        (kl,) = self._elsewhere.recomputed()
        return self._point.flat.pack(operators.hvp(kl, self._point.variables, self._point.flat.unpack(vector)))


def _assert_curved(kl: tf.Tensor, curvature: tf.Tensor, damping: tf.Tensor, direction: tf.Tensor) -> tf.Operation:
    """An op that stops the run if F is zero, as that of a distribution from itself is; not for what is not finite."""
    least = 100 * np.finfo(curvature.dtype.as_numpy_dtype).eps * damping * dot(direction, direction)
    said = (
        f"natural_gradient: kl {kl.name} has no curvature; hold the old distribution by tf.stop_gradient, so that the "
        "divergence is one from it and not one of the new distribution from itself"
    )
    flat = (curvature <= least) & (dot(direction, direction) > 0)
    return tf.raw_ops.Assert(condition=tf.logical_not(flat), data=[said])


def _rate(curvature: tf.Tensor, trust: tf.Tensor, divergence: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """How far to go until the divergence is `trust`: by its quadratic model, then by what it is there.

    Once a rate below and one above are known, the way between them is halved.
    """
    dtype, curved = trust.dtype, curvature > 0
    first = tf.where(curved, tf.sqrt(2 * trust / tf.where(curved, curvature, trust)), tf.zeros_like(trust))

    def near(rate, missing, low, high):
        return (tf.abs(missing) < _CLOSE) | ~(rate > 0)

    def missed(rate):
        """log(trust / divergence), that of too much where it is not finite."""
        found = divergence(rate)
        sound = tf.math.is_finite(found) & (found > 0)
        return tf.where(sound, tf.math.log(trust / tf.where(sound, found, trust)), -2 * tf.ones_like(trust))

    def corrected(rate, missing, low, high):
        low, high = tf.where(missing > 0, rate, low), tf.where(missing > 0, high, rate)
        new = rate * tf.exp(tf.clip_by_value(missing / 2, -1.0, 1.0))
        new = tf.where((low > 0) & tf.math.is_finite(high), tf.sqrt(low * high), new)
        return new, missed(new), low, high

    start = [first, missed(first), tf.constant(0.0, dtype), tf.constant(np.inf, dtype)]
    rate, missing, low, _ = _tf.while_loop_v2(
        lambda *s: ~near(*s), corrected, start, maximum_iterations=_CORRECTIONS, parallel_iterations=1
    )
    return tf.where(missing < -_CLOSE, low, rate)  # rather too little
