"""Control flow that TensorFlow cannot differentiate as it stands: private copies of V2 ops, V1 contexts rebuilt."""

from ._inline import CALLS, can_inline
from ._inside import inside
from ._mend import mend_zero_gradients
from ._private import MUTATED, PrivateCopy, bodies, clone, needs_copy, private
from ._rebuild import rebuild, rebuild_for

__all__ = [
    "CALLS",
    "MUTATED",
    "PrivateCopy",
    "bodies",
    "can_inline",
    "clone",
    "inside",
    "mend_zero_gradients",
    "needs_copy",
    "private",
    "rebuild",
    "rebuild_for",
]
