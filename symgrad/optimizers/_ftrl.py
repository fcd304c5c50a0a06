"""Follow the regularized leader."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._declarations import hyperparameter, option, slot
from .._optimizing._kernel import Kernel
from ._optimizer import Optimizer

__all__ = ["Ftrl"]


def _l2(h: Any) -> tf.Tensor:
    beta = h.option("beta")
    if beta == 0.0:
        return h.l2_regularization_strength
    return h.l2_regularization_strength + beta / (2 * tf.maximum(h.learning_rate, 1e-36))


def _shrinkage(h: Any) -> tf.Tensor:
    # Rounded to float32 first, as TensorFlow does.
    return tf.cast(h.option("l2_shrinkage_regularization_strength"), h.learning_rate.dtype)


_SLOTS = {"accum": "accum", "linear": "linear"}
_SCALARS: dict[str, Any] = {
    "lr": "learning_rate",
    "l1": "l1_regularization_strength",
    "l2": _l2,
    "lr_power": "learning_rate_power",
}


class Ftrl(Optimizer):
    """Follow the regularized leader, proximally: sparse weights, as `tf.compat.v1.train.FtrlOptimizer`.

        a' = a + g^2;   p = -learning_rate_power
        z <- z + g + 2 l2_shrinkage x - (a'^p - a^p) / learning_rate * x;   a <- a'
        x <- (sign(z) l1 - z) / (a'^p / learning_rate + 2 l2) where |z| > l1, else 0

    l2 stands for l2_regularization_strength + beta / (2 learning_rate).

    Args:
      learning_rate: step size.
      learning_rate_power: how it falls with the sum of squares; at most 0.
      l1_regularization_strength: l1; makes zeros.
      l2_regularization_strength: l2.
      l2_shrinkage_regularization_strength: an L2 penalty on the magnitude only.
      beta: of the paper.
      initial_accumulator_value: where a begins.

    Reference: H. McMahan et al. (2013), Ad click prediction: a view from the trenches, KDD.
    """

    default_lazy = True
    positions = (
        "learning_rate",
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
    )
    learning_rate = hyperparameter(above=0.0)
    learning_rate_power = hyperparameter(-0.5, high=0.0)
    l1_regularization_strength = hyperparameter(0.0, low=0.0)
    l2_regularization_strength = hyperparameter(0.0, low=0.0)
    l2_shrinkage_regularization_strength = option(0.0, low=0.0)
    beta = option(0.0, low=0.0)
    initial_accumulator_value = option(0.1, low=0.0)
    accum = slot("initial_accumulator_value")
    linear = slot()
    kernel = Kernel("Ftrl", _SLOTS, _SCALARS, sparse=True)
    _shrinking_kernel = Kernel("FtrlV2", _SLOTS, _SCALARS | {"l2_shrinkage": _shrinkage}, sparse=True)

    def _kernel(self) -> Kernel | None:
        return self._shrinking_kernel if self.kernel and self.l2_shrinkage_regularization_strength else self.kernel

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The formula above."""
        accum = s.accum + tf.square(grad)
        power = tf.pow(accum, -h.learning_rate_power)
        sigma = (power - tf.pow(s.accum, -h.learning_rate_power)) / h.learning_rate
        linear = s.linear + grad + 2 * _shrinkage(h) * var - sigma * var
        l1 = h.l1_regularization_strength
        pulled = (tf.sign(linear) * l1 - linear) / (power / h.learning_rate + 2 * _l2(h))
        new = tf.where(tf.abs(linear) > l1, pulled, tf.zeros_like(pulled))
        return new - var, {"accum": accum, "linear": linear}
