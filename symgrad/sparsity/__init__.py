"""Sparse Jacobians and Hessians: patterns, colourings, and values from few products."""

from ._coloring import Coloring
from ._derivative import SparseDerivative
from ._operators import sparse_hessian, sparse_jacobian
from ._pattern import Coarse, Pattern, hessian_pattern, pattern

__all__ = [
    "Coarse",
    "Coloring",
    "Pattern",
    "SparseDerivative",
    "hessian_pattern",
    "pattern",
    "sparse_hessian",
    "sparse_jacobian",
]
