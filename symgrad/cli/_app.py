"""The commands, one row each.

To add `symgrad example`: write `_example.py` with a function `example` whose signature is what the command line takes
and whose docstring is its help, import it here, and add its row, with an example, to `COMMANDS`. The module imports
TensorFlow and other large libraries inside its functions, not at its top, since `symgrad --help` imports every command.
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

# Each command and what to type, for its help.
COMMANDS: dict[Callable[..., None], str] = {
    demo: "symgrad demo --out symgrad-demo",
    diff: "symgrad diff before.pb after.pb --exit-code",
    doctor: "symgrad doctor",
    explain: "symgrad explain model.meta --ys loss --xs dense/kernel",
    inspect: "symgrad inspect model.pb --cost --size batch=32",
    jacobian: "symgrad jacobian model.meta --ys scores --xs images --feed images=digits.npy --out jacobian.npy",
    nan: "symgrad nan model.meta --fetch loss --feed images=digits.npy",
    render: "symgrad render model.pb -o model.html --color cost --size batch=32",
    view: "symgrad view saved_model/",
}

app = typer.Typer(
    help="Derivatives of TensorFlow graphs: look at them, check them, explain them.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"symgrad {__version__}")
        raise typer.Exit


@app.callback()
def symgrad(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Derivatives of TensorFlow graphs: look at them, check them, explain them."""


for _command, _example in COMMANDS.items():
    app.command(epilog=f"Example: {_example}")(_command)
