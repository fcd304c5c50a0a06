"""Optimizers for large batches and large models."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from ._adam import AdamW
from ._base import Optimizer
from ._declare import hyperparameter, option, slot

__all__ = ["LAMB", "Lion"]

Step = tuple[tf.Tensor, dict[str, tf.Tensor]]


class LAMB(AdamW):
    """Adam whose step has, in each variable, a length in proportion to the variable's.

        m, v as in Adam;   r = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * x
        x <- x - learning_rate * |x| / |r| * r        (the ratio is 1 where |x| or |r| is 0)

    Args:
      learning_rate: step size.
      beta1: how much of the mean of gradients is kept at a step.
      beta2: the same of the mean of squares.
      epsilon: added to the root.
      weight_decay: share of the variable in r; `multipliers` leaves variables out.
      adapts: function of the variable, whether its length counts; None: that of every variable.

    Reference: Y. You et al. (2020), Large batch optimization for deep learning: training BERT in 76 minutes, ICLR.
    """

    kernel = None
    rowwise = False
    epsilon = hyperparameter(1e-6, low=0.0)
    weight_decay = hyperparameter(0.0, low=0.0)
    adapts = option(None)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m = h.beta1 * s.m + (1 - h.beta1) * grad
        v = h.beta2 * s.v + (1 - h.beta2) * tf.square(grad)
        # The corrections of the means are scalars; taken together they cost one pass over the variable.
        root = tf.sqrt(1 - h.beta2_power)
        ratio = m / (tf.sqrt(v) + h.epsilon * root)
        direction = root / (1 - h.beta1_power) * ratio + h.weight_decay * var
        rate = h.learning_rate
        if self.adapts is None or self.adapts(h.variable):
            rate *= _ratio_of_lengths(tf.convert_to_tensor(var), direction)
        return -rate * direction, {"m": m, "v": v}


def _ratio_of_lengths(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """|x| / |y|, and 1 where one of them is 0."""
    x_squared, y_squared = tf.nn.l2_loss(x), tf.nn.l2_loss(y)  # half the square, in one pass
    both = tf.logical_and(x_squared > 0, y_squared > 0)
    return tf.where(both, tf.sqrt(tf.math.divide_no_nan(x_squared, y_squared)), tf.ones_like(x_squared))


class Lion(Optimizer):
    """The sign of a mix of gradient and momentum: steps of one size, with half of Adam's memory.

        x <- x - learning_rate * (sign(beta1 m + (1 - beta1) g) + weight_decay * x);   m <- beta2 m + (1 - beta2) g

    Args:
      learning_rate: step size; a third to a tenth of Adam's.
      beta1: share of the momentum in the step.
      beta2: how much of the momentum is kept.
      weight_decay: decoupled weight decay.

    Reference: X. Chen et al. (2023), Symbolic discovery of optimization algorithms, NeurIPS.
    """

    learning_rate = hyperparameter(1e-4, low=0.0)
    beta1 = hyperparameter(0.9, low=0.0, below=1.0)
    beta2 = hyperparameter(0.99, low=0.0, below=1.0)
    weight_decay = hyperparameter(0.0, low=0.0)
    m = slot()

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        direction = tf.sign(h.beta1 * s.m + (1 - h.beta1) * grad) + h.weight_decay * var
        return -h.learning_rate * direction, {"m": h.beta2 * s.m + (1 - h.beta2) * grad}
