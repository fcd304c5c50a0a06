"""Entry point: runs the app and turns the errors that a user can act on into one line."""

import logging
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
    except _USAGE_ERROR as error:
        _fail(f"{cast(Any, error).format_message()} (see symgrad --help)", code=2)
    except SymgradError as error:
        _fail(str(error) or type(error).__name__, code=1)
    except _graph_errors() as error:
        _fail(f"the model does not run: {_first_line(error.message)}", code=1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=1)
    except typer.Abort:
        _fail("interrupted", code=130)
    sys.exit(code)


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
