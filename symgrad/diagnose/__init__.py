"""Why a gradient is None, and where a NaN is born."""

from ._births import Birth
from ._finding import Finding
from ._nan import nan_origin
from ._why import why_none

__all__ = ["Birth", "Finding", "nan_origin", "why_none"]
