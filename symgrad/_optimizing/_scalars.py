"""The scalars of one training step: hyperparameters, shared slots and the step's number, in each variable's dtype."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from ._host import StepHost
from ._variables import scalar

__all__ = ["Moment", "Scalars"]


class Moment:
    """What `step` can ask for at this moment; made anew for every call of `apply_gradients`.

    Args:
      optimizer: whose hyperparameters and shared slots they are.
      shared: name to variable of the shared slots.

    Attributes:
      finished: the number of finished steps, if the step has asked for it.
    """

    def __init__(self, optimizer: StepHost, shared: dict[str, Any]):
        self.optimizer = optimizer
        self._values = {name: optimizer._hyper.tensor(name, optimizer._finished_steps) for name in optimizer._hyper}
        self._values |= {name: tf.convert_to_tensor(variable.read_value()) for name, variable in shared.items()}
        self.finished: tf.Tensor | None = None
        self._cast: dict[tuple[str, tf.DType], tf.Tensor] = {}

    def scalar(self, name: str, dtype: tf.DType) -> tf.Tensor:
        """One of them, cast once for all variables of a dtype."""
        if (name, dtype) not in self._cast:
            if name == "t":
                # One read serves all, and the counter moves on after it.
                if self.finished is None:
                    self.finished = self.optimizer._finished_steps()
                value = self.finished + 1
            elif name in self._values:
                value = self._values[name]
                if name in self.optimizer._hyper:
                    self.optimizer._hyper.check_rounded(name, dtype)
            else:
                known = ", ".join(["t", "variable", *self._values])
                raise AttributeError(f"h has no {name!r}; {type(self.optimizer).__name__} has: {known}")
            self._cast[name, dtype] = tf.cast(value, dtype)
        return self._cast[name, dtype]


class Scalars:
    """The `h` of `step`: scalars by attribute, in one dtype and for one variable.

    Besides the declared names it has `t`, the number of this step from 1, and `variable`, the variable itself, for
    formulas that ask for its name.
    """

    def __init__(self, moment: Moment, dtype: tf.DType, variable: Any = None):
        self._moment, self._dtype, self.variable = moment, dtype, variable

    @property
    def use_locking(self) -> bool:
        """What the constructor was told."""
        return self._moment.optimizer._use_locking

    def option(self, name: str) -> Any:
        """One of the optimizer's options."""
        return getattr(self._moment.optimizer, name)

    def __getattr__(self, name: str) -> tf.Tensor:
        if name.startswith("_"):
            raise AttributeError(name)
        value = self._moment.scalar(name, self._dtype)
        multiplier = self._moment.optimizer._multipliers.get(name)
        if multiplier is not None and self.variable is not None:
            value = value * scalar(multiplier(self.variable), self._dtype)
        self.__dict__[name] = value
        return value
