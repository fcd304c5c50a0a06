"""Optimizers for large batches and large models."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._declarations import hyperparameter, option, slot
from .._optimizing._kernel import Kernel, Kernels
from .._optimizing._scratch import can_scratch_for, through_scratch
from .._optimizing._variables import read
from ._adam import AdamW, moments
from ._optimizer import Optimizer

__all__ = ["LAMB", "Lion"]

Step = tuple[tf.Tensor, dict[str, tf.Tensor]]


def _rate_of_lamb(value: tf.Tensor, direction: tf.Tensor, h: Any) -> tf.Tensor:
    adapts = h.option("adapts")
    if adapts is None or adapts(h.variable):
        return h.learning_rate * _ratio_of_lengths(value, direction)
    return h.learning_rate


def _ratio_of_lengths(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """|x| / |y|, and 1 where one of them is 0."""
    # tf.nn.l2_loss, half of the square, is one pass.
    squared = tf.math.divide_no_nan(tf.nn.l2_loss(x), tf.nn.l2_loss(y))
    return tf.where(squared > 0, tf.sqrt(squared), tf.ones_like(squared))


def _lamb_by_kernels(grad: tf.Tensor, var: Any, h: Any, slots: dict[str, Any]) -> tf.Operation:
    """LAMB by Adam's kernel, which adds its direction to the decay in a scratch variable; then its length is known."""
    value, root = read(var), tf.sqrt(1 - h.beta2_power)

    def adam(scratch: tf.Tensor) -> tf.Operation:
        states = {"m": slots["m"].handle, "v": slots["v"].handle, "grad": grad, "use_locking": h.use_locking}
        betas = {name: getattr(h, name) for name in ("beta1", "beta2", "beta1_power", "beta2_power")}
        one = tf.constant(1, grad.dtype)
        return tf.raw_ops.ResourceApplyAdam(var=scratch, lr=-one, epsilon=h.epsilon * root, **betas, **states)

    direction = through_scratch(h.weight_decay * value, adam)
    rate = _rate_of_lamb(value, direction, h)
    return tf.raw_ops.ResourceApplyGradientDescent(
        var=var.handle, alpha=rate, delta=direction, use_locking=h.use_locking
    )


class LAMB(AdamW):
    """Adam whose step has, in each variable, a length in proportion to the variable's.

        m, v as in Adam;   r = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * x
        x <- x - learning_rate * |x| / |r| * r        (the ratio is 1 where |x| or |r| is 0)

    Args:
      learning_rate: step size.
      weight_decay: share of the variable in r; `multipliers` leaves variables out.
      beta1: how much of the mean of gradients is kept at a step.
      beta2: the same of the mean of squares.
      epsilon: added to the root.
      adapts: function of the variable, whether its length counts; None: that of every variable.

    Reference: Y. You et al. (2020), Large batch optimization for deep learning: training BERT in 76 minutes, ICLR.
    """

    kernel = Kernels(_lamb_by_kernels, can_scratch_for)
    rowwise = False
    epsilon = hyperparameter(1e-6, low=0.0)
    weight_decay = hyperparameter(0.0, low=0.0)
    adapts = option(None)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        m, v = moments(grad, h, s)
        # The corrections of the means are scalars; taken together they cost one pass over the variable.
        root = tf.sqrt(1 - h.beta2_power)
        ratio = m / (tf.sqrt(v) + h.epsilon * root)
        direction = root / (1 - h.beta1_power) * ratio + h.weight_decay * var
        rate = _rate_of_lamb(tf.convert_to_tensor(var), direction, h)
        return -rate * direction, {"m": m, "v": v}


_DECAYED_DESCENT = Kernel(
    "GradientDescent",
    {},
    {"alpha": "learning_rate"},
    grad="delta",
    shrink=lambda h: 1 - h.learning_rate * h.weight_decay,
)


def _lion_by_kernels(grad: tf.Tensor, var: Any, h: Any, slots: dict[str, Any]) -> Any:
    """Lion by the kernel of Keras's momentum, which makes the new m and adds it to a scratch variable.

    The mix beta1 m + (1 - beta1) g has the sign of (the new m) + (beta2 / beta1 - 1) g.
    """
    share = tf.check_numerics(h.beta2 / h.beta1 - 1, "Lion.beta1 has to be above 0, and at this step it is not")

    def momentum(scratch: tf.Tensor) -> tf.Operation:
        states = {"var": scratch, "accum": slots["m"].handle, "use_locking": h.use_locking}
        return tf.raw_ops.ResourceApplyKerasMomentum(lr=h.beta2 - 1, grad=grad, momentum=h.beta2, **states)

    mix = through_scratch(share * grad, momentum)
    return _DECAYED_DESCENT.dense(tf.sign(mix), var, h, {})


class Lion(Optimizer):
    """The sign of a mix of gradient and momentum: steps of one size, with half of Adam's memory.

        x <- x - learning_rate * (sign(beta1 m + (1 - beta1) g) + weight_decay * x);   m <- beta2 m + (1 - beta2) g

    Args:
      learning_rate: step size; a third to a tenth of Adam's.
      beta1: share of the momentum in the step, above 0.
      beta2: how much of the momentum is kept.
      weight_decay: decoupled weight decay.

    Reference: X. Chen et al. (2023), Symbolic discovery of optimization algorithms, NeurIPS.
    """

    learning_rate = hyperparameter(1e-4, low=0.0)
    beta1 = hyperparameter(0.9, above=0.0, below=1.0)
    beta2 = hyperparameter(0.99, low=0.0, below=1.0)
    weight_decay = hyperparameter(0.0, low=0.0)
    m = slot()
    kernel = Kernels(_lion_by_kernels, can_scratch_for)

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> Step:
        """The formula above."""
        direction = tf.sign(h.beta1 * s.m + (1 - h.beta1) * grad) + h.weight_decay * var
        return -h.learning_rate * direction, {"m": s.m + (1 - h.beta2) * (grad - s.m)}
