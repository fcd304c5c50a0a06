"""The line of user code that made an op, where TensorFlow kept it."""

import functools
import os
import sysconfig
from typing import Any

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Every installed package counts as a library: the user's line is the one that called it.
_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})

_TENSORFLOW = ("tensorflow", "keras", "tf_keras", "tf_slim")


def made_at(op: Any) -> str | None:
    """`file:line` of the innermost frame outside of TensorFlow, this package and installed libraries.

    Args:
      op: a `tf.Operation`.

    Returns:
      The place; in a library if all code is installed; None for an op that was imported from a file, of which
      TensorFlow keeps no traceback.
    """
    fallback = None
    for frame in reversed(list(op.traceback or ())):
        kind = _kind(frame.filename)
        if kind == "user":
            return f"{frame.filename}:{frame.lineno}"
        if kind == "library":
            fallback = fallback or f"{frame.filename}:{frame.lineno}"
    return fallback


@functools.cache
def _kind(filename: str) -> str:
    """Whose code a file holds: the user's, an installed library's, or that of TensorFlow and this package."""
    parts = filename.split(os.sep)
    if filename.startswith((_OWN, "<frozen")) or any(name in parts for name in _TENSORFLOW):
        return "tensorflow"
    return "library" if filename.startswith(_LIBRARIES) else "user"
