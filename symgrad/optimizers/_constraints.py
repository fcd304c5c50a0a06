"""Constraints that say that they look at one row at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["rowwise"]


def rowwise(constraint: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same constraint, marked as one that treats each row (index of the first axis) by itself.

    After a sparse update it is applied to the rows that moved, and not to the whole variable. That is right only if the
    constraint of some rows is those rows of the constraint of all: for clipping and for the norm of each row, not for
    the norm of a column.

    Args:
      constraint: function of the variable's value, as variables and Keras layers take it.

    Example:
      >>> positive = symgrad.optimizers.rowwise(lambda value: tf.maximum(value, 0.0))
      >>> table = tf.Variable(tf.ones([1000, 8]), constraint=positive)
    """

    @functools.wraps(constraint, updated=())
    def marked(value: Any) -> Any:
        return constraint(value)

    marked.rowwise = True  # type: ignore[attr-defined]
    return marked
