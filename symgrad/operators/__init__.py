"""The operators: gradients, Lop, Rop, Jacobians, Hessians and products with them."""

from ._batch import batch_jacobian
from ._gradients import gradients
from ._hessian import ggnvp, hessian, hvp
from ._jacobian import jacobian
from ._limits import limits
from ._lop import Lop
from ._rop import Rop
from ._stream import jacobian_blocks

__all__ = [
    "Lop",
    "Rop",
    "batch_jacobian",
    "ggnvp",
    "gradients",
    "hessian",
    "hvp",
    "jacobian",
    "jacobian_blocks",
    "limits",
]
