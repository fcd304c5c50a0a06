"""The operators: gradients, Lop, Rop, Jacobians, Hessians and products with them, higher derivatives."""

from .._jacobians._limits import limits
from ._batch import batch_jacobian
from ._example import example_jacobian
from ._gradients import gradients
from ._hessian import ggnvp, hessian, hvp
from ._jacobian import jacobian
from ._jacobian_blocks import jacobian_blocks
from ._jet import jet
from ._lop import Lop
from ._rop import Rop

__all__ = [
    "Lop",
    "Rop",
    "batch_jacobian",
    "example_jacobian",
    "ggnvp",
    "gradients",
    "hessian",
    "hvp",
    "jacobian",
    "jacobian_blocks",
    "jet",
    "limits",
]
