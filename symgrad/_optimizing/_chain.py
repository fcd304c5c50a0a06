"""The chain of gradient transforms between `compute_gradients` and the update."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError
from ._checked import Pairs
from ._variables import is_variable

__all__ = ["Gated", "Transform", "rescale_loss", "run_chain"]


class Gated(NamedTuple):
    """What a transform returns that may hold a step back.

    Args:
      pairs: the gradients with their variables.
      when: boolean scalar tensor; the step is taken only where it is true.
    """

    pairs: Pairs
    when: tf.Tensor


class Transform:
    """A link of the chain that needs more than the pairs: state, the loss, or what happens around the update.

    A function of `[(gradient, variable), ...]` is a transform; this class is for the others. Every method does nothing
    until it is overridden. `self.optimizer` is the optimizer whose chain it is in.
    """

    optimizer: Any = None

    def bind(self, optimizer: Any) -> None:
        """Called once, with the optimizer that has it in its chain."""
        if self.optimizer is not None and self.optimizer is not optimizer:
            raise OptimizerError(f"this {type(self).__name__} belongs to another optimizer; make one for each")
        self.optimizer = optimizer

    def unbound(self) -> Transform:
        """A copy for another optimizer."""
        twin = copy.copy(self)
        twin.optimizer = None
        return twin

    def __call__(self, pairs: Pairs) -> Pairs | Gated:
        """The gradients to go on with."""
        return pairs

    def under(self, pairs: Pairs, when: tf.Tensor | None) -> Pairs | Gated:
        """As `self(pairs)`, for transforms that keep something of every call.

        Args:
          pairs: the gradients, which may be anything where `when` is false.
          when: boolean scalar, whether the gates in front let this call through; None if there are none.
        """
        return self(pairs)

    def state(self, name: str, initial: float = 0.0, dtype: tf.DType = tf.float32) -> Any:
        """A scalar variable of this transform, saved as `<optimizer>/<name>`; made when first asked for.

        A second transform of the class in one chain has one of its own, `<name>_1`.
        """
        return self.optimizer._scalar_state(self._own(name), initial, dtype)

    def slot(self, var: Any, name: str, initial: Any = 0.0) -> Any:
        """A variable of this transform for each variable, like it and saved with it; made when first asked for.

        Args:
          var: the variable.
          name: the slot's name in `get_slot` and in checkpoints.
          initial: number, or a tensor of the variable's shape and dtype.
        """
        name = self._own(name)
        with tf.init_scope():  # a tf.function under a strategy knows a mirrored variable by another key
            if tf.is_tensor(initial) or initial:
                dtype = var.dtype.base_dtype
                value = initial if tf.is_tensor(initial) else tf.fill(tf.shape(var), tf.constant(initial, dtype))
                return self.optimizer._get_or_make_slot(var, value, name, name)
            return self.optimizer._zeros_slot(var, name, name)

    def _own(self, name: str) -> str:
        """The name, with a number if others of this class stand in front: two of them share no state."""
        alike = [t for t in self.optimizer.transforms if type(t) is type(self)]
        place = next((i for i, t in enumerate(alike) if t is self), 0)
        return f"{name}_{place}" if place else name

    def loss(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss whose gradients are computed."""
        return loss

    def gradient(self, grad: Any) -> Any:
        """The gradient of the loss, from that of the changed one."""
        return grad

    def create(self, variables: Sequence[Any]) -> None:
        """Make the state that a step on these variables needs."""

    def before(self, variables: Sequence[Any]) -> list[Any]:
        """Ops that run before the first variable changes."""
        return []

    def after(self, variables: Sequence[Any]) -> list[Any]:
        """Ops that run after the last variable has changed."""
        return []


def run_chain(transforms: Sequence[Callable], pairs: Pairs) -> tuple[Pairs, tf.Tensor | None]:
    """All transforms in their order, and the condition under which the step is taken (None: always).

    Raises:
      OptimizerError: a transform returns something that is not a list of pairs, or nothing to train is left.
    """
    when = None
    for transform in transforms:
        result = transform.under(pairs, when) if isinstance(transform, Transform) else transform(pairs)
        if isinstance(result, Gated):
            result, condition = result
            when = condition if when is None else tf.logical_and(when, condition)
        pairs = _checked(transform, result)
    return pairs, when


def _checked(transform: Any, result: Any) -> Pairs:
    name = getattr(transform, "__name__", type(transform).__name__)
    if not isinstance(result, (list, tuple)) or not all(
        isinstance(pair, tuple) and len(pair) == 2 and is_variable(pair[1]) for pair in result
    ):
        raise OptimizerError(f"transform {name} returned {result!r}; wanted a list of (gradient, variable)")
    pairs = [pair for pair in result if pair[0] is not None]
    if not pairs:
        raise OptimizerError(f"transform {name} left no variable to train")
    return pairs


def rescale_loss(transforms: Sequence[Any], loss: tf.Tensor) -> tuple[tf.Tensor, Callable[[Any], Any]]:
    """The loss to differentiate, and what makes the gradients of the given loss of its gradients."""
    links = [transform for transform in transforms if isinstance(transform, Transform)]
    for link in links:
        loss = link.loss(loss)

    def restore(grad: Any) -> Any:
        for link in reversed(links):
            grad = link.gradient(grad)
        return grad

    return loss, restore
