"""Which way a Jacobian is computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import tensorflow.compat.v1 as tf

from .._problem import Problem
from ._bottleneck import waist

# What a column costs in rows. Through a loop a tangent turns with the values; a cotangent needs a second loop, and what
# the first one stored. Through V1 branches, and V1 loops inside of each other, columns vectorise and rows do not.
_THROUGH_LOOPS = 1 / 2
_BESIDE_SINGLE_ROWS = 1 / 16

Mode = Literal["auto", "rows", "columns"]
MODES = get_args(Mode)


def check_mode(mode: str) -> None:
    """Refuse a mode that is none of the three."""
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}; wanted one of {', '.join(map(repr, MODES))}")


@dataclass(frozen=True)
class Decision:
    """By what a Jacobian is computed.

    Attributes:
      mode: "rows" or "columns".
      why: why.
      asked: whether the caller said so.
      narrow: the tensor through which both ways meet, if there is one.
    """

    mode: str
    why: str
    asked: bool = False
    narrow: tf.Tensor | None = None


def decide(mode: str, problem: Problem, *, through: bool = True) -> Decision:
    """By what to compute the Jacobian, before anything is built.

    "auto" takes columns if they cost less than rows; not where the sizes are unknown. With `through` it goes through a
    narrow tensor that all paths cross, where there is one.
    """
    if mode != "auto":
        return Decision(mode, "as asked for", asked=True)
    narrow = waist(problem) if through else None
    if narrow is not None:
        size = narrow.shape.num_elements()
        return Decision("columns", f"{_sides(problem)}, and all cross {narrow.name} of {size}", narrow=narrow)
    return _cheaper(problem)


def _cheaper(problem: Problem) -> Decision:
    crossed = problem.crossings
    columns, rows = _elements(problem.xs), _elements(problem.ys)
    if crossed.nested_v1_loops or crossed.v1_branches:
        cost, of = _BESIDE_SINGLE_ROWS, ", a column at a sixteenth of a row: rows through V1 branches do not vectorise"
        is_cheaper = columns * cost < rows or rows == float("inf")
    else:
        loops = crossed.v1_loops or crossed.v2_loops
        cost, of = (_THROUGH_LOOPS, ", a column at half a row through a loop") if loops else (1, "")
        is_cheaper = columns * cost < rows
    return Decision("columns" if is_cheaper else "rows", _sides(problem) + of)


def _sides(problem: Problem) -> str:
    return f"{_count(_elements(problem.ys))} rows against {_count(_elements(problem.xs))} columns"


def _count(elements: float) -> str:
    return "an unknown number of" if elements == float("inf") else f"{elements:.0f}"


def _elements(tensors: Sequence) -> float:
    """How many elements the tensors have together; infinitely many if it is not known."""
    sizes = [tf.TensorShape(t.shape).num_elements() for t in tensors]
    return float("inf") if None in sizes else float(sum(sizes))
