"""Which way a Jacobian is computed."""

import logging
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .._op_types import LOOPS
from .._problem import Problem
from ..errors import MissingRuleError, NotLinearError
from ._crossings import crosses_nested_loops, crosses_v1_branches, crosses_v1_loops
from ._linear_maps import Columns, Rows

# What a column costs in rows. Through a loop a tangent turns with the values; a cotangent needs a second loop, and what
# the first one stored. Through V1 branches, and V1 loops inside of each other, columns vectorise and rows do not.
_THROUGH_LOOPS = 1 / 2
_BESIDE_SINGLE_ROWS = 1 / 16

MODES = ("auto", "rows", "columns")

_log = logging.getLogger("symgrad")


def check_mode(mode: str) -> None:
    """Refuse a mode that is none of the three."""
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}; wanted one of {', '.join(map(repr, MODES))}")


def choose(mode: str, problem: Problem) -> Rows | Columns:
    """What computes the Jacobian.

    "auto" takes columns if they cost less than rows; not where the sizes are unknown, nor where an op on the way has no
    second derivative.
    """
    if mode == "columns" or (mode == "auto" and _columns_are_cheaper(problem)):
        try:
            return Columns(problem)
        except (MissingRuleError, NotLinearError) as error:
            if mode == "columns":
                raise
            _log.info("the Jacobian of %s goes by rows, since columns cannot be had: %s", problem.ys[0].name, error)
    return Rows(problem)


def _columns_are_cheaper(problem: Problem) -> bool:
    between = problem.between
    columns, rows = _elements(problem.xs), _elements(problem.ys)
    if crosses_nested_loops(between) or crosses_v1_branches(between):
        return columns * _BESIDE_SINGLE_ROWS < rows or rows == float("inf")
    loops = crosses_v1_loops(between) or any(op.type in LOOPS for op in between.ops)
    return columns * (_THROUGH_LOOPS if loops else 1) < rows


def _elements(tensors: Sequence) -> float:
    """How many elements the tensors have together; infinitely many if it is not known."""
    sizes = [tf.TensorShape(t.shape).num_elements() for t in tensors]
    return float("inf") if None in sizes else float(sum(sizes))
