"""Tangents of a graph, pushed op by op from xs to ys."""

from . import _coefficients, _compiled_calls, _tensor_lists, _v1_frames, _v1_storage, _v2_branches, _v2_calls, _v2_loops
from ._algebra import FEW, Algebra, Index, along, closed, factorial, weighted
from ._coefficients import is_by_formula
from ._handlers import HANDLERS, handler
from ._push import Push, push, push_one, pushed, require_rules
from ._single_op import is_by_table
from ._single_op import through as through_op

__all__ = [
    "FEW",
    "HANDLERS",
    "Algebra",
    "Index",
    "Push",
    "along",
    "closed",
    "factorial",
    "handler",
    "is_by_formula",
    "is_by_table",
    "push",
    "push_one",
    "pushed",
    "require_rules",
    "through_op",
    "weighted",
]

# Importing them registers their handlers.
_TABLES = (_coefficients, _compiled_calls, _tensor_lists, _v1_frames, _v1_storage, _v2_branches, _v2_calls, _v2_loops)
