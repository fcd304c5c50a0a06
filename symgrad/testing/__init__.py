"""Checks for derivatives: the adjoint identity, linearity, central differences."""

from ._checks import check_adjoint, check_linear, verify_grad
from ._numeric import numeric_jacobian

__all__ = ["check_adjoint", "check_linear", "numeric_jacobian", "verify_grad"]
