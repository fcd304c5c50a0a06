"""Gradient descent, with and without momentum."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._declarations import hyperparameter, option, slot
from .._optimizing._hyperparameters import is_number
from .._optimizing._kernel import Kernel
from .._optimizing._variables import scatter_add
from ..errors import OptimizerError
from ._optimizer import Optimizer

__all__ = ["SGD", "Momentum"]


class Momentum(Optimizer):
    """Gradient descent with momentum, as `tf.compat.v1.train.MomentumOptimizer`.

        m <- momentum * m + g;   x <- x - learning_rate * m
        Nesterov:                x <- x - learning_rate * (g + momentum * m)

    Args:
      learning_rate: step size.
      momentum: share of the last step that goes into the next.
      nesterov: look ahead, as Nesterov's method does.

    Reference: B. Polyak (1964), Some methods of speeding up the convergence of iteration methods; I. Sutskever et al.
    (2013), On the importance of initialization and momentum in deep learning, ICML.
    """

    default_lazy = True
    learning_rate = hyperparameter(low=0.0)
    momentum = hyperparameter(0.9, low=0.0)
    nesterov = option(False)
    velocity = slot(name="momentum")
    kernel = Kernel(
        "Momentum",
        {"accum": "velocity"},
        {"lr": "learning_rate", "momentum": "momentum"},
        flags={"use_nesterov": "nesterov"},
        sparse=True,
    )

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The formula above."""
        velocity = h.momentum * s.velocity + grad
        ahead = grad + h.momentum * velocity if self.nesterov else velocity
        return -h.learning_rate * ahead, {"velocity": velocity}


class SGD(Optimizer):
    """Gradient descent; with `momentum` it is `Momentum`, without it has no slots.

        x <- x - learning_rate * g

    Args:
      learning_rate: step size.
      momentum: share of the last step that goes into the next; with 0 there is none, and none can be set later.
      nesterov: look ahead, as Nesterov's method does.

    Example:
      >>> with tf.Graph().as_default(), tf.Session() as session:
      ...     x = tf.Variable(1.0)
      ...     train = SGD(0.1).minimize(3 * x * x)
      ...     session.run(tf.global_variables_initializer())
      ...     session.run(train)
      ...     print(f"{session.run(x):.1f}")
      0.4

    Reference: H. Robbins and S. Monro (1951), A stochastic approximation method.
    """

    default_lazy = True
    default_name = "GradientDescent"
    learning_rate = hyperparameter(0.01, low=0.0)
    momentum = hyperparameter(0.0, low=0.0)
    nesterov = option(False)
    velocity = slot(name="momentum", when="has_momentum")
    kernel = Kernel("GradientDescent", {}, {"alpha": "learning_rate"}, grad="delta")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.nesterov and not self.has_momentum:
            raise OptimizerError(f"{type(self).__name__} has nesterov=True and momentum=0; give it a momentum: 0.9")

    @property
    def has_momentum(self) -> bool:
        """Whether there is state to keep: momentum is not the number 0, or once was not."""
        given = self._hyper.given("momentum")
        return not is_number(given) or given != 0.0 or "momentum" in self._slots

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The formula above."""
        if self.has_momentum:
            return Momentum.step(self, grad, var, h, s)
        return -h.learning_rate * grad, {}

    def _kernel(self) -> Kernel | None:
        return Momentum.kernel if self.kernel is not None and self.has_momentum else self.kernel

    def _set_hyperparameter(self, name: str, value: Any, session: Any = None) -> None:
        if name == "momentum" and self._built_in and not self.has_momentum:
            raise OptimizerError("the training step is built without momentum; make another SGD with it")
        super()._set_hyperparameter(name, value, session)

    def _resource_apply_sparse_duplicate_indices(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> Any:
        if self.has_momentum or self.kernel is None:
            return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices)
        return scatter_add(handle, indices, -self._scalars(handle).learning_rate * grad)

    def _apply_sparse_duplicate_indices(self, grad: tf.IndexedSlices, var: Any) -> Any:
        if self.has_momentum or self.kernel is None:
            return super()._apply_sparse_duplicate_indices(grad, var)
        return scatter_add(var, grad.indices, -self._scalars(var).learning_rate * grad.values)
