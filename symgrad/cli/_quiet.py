"""Keeps the notes that TensorFlow's native code writes to standard error away from the user."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_native_code() -> Iterator[None]:
    """Hold back what native code writes to standard error; Python's own writing goes through.

    TensorFlow prints notes about its build and about absent GPUs whatever TF_CPP_MIN_LOG_LEVEL says (seen in 2.21), so
    that an error of one line would come after eight others. They are shown after all when the body ends by an
    exception that is not SystemExit. When the user has set TF_CPP_MIN_LOG_LEVEL, nothing is held back.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    python_stderr = sys.stderr
    terminal = os.dup(2)
    try:
        with tempfile.TemporaryFile() as held, os.fdopen(os.dup(terminal), "w", buffering=1) as stderr:
            if _writes_to_descriptor_2(python_stderr):
                sys.stderr = stderr
            os.dup2(held.fileno(), 2)
            try:
                yield
            except Exception:
                held.seek(0)
                os.write(terminal, held.read())
                raise
            finally:
                os.dup2(terminal, 2)
                sys.stderr = python_stderr
    finally:
        os.close(terminal)
        del os.environ["TF_CPP_MIN_LOG_LEVEL"]


def _writes_to_descriptor_2(stream: object) -> bool:
    try:
        return stream.fileno() == 2  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
