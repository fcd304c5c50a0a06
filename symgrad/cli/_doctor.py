"""`symgrad doctor`: what of TensorFlow 1 works here."""

import json as _json
from typing import Annotated

import typer


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Check what of TensorFlow 1 works here, name what replaces tf.contrib; exits with 1 if something is wrong."""
    from .. import diagnose

    checks = diagnose.check_environment()
    if json:
        found = {"checks": [check.to_dict() for check in checks], "replacements": diagnose.REPLACEMENTS}
        typer.echo(_json.dumps(found, indent=2))
    else:
        for check in checks:
            typer.echo(f"{'ok  ' if check.ok else 'FIX '} {check}")
        typer.echo("\nWhat takes the place of what is gone:")
        for old, new in diagnose.REPLACEMENTS.items():
            typer.echo(f"     {old}: {new}")
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)
