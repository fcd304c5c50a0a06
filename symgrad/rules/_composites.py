"""Ops that have no gradient, or one that is wrong or incomplete, written as compositions of other ops.

The derivative of the composition, of any order and in any input, stands for that of the op; the op itself goes on
computing the values. A composite is given the op and tensors in the place of its inputs, and returns what the op would,
None for outputs that are not floating.
"""

from collections.abc import Callable

import tensorflow.compat.v1 as tf

from ._registry import Registry, Rule

composite = Registry("composite")


def composite_when(condition: Callable[[tf.Operation], bool], *op_types: str) -> Callable[[Rule], Rule]:
    """The decorator for a composite that replaces the gradient of an op type for some ops only."""

    def register(rule: Rule) -> Rule:
        rule.condition = condition  # type: ignore[attr-defined]
        return composite(*op_types)(rule)

    return register


def is_composite(op: tf.Operation) -> bool:
    """True if the gradient of `op` is that of a composite."""
    return op.type in composite and getattr(composite[op.type], "condition", lambda op: True)(op)
