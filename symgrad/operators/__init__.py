"""The operators: gradients, Lop, Rop, Jacobians, Hessians and products with them, higher derivatives."""

from .._jacobians._limits import limits
from ._batch import batch_jacobian
from ._compiled import compiled
from ._example import example_jacobian
from ._gradients import gradients
from ._hessian import ggnvp, hessian, hvp
from ._jacobian import jacobian
from ._jacobian_blocks import jacobian_blocks
from ._jet import jet
from ._laplacian import biharmonic, laplacian
from ._lop import Lop
from ._partials import directional, partials
from ._plan import plan
from ._rop import Rop
from ._vector_fields import curl, divergence

__all__ = [
    "Lop",
    "Rop",
    "batch_jacobian",
    "biharmonic",
    "compiled",
    "curl",
    "directional",
    "divergence",
    "example_jacobian",
    "ggnvp",
    "gradients",
    "hessian",
    "hvp",
    "jacobian",
    "jacobian_blocks",
    "jet",
    "laplacian",
    "limits",
    "partials",
    "plan",
]
