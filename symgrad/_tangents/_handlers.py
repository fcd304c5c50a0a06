"""Who pushes tangents through which op type: a function for each term, or one for all terms at once."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from .._bodies import is_call
from .._control_flow import leads_to_the_call

# Of a `Push` and an op; of a `Series` and an op.
Handler = Callable[[Any, tf.Operation], None]
WholeHandler = Callable[[Any, tf.Operation], None]

# What to do at an op for each term. The handler of all other op types is that of `OTHERS`.
HANDLERS: dict[str, Handler] = {}
OTHERS = ""

# What to do at an op for all terms at once.
WHOLE: dict[str, WholeHandler] = {}

# What to do with a `Push` before the first op.
PREPARATIONS: list[Callable[[Any], None]] = []


def handler(*op_types: str) -> Callable[[Handler], Handler]:
    """The decorator that makes a function the handler of these op types; it takes the driver and the op."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(op_types, function))
        return function

    return register


def whole(*op_types: str) -> Callable[[WholeHandler], WholeHandler]:
    """The decorator that makes a function the handler of these op types; it takes the series and the op."""

    def register(function: WholeHandler) -> WholeHandler:
        WHOLE.update(dict.fromkeys(op_types, function))
        return function

    return register


def is_handled(op: tf.Operation) -> bool:
    return kind_of(op) in WHOLE or op.type in HANDLERS or leads_to_the_call(op)


def kind_of(op: tf.Operation) -> str:
    """The op type under which the handler stands: one for all calls, also those whose op type is the function."""
    return "PartitionedCall" if is_call(op) else op.type
