"""Which ops may be compiled by XLA, and the call that computes them compiled."""

from ._call import call
from ._plan import Plan, planned
from ._reasons import Outside

__all__ = ["Outside", "Plan", "call", "planned"]
