"""Gradient transforms that keep nothing: centralise, add noise, decay, freeze.

Each function here returns a transform: something that takes `[(gradient, variable), ...]` and returns the like. A
sparse gradient stays sparse where the result is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs
from .._optimizing._variables import assign, colocated, read, scalar
from ._pairwise import When, chosen, on_values, positive, scheduled

__all__ = ["add_noise", "centralize", "decoupled_decay", "freeze", "l2_decay"]

_Pairwise = Callable[[Pairs], Pairs]


def centralize(when: When = None) -> _Pairwise:
    """Dense gradients of matrices and kernels less their mean over all axes but the last; others as they are.

    Args:
      when: the variables whose gradients are centred; None: all.

    Reference: H. Yong et al. (2020), Gradient centralization: a new optimization technique for DNNs, ECCV.
    """

    wanted = chosen("centralize", when)

    def transform(pairs: Pairs) -> Pairs:
        return [(_centred(grad) if wanted(var) else grad, var) for grad, var in pairs]

    transform.__name__ = "centralize"
    return transform


def _centred(grad: Any) -> Any:
    if isinstance(grad, tf.IndexedSlices) or grad.shape.rank is None or grad.shape.rank < 2:
        return grad
    return grad - tf.reduce_mean(grad, axis=list(range(grad.shape.rank - 1)), keepdims=True)


def freeze(frozen: When) -> _Pairwise:
    """Leave variables out: neither they nor their slots change.

    Args:
      frozen: which, as `when` of the other transforms: a function of the variable, a regular expression that its name
        begins with (a scope), or a list of names and variables.
    """
    left_out = chosen("freeze", frozen)

    def transform(pairs: Pairs) -> Pairs:
        return [(grad, var) for grad, var in pairs if not left_out(var)]

    transform.__name__ = "freeze"
    return transform


def l2_decay(rate: Any, when: When = None) -> _Pairwise:
    """The gradient of rate / 2 * |x|^2 added: g + rate * x. A sparse gradient becomes dense, since all rows decay.

    Args:
      rate: strength of the penalty.
      when: the variables that decay, by a function, a pattern or a list; None: all do.
    """
    positive("l2_decay", rate=rate)

    wanted = chosen("l2_decay", when)

    def make(rate: Any) -> _Pairwise:
        def decayed(grad: Any, var: Any) -> Any:
            return tf.convert_to_tensor(grad) + scalar(rate, grad.dtype) * read(var) if wanted(var) else grad

        def transform(pairs: Pairs) -> Pairs:
            return [(decayed(grad, var), var) for grad, var in pairs]

        transform.__name__ = "l2_decay"
        return transform

    return scheduled(make, rate)


class decoupled_decay(Transform):
    """Decay that is not part of the gradient: x <- x - learning_rate * rate * x, before the optimizer's own step.

    Makes `Momentum` into SGDW and `Adam` into `AdamW`.

    Args:
      rate: share of the variable that is taken away per unit of learning rate.
      when: the variables that decay, by a function, a pattern or a list; None: all do.

    Reference: I. Loshchilov and F. Hutter (2019), Decoupled weight decay regularization, ICLR.
    """

    def __init__(self, rate: Any, when: When = None):
        positive("decoupled_decay", rate=rate)
        self._rate, self._wanted = rate, chosen("decoupled_decay", when)

    def before(self, variables: Sequence[Any]) -> list[Any]:
        """The decay of every variable that decays."""
        ops = []
        for var in variables:
            if self._wanted(var):
                with colocated(var):
                    factor = 1 - self.optimizer._scalars(var).learning_rate * scalar(self._rate, var.dtype.base_dtype)
                    ops.append(assign(var, read(var) * factor, use_locking=self.optimizer._use_locking))
        return ops


class add_noise(Transform):
    """Gaussian noise on every gradient, whose variance falls with the steps t: stddev^2 / (1 + t)^decay.

    Of a sparse gradient the rows that it names get noise.

    Args:
      stddev: standard deviation at the first step.
      decay: how the variance falls; 0 keeps it.
      seed: for the same noise in every run.

    Reference: A. Neelakantan et al. (2015), Adding gradient noise improves learning for very deep networks,
    arXiv:1511.06807.
    """

    def __init__(self, stddev: float, decay: float = 0.55, seed: int | None = None):
        positive("add_noise", stddev=stddev)
        self._stddev, self._decay, self._seed = stddev, decay, seed

    def __call__(self, pairs: Pairs) -> Pairs:
        """The gradients with noise."""
        stddev = scalar(self._stddev, tf.float32)
        if self._decay:
            stddev *= tf.pow(1.0 + tf.cast(self.optimizer._finished_steps(), tf.float32), -self._decay / 2)
        return [(on_values(self._noisy(stddev, i), grad), var) for i, (grad, var) in enumerate(pairs)]

    def _noisy(self, stddev: tf.Tensor, place: int) -> Callable[[tf.Tensor], tf.Tensor]:
        # One seed for all variables would give variables of one shape the same noise.
        seed = None if self._seed is None else self._seed + place

        def noisy(grad: tf.Tensor) -> tf.Tensor:
            noise = tf.random.normal(tf.shape(grad), dtype=grad.dtype, seed=seed)
            return grad + tf.cast(stddev, grad.dtype) * noise

        return noisy
