"""Why a gradient is None, and where a NaN is born."""

from ._finding import Finding
from ._why import why_none

__all__ = ["Finding", "why_none"]
