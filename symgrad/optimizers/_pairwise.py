"""What gradient transforms share: which variables they are for, numbers that follow a schedule, sparse gradients."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs
from .._optimizing._hyperparameters import is_number, is_schedule
from .._optimizing._variables import is_variable, label, unwrap
from ..errors import OptimizerError

__all__ = ["When", "chosen", "each", "on_values", "positive", "scheduled", "summed", "values_of", "warn_if_none"]

#: What `when` may be: a function of the variable, a pattern of names, or names and variables one by one.
When = Callable[[Any], bool] | str | Sequence[Any] | None

_log = logging.getLogger("symgrad")


def chosen(name: str, when: When) -> Callable[[Any], bool]:
    """The function of a variable that says whether a transform is for it.

    Raises:
      OptimizerError: `when` is nothing that chooses variables.
    """
    if when is None:
        return lambda var: True
    if callable(when) and not is_variable(when):
        return when
    if isinstance(when, str):
        try:
            pattern = re.compile(when)
        except re.error as error:
            raise OptimizerError(f"{name}: when is {when!r}, which is no regular expression: {error}") from error
        return lambda var: pattern.match(label(var)) is not None
    if not isinstance(when, (list, tuple, set, frozenset)) or not all(
        isinstance(one, str) or is_variable(unwrap(one)) for one in when
    ):
        raise OptimizerError(
            f"{name}: when is {when!r}; wanted a function of the variable, a regular expression that its name begins "
            "with, or a list of names and variables"
        )
    names = {one.split(":")[0] for one in when if isinstance(one, str)}
    references = {unwrap(one).ref() for one in when if not isinstance(one, str)}
    return lambda var: label(var) in names or var.ref() in references


def warn_if_none(name: str, when: When, pairs: Pairs, chosen_ones: Callable[[Any], bool]) -> None:
    """Say so in the log where a pattern or a list fits no variable of a step: a misspelt name would be silent."""
    if when is not None and not callable(when) and not any(chosen_ones(var) for _, var in pairs):
        names = ", ".join(label(var) for _, var in pairs)
        _log.warning("%s: when=%r fits none of the variables of this step: %s", name, when, names)


class _AtStep(Transform):
    """A transform that is made anew at each step, with the numbers that its schedules have there."""

    def __init__(self, make: Callable[..., Callable[[Pairs], Pairs]], numbers: Sequence[Any]):
        self._make, self._numbers = make, numbers

    def __call__(self, pairs: Pairs) -> Pairs:
        """What the transform of this step makes of the pairs."""
        step = self.optimizer._finished_steps()
        return self._make(*(number(step) if is_schedule(number) else number for number in self._numbers))(pairs)


def scheduled(make: Callable[..., Callable[[Pairs], Pairs]], *numbers: Any) -> Callable[[Pairs], Pairs]:
    """The transform `make(*numbers)`; where a number is a schedule, that of the number of finished steps."""
    return _AtStep(make, numbers) if any(is_schedule(number) for number in numbers) else make(*numbers)


def summed(grad: Any) -> Any:
    """A gradient in which every row comes once; a dense one as it is."""
    if not isinstance(grad, tf.IndexedSlices):
        return grad
    rows, positions = tf.unique(grad.indices)
    values = tf.math.unsorted_segment_sum(grad.values, positions, tf.size(rows))
    return tf.IndexedSlices(values, rows, grad.dense_shape)


def on_values(function: Callable[[tf.Tensor], tf.Tensor], grad: Any) -> Any:
    """The function of a dense gradient, or of the rows of a sparse one."""
    grad = summed(grad)
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(function(grad.values), grad.indices, grad.dense_shape)
    return function(grad)


def each(name: str, function: Callable[[tf.Tensor, Any], tf.Tensor], when: When) -> Callable[[Pairs], Pairs]:
    """The transform that takes the numbers of every gradient, and its variable, by itself."""
    wanted = chosen(name, when)

    def transform(pairs: Pairs) -> Pairs:
        warn_if_none(name, when, pairs, wanted)
        return [
            (on_values(lambda values: function(values, var), grad) if wanted(var) else grad, var)  # noqa: B023
            for grad, var in pairs
        ]

    transform.__name__ = name
    return transform


def positive(name: str, **numbers: Any) -> None:
    for argument, number in numbers.items():
        if is_number(number) and not number > 0:
            raise OptimizerError(f"{name}: {argument} is {number}; wanted a number above 0")


def values_of(grad: Any) -> tf.Tensor:
    """The numbers of a gradient."""
    return grad.values if isinstance(grad, tf.IndexedSlices) else grad
