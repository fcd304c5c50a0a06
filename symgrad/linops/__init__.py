"""Curvature matrices and Jacobians as SciPy linear operators, and what products tell of a matrix."""

from ._check import Flaw, check
from ._density import Density, density
from ._estimators import diagonal, frobenius_norm, trace
from ._fisher import EmpiricalFisher, Fisher
from ._operator import GraphOperator
from ._operators import GGN, Hessian, Jacobian

__all__ = [
    "GGN",
    "Density",
    "EmpiricalFisher",
    "Fisher",
    "Flaw",
    "GraphOperator",
    "Hessian",
    "Jacobian",
    "check",
    "density",
    "diagonal",
    "frobenius_norm",
    "trace",
]
