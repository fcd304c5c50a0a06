"""Step sizes of their own for every number, from sums or means of squared gradients."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._declarations import hyperparameter, option, slot
from .._optimizing._kernel import Kernel
from ._optimizer import Optimizer

__all__ = ["Adadelta", "Adagrad", "RMSProp"]

Step = tuple[tf.Tensor, dict[str, tf.Tensor]]


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients, as `tf.compat.v1.train.AdagradOptimizer`.

        a <- a + g^2;   x <- x - learning_rate * g / sqrt(a)

    Args:
      learning_rate: step size.
      initial_accumulator_value: where a begins.

    Reference: J. Duchi, E. Hazan and Y. Singer (2011), Adaptive subgradient methods, JMLR 12.
    """

    default_lazy = True
    positions = ("learning_rate", "initial_accumulator_value")
    learning_rate = hyperparameter(low=0.0)
    initial_accumulator_value = option(0.1, above=0.0)
    accumulator = slot("initial_accumulator_value")
    kernel = Kernel("Adagrad", {"accum": "accumulator"}, {"lr": "learning_rate"}, sparse=True)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        accumulator = s.accumulator + tf.square(grad)
        return -h.learning_rate * grad * tf.math.rsqrt(accumulator), {"accumulator": accumulator}


class Adadelta(Optimizer):
    """Steps in the units of the variable: a mean of squared steps over one of squared gradients.

        a <- rho a + (1 - rho) g^2;   d = sqrt(u + epsilon) / sqrt(a + epsilon) * g
        u <- rho u + (1 - rho) d^2;   x <- x - learning_rate * d

    As `tf.compat.v1.train.AdadeltaOptimizer`.

    Args:
      learning_rate: step size; 1 in the paper.
      rho: how much of the means is kept at a step.
      epsilon: added under the roots.

    Reference: M. Zeiler (2012), ADADELTA: an adaptive learning rate method, arXiv:1212.5701.
    """

    default_lazy = True
    learning_rate = hyperparameter(0.001, low=0.0)
    rho = hyperparameter(0.95, low=0.0, below=1.0)
    epsilon = hyperparameter(1e-8, low=0.0)
    accum = slot()
    accum_update = slot()
    kernel = Kernel(
        "Adadelta",
        {"accum": "accum", "accum_update": "accum_update"},
        {"lr": "learning_rate", "rho": "rho", "epsilon": "epsilon"},
        sparse=True,
    )

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        accum = h.rho * s.accum + (1 - h.rho) * tf.square(grad)
        update = tf.sqrt(s.accum_update + h.epsilon) * tf.math.rsqrt(accum + h.epsilon) * grad
        accum_update = h.rho * s.accum_update + (1 - h.rho) * tf.square(update)
        return -h.learning_rate * update, {"accum": accum, "accum_update": accum_update}


_RMSPROP = {"lr": "learning_rate", "rho": "decay", "momentum": "momentum", "epsilon": "epsilon"}


class RMSProp(Optimizer):
    """Steps divided by the root of a running mean of squared gradients, as `tf.compat.v1.train.RMSPropOptimizer`.

        r <- decay r + (1 - decay) g^2;   d = r + epsilon
        centered:  c <- decay c + (1 - decay) g;   d = r - c^2 + epsilon
        m <- momentum m + learning_rate g / sqrt(d);   x <- x - m

    Args:
      learning_rate: step size.
      decay: how much of the means is kept at a step (Keras: rho).
      momentum: share of the last step that goes into the next.
      epsilon: added under the root.
      centered: divide by the variance and not by the mean of squares.

    Reference: T. Tieleman and G. Hinton (2012), Lecture 6.5, Coursera; A. Graves (2013), arXiv:1308.0850, equation 38.
    """

    default_lazy = True
    learning_rate = hyperparameter(low=0.0)
    decay = hyperparameter(0.9, low=0.0, below=1.0)
    momentum = hyperparameter(0.0, low=0.0)
    epsilon = hyperparameter(1e-10, low=0.0)
    centered = option(False)
    mean_square = slot(1.0, name="rms")
    mean_gradient = slot(name="mg", when="centered")
    velocity = slot(name="momentum")
    kernel = Kernel("RMSProp", {"ms": "mean_square", "mom": "velocity"}, _RMSPROP, sparse=True)
    _centered_kernel = Kernel(
        "CenteredRMSProp",
        {"mg": "mean_gradient", "ms": "mean_square", "mom": "velocity"},
        _RMSPROP,
        sparse=True,
    )

    def _kernel(self) -> Kernel | None:
        return self._centered_kernel if self.kernel is not None and self.centered else self.kernel

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        mean_square = s.mean_square + (tf.square(grad) - s.mean_square) * (1 - h.decay)
        new, variance = {"mean_square": mean_square}, mean_square
        if self.centered:
            new["mean_gradient"] = s.mean_gradient + (grad - s.mean_gradient) * (1 - h.decay)
            variance = mean_square - tf.square(new["mean_gradient"])
        new["velocity"] = h.momentum * s.velocity + h.learning_rate * grad * tf.math.rsqrt(variance + h.epsilon)
        return -new["velocity"], new
