"""Why a gradient is None, where a NaN is born, what XLA leaves outside, and what of TensorFlow 1 works here."""

from .._finding import Finding
from ._environment import REPLACEMENTS, Check, check_environment
from ._nan import nan_origin
from ._nan_causes import Birth
from ._not_compiled import why_not_compiled
from ._why import why_none

__all__ = [
    "REPLACEMENTS",
    "Birth",
    "Check",
    "Finding",
    "check_environment",
    "nan_origin",
    "why_none",
    "why_not_compiled",
]
