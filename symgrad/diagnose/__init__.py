"""Why a gradient is None, and where a NaN is born."""

from ._why import Finding, why_none

__all__ = ["Finding", "why_none"]
