"""What an optimizer class declares: hyperparameters, options, slots and shared slots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError

__all__ = ["REQUIRED", "declared", "hyperparameter", "option", "refuse_taken_names", "shared_slot", "slot"]

REQUIRED: Any = object()

#: What the `h` of `step` has of its own.
_TAKEN = frozenset({"t", "variable", "use_locking", "option"})


class _Declaration:
    """A class attribute that knows the name under which it stands."""

    attribute: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name


def refuse_taken_names(cls: type) -> None:
    """Raise an OptimizerError where a class declares something under a name that `h` has already."""
    for name, value in vars(cls).items():
        if isinstance(value, _Declaration) and not isinstance(value, slot) and name in _TAKEN:
            raise OptimizerError(f"{cls.__name__} declares {name!r}, which `h.{name}` already is in `step`; rename it")


_D = TypeVar("_D", bound=_Declaration)


def declared(cls: type, kind: type[_D]) -> dict[str, _D]:
    """All declarations of one kind of a class and its bases, in the order in which they were written."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, _Declaration):
                found[name] = value
            elif name in found:  # a subclass may take a declaration away: `kernel_only = None`
                del found[name]
    return {name: value for name, value in found.items() if isinstance(value, kind)}


class _Number(_Declaration):
    """A declaration with a range for numbers."""

    def __init__(
        self,
        default: Any,
        *,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ):
        self.default, self.low, self.high, self.above, self.below = default, low, high, above, below

    def problem(self, number: float) -> str | None:
        """What is wrong with a number, if something is."""
        if not math.isfinite(number):
            return "a finite number"
        if self.low is not None and number < self.low:
            return f"a number of at least {self.low}"
        if self.high is not None and number > self.high:
            return f"a number of at most {self.high}"
        if self.above is not None and number <= self.above:
            return f"a number above {self.above}"
        if self.below is not None and number >= self.below:
            return f"a number below {self.below}"
        return None

    def within(self, value: Any, what: str) -> Any:
        """The tensor, checked when it runs: NaN in place of a number out of range, and the message that says so."""
        rules = (
            (self.low, tf.less, "at least"),
            (self.high, tf.greater, "at most"),
            (self.above, tf.less_equal, "above"),
            (self.below, tf.greater_equal, "below"),
        )
        for limit, breaks, word in rules:
            if limit is not None:
                nan = tf.constant(math.nan, value.dtype)
                broken = breaks(value, tf.constant(limit, value.dtype))
                value = tf.check_numerics(tf.where(broken, nan, value), f"{what}: wanted a number {word} {limit}")
        return value


class hyperparameter(_Number):
    """A number that steers the formula and may change while training.

    The constructor takes it by position (in the order of declaration) or by name, as a number, tensor, variable,
    schedule or callable. `optimizer.<name>` reads it and `optimizer.<name> = x` sets it; in `step` it is `h.<name>`, a
    scalar tensor of the variable's dtype.

    Args:
      default: the value when the constructor gets none; without a default the constructor insists on one.
      low: smallest number allowed.
      high: largest number allowed.
      above: numbers must be larger than this.
      below: numbers must be smaller than this.

    Example:
      >>> class Plain(symgrad.optimizers.Optimizer):
      ...     learning_rate = symgrad.optimizers.hyperparameter(0.01, low=0.0)
    """

    def __init__(
        self,
        default: Any = REQUIRED,
        *,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ):
        super().__init__(default, low=low, high=high, above=above, below=below)

    def __get__(self, optimizer: Any, owner: type | None = None) -> Any:
        return self if optimizer is None else optimizer._get_hyperparameter(self.attribute)

    def __set__(self, optimizer: Any, value: Any) -> None:
        optimizer._set_hyperparameter(self.attribute, value)


class option(_Number):
    """A Python value that is fixed when the optimizer is made, such as `nesterov`; given by keyword.

    Args:
      default: the value when the constructor gets none.
      low: smallest number allowed, where it is a number.
      above: numbers must be larger than this.
    """

    def __init__(self, default: Any, *, low: float | None = None, above: float | None = None):
        super().__init__(default, low=low, above=above)

    def __get__(self, optimizer: Any, owner: type | None = None) -> Any:
        return self if optimizer is None else optimizer._options[self.attribute]

    def __set__(self, optimizer: Any, value: Any) -> None:
        raise AttributeError(f"{self.attribute} is fixed when a {type(optimizer).__name__} is made: make another one")


class slot(_Declaration):
    """State that each variable has for itself, of the variable's shape and dtype: `s.<name>` in `step`.

    Args:
      initial: number; or the name of an option that holds one; or a function of the variable that returns a tensor.
      name: the slot's name for `get_slot` and in checkpoints, where it is not that of the attribute.
      when: name of an attribute of the optimizer; the slot exists only where that is true.
    """

    def __init__(self, initial: float | str | Callable[[Any], Any] = 0.0, *, name: str = "", when: str = ""):
        self.initial, self.name, self.when = initial, name, when

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.name = self.name or name


class shared_slot(_Declaration):
    """State that all variables share and every step advances, such as Adam's `beta1_power`: `h.<name>` in `step`.

    Args:
      initial: number, or the name of a hyperparameter or option that holds it.
      advance: function of the present value and the hyperparameters `h`: the value after this step.

    Example:
      >>> class WithPower(symgrad.optimizers.Optimizer):
      ...     beta = symgrad.optimizers.hyperparameter(0.9)
      ...     power = symgrad.optimizers.shared_slot("beta", advance=lambda power, h: power * h.beta)
    """

    def __init__(self, initial: float | str, *, advance: Callable[[Any, Any], Any]):
        self.initial, self.advance = initial, advance
