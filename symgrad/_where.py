"""The line of user code that made an op, where TensorFlow kept it."""

import os
import sysconfig
from typing import Any

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Every installed package counts as a library: the user's line is the one that called it.
_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})


def made_at(op: Any) -> str | None:
    """`file:line` of the innermost frame outside of TensorFlow, this package and installed libraries.

    Args:
      op: a `tf.Operation`.

    Returns:
      The place; the innermost frame outside of TensorFlow if all code is installed; None for an op that was imported
      from a file, of which TensorFlow keeps no traceback.
    """
    frames = [f for f in (op.traceback or ()) if os.path.isabs(f.filename) or not f.filename.startswith("<frozen")]
    outside = [f for f in frames if not _is_tensorflow(f.filename) and not f.filename.startswith(_OWN)]
    users = [f for f in outside if not f.filename.startswith(_LIBRARIES)]
    chosen = users or outside
    return f"{chosen[-1].filename}:{chosen[-1].lineno}" if chosen else None


def _is_tensorflow(filename: str) -> bool:
    parts = filename.split(os.sep)
    return any(name in parts for name in ("tensorflow", "keras", "tf_keras", "tf_slim"))
