"""Entry point: runs the app and turns the errors that a user can act on into one line."""

import logging
import os
import re
import sys
from typing import Any, NoReturn, cast

import typer

from ..errors import SymgradError
from ._app import app
from ._quiet import quiet_native_code

# What a wrong command line raises. typer re-exports BadParameter alone of these errors, and newer versions bring a copy
# of click instead of requiring it, so the base class (ClickException) is reached through BadParameter.
_USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[2])

_PREAMBLE = ("Graph execution error", "Detected at node", "Node:")


def main(arguments: list[str] | None = None) -> None:
    """Run `symgrad` with these arguments and exit: 0, 1 after an error, 2 after a wrong command line.

    Args:
      arguments: what follows `symgrad` on the command line; None takes that of this process.
    """
    # TensorFlow's deprecation warnings are about the code of this package, not about the user's.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    with quiet_native_code():
        _run(sys.argv[1:] if arguments is None else arguments)


def _run(arguments: list[str]) -> NoReturn:
    try:
        code = app(args=arguments or ["--help"], prog_name="symgrad", standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that has gone is no error
    except _USAGE_ERROR as error:
        _fail(f"{cast(Any, error).format_message()} (see symgrad --help)", code=2)
    except SymgradError as error:
        _fail(str(error) or type(error).__name__, code=1)
    except _graph_errors() as error:
        _fail(_what_the_session_said(error.message), code=1)
    except (BrokenPipeError, SystemExit) as error:
        if not _reader_has_gone(error):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes
        sys.exit(0)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=1)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", code=130)
    sys.exit(code)


def _reader_has_gone(error: BaseException) -> bool:
    """True if the reader of the output has seen enough, as `| head` has; the parser makes an exit with 1 of it."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def _what_the_session_said(message: str) -> str:
    unfed = re.search(r"must feed a value for placeholder tensor '([^']+)'", message)
    if unfed:
        return f"the placeholder {unfed[1]!r} has no value; give --feed {unfed[1]}=FILE.npy"
    return f"the model does not run: {_first_line(message)}"


def _first_line(message: str) -> str:
    """What went wrong, without TensorFlow's account of where."""
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith((" ", "\t", *_PREAMBLE))]
    return lines[0] if lines else message


def _graph_errors() -> tuple[type[Any], ...]:
    """What sessions raise, if TensorFlow has been imported at all; asked for when something has been raised."""
    tensorflow = sys.modules.get("tensorflow")
    return () if tensorflow is None else (tensorflow.errors.OpError,)


def _fail(message: str, *, code: int) -> NoReturn:
    """Print one line on standard error and exit."""
    print("symgrad:", " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
