"""Checks for derivatives: the adjoint identity, linearity, central differences."""

__all__: list[str] = []
