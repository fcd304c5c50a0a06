"""`symgrad explain`: why a gradient of a stored model is None."""

import json as _json
from typing import Annotated, Any

import typer

from ._arguments import ExitCode, Json, Model, source
from ._named import tensor, variable_or_tensor


def explain(
    model: Model,
    ys: Annotated[
        list[str], typer.Option("--ys", metavar="NAME", help="Output of the model, or a tensor; may be repeated.")
    ],
    xs: Annotated[
        list[str],
        typer.Option("--xs", metavar="NAME", help="Input or variable of the model, or a tensor; may be repeated."),
    ],
    json: Json = False,
    exit_code: ExitCode = False,
) -> None:
    """Say for each x why no gradient of ys arrives there: every op that cuts a path."""
    from .. import diagnose, loaders

    loaded = loaders.load(source(model))
    found = diagnose.why_none(
        [tensor(loaded, name, "--ys") for name in ys], [variable_or_tensor(loaded, name, "--xs") for name in xs]
    )
    if json:
        typer.echo(_json.dumps([finding.to_dict() for finding in found], indent=2))
    else:
        _print(found)
    if exit_code and found:
        raise typer.Exit(1)


def _print(found: list[Any]) -> None:
    for finding in found:
        typer.echo(finding)
        if finding.path:
            typer.echo(f"    {' > '.join(finding.path)}")
    if not found:
        typer.echo("A gradient arrives at each x.")
