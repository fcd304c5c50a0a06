"""The operators: gradients, Lop, Rop, jacobian."""

from ._gradients import gradients
from ._jacobian import jacobian
from ._lop import Lop
from ._rop import Rop

__all__ = ["Lop", "Rop", "gradients", "jacobian"]
