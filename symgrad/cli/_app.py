"""The commands, one row each.

To add `symgrad example`: write `_example.py` with a function `example` whose signature is what the command line takes
and whose docstring is its help, import it here, and add its row to `COMMANDS`. The module imports TensorFlow and other
large libraries inside its functions, not at its top, since `symgrad --help` imports every command.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from .. import __version__
from ._demo import demo
from ._diff import diff
from ._doctor import doctor
from ._explain import explain
from ._inspect import inspect
from ._jacobian import jacobian
from ._nan import nan
from ._render import render, view

COMMANDS: tuple[Callable[..., None], ...] = (demo, diff, doctor, explain, inspect, jacobian, nan, render, view)

app = typer.Typer(
    help="Derivatives of TensorFlow graphs: look at them, check them, explain them.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"symgrad {__version__}")
        raise typer.Exit


@app.callback()
def symgrad(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Derivatives of TensorFlow graphs: look at them, check them, explain them."""


for _command in COMMANDS:
    app.command()(_command)
