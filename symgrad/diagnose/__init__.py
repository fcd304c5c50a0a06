"""Why a gradient is None, where a NaN is born, and what of TensorFlow 1 works here."""

from .._compiled import Outside
from .._finding import Finding
from ._environment import REPLACEMENTS, Check, check_environment
from ._nan import nan_origin
from ._nan_causes import Birth
from ._why import why_none
from ._why_not_compiled import why_not_compiled

__all__ = [
    "REPLACEMENTS",
    "Birth",
    "Check",
    "Finding",
    "Outside",
    "check_environment",
    "nan_origin",
    "why_none",
    "why_not_compiled",
]
