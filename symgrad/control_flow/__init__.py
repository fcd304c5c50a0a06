"""Control flow that TensorFlow cannot differentiate as it stands: private copies of V2 ops, V1 contexts rebuilt."""

from ._private import MUTATED, PrivateCopy, clone, private

__all__ = ["MUTATED", "PrivateCopy", "clone", "private"]
