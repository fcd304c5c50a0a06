"""Which way a Jacobian is computed."""

import logging
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, rules
from ..control_flow import MUTATED
from ..errors import MissingRuleError, NotLinearError
from ._frames import crosses_v1_loops
from ._maps import Columns, Rows

# What a column through V2 loops and branches costs in rows, as their bodies are differentiated twice.
_TWICE_THROUGH_BODIES = 5

MODES = ("auto", "rows", "columns")

_log = logging.getLogger("symgrad")


def check_mode(mode: str) -> None:
    """Refuse a mode that is none of the three."""
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}; wanted one of {', '.join(map(repr, MODES))}")


def choose(
    mode: str, ys: Sequence[tf.Tensor], xs: Sequence[_tensors.Input], stop: Sequence[tf.Tensor]
) -> Rows | Columns:
    """What computes the Jacobian.

    "auto" takes columns if there are fewer of them than rows; not where the sizes are unknown, nor through V1
    loops, whose columns do not vectorise, nor where an op on the way has no second derivative.
    """
    if mode == "columns" or (mode == "auto" and _columns_are_cheaper(ys, xs, stop)):
        try:
            return Columns(ys, xs, stop)
        except (MissingRuleError, NotLinearError) as error:
            if mode == "columns":
                raise
            _log.info("the Jacobian of %s goes by rows, since columns cannot be had: %s", ys[0].name, error)
    return Rows(ys, xs, stop)


def _columns_are_cheaper(ys: Sequence[tf.Tensor], xs: Sequence[_tensors.Input], stop: Sequence[tf.Tensor]) -> bool:
    between = rules.between(ys, [x.tensor for x in xs], stop)
    if crosses_v1_loops(between):
        return False
    bodies = any(op.type in MUTATED for op in between.ops)
    return _elements(xs) * (_TWICE_THROUGH_BODIES if bodies else 1) < _elements(ys)


def _elements(tensors: Sequence) -> float:
    """How many elements the tensors have together; infinitely many if it is not known."""
    sizes = [tf.TensorShape(t.shape).num_elements() for t in tensors]
    return float("inf") if None in sizes else float(sum(sizes))
