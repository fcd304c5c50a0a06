"""Why a gradient is None, and where a NaN is born."""

__all__: list[str] = []
