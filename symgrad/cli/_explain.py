"""`symgrad explain`: why a gradient of a stored model is None."""

import json as _json
from pathlib import Path
from typing import Annotated

import typer

from ._named import tensor, variable_or_tensor


def explain(
    model: Annotated[Path, typer.Argument(help="A .pb, .pbtxt or .meta file, or a SavedModel directory.")],
    ys: Annotated[list[str], typer.Option("--ys", help="Output of the model, or name of a tensor; may be repeated.")],
    xs: Annotated[
        list[str], typer.Option("--xs", help="Input or variable of the model, or name of a tensor; may be repeated.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say for each x why no gradient of ys arrives there: every op that cuts a path."""
    from .. import diagnose, loaders

    loaded = loaders.load(model)
    found = diagnose.why_none(
        [tensor(loaded, name, "--ys") for name in ys], [variable_or_tensor(loaded, name, "--xs") for name in xs]
    )
    if json:
        typer.echo(_json.dumps([finding.to_dict() for finding in found], indent=2))
        return
    for finding in found:
        typer.echo(finding)
        if finding.path:
            typer.echo(f"    {' > '.join(finding.path)}")
    if not found:
        typer.echo("A gradient arrives at each x.")
