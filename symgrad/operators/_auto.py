"""Which way a Jacobian is computed."""

import logging
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, rules
from ..errors import MissingRuleError, NotLinearError
from ._frames import crosses_v1_loops
from ._maps import Columns, Rows

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
    fewer = _elements(xs) < _elements(ys) and not crosses_v1_loops(rules.between(ys, [x.tensor for x in xs], stop))
    if mode == "columns" or (mode == "auto" and fewer):
        try:
            return Columns(ys, xs, stop)
        except (MissingRuleError, NotLinearError) as error:
            if mode == "columns":
                raise
            _log.info("the Jacobian of %s goes by rows, since columns cannot be had: %s", ys[0].name, error)
    return Rows(ys, xs, stop)


def _elements(tensors: Sequence) -> float:
    """How many elements the tensors have together; infinitely many if it is not known."""
    sizes = [tf.TensorShape(t.shape).num_elements() for t in tensors]
    return float("inf") if None in sizes else float(sum(sizes))
