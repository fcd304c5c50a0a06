"""Control flow that TensorFlow cannot differentiate as it stands: private copies of V2 ops, V1 contexts rebuilt."""

from ._inside import inside
from ._mend import mend_zero_gradients
from ._private import MUTATED, PrivateCopy, clone, private
from ._rebuild import rebuild, rebuild_for

__all__ = [
    "MUTATED",
    "PrivateCopy",
    "clone",
    "inside",
    "mend_zero_gradients",
    "private",
    "rebuild",
    "rebuild_for",
]
