"""`symgrad nan`: where a NaN or an infinity of a stored model begins."""

import json as _json
from pathlib import Path
from typing import Annotated

import typer

from ._named import feed as _feed
from ._named import fetched


def nan(
    model: Annotated[Path, typer.Argument(help="A .pb, .pbtxt or .meta file, or a SavedModel directory.")],
    fetch: Annotated[list[str], typer.Option("--fetch", help="Output, tensor or op of the model; may be repeated.")],
    feed: Annotated[list[str] | None, typer.Option("--feed", help="NAME=FILE.npy, once for each input.")] = None,
    checkpoint: Annotated[str | None, typer.Option("--checkpoint", help="Prefix of the variables' values.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run the model once and name the ops at which NaN or infinity begins."""
    import tensorflow.compat.v1 as tf

    from .. import diagnose, loaders

    loaded = loaders.load(model)
    feeds = dict(_feed(loaded, pair) for pair in feed or [])
    fetches = [fetched(loaded, name, "--fetch") for name in fetch]
    with loaded.graph.as_default(), tf.Session(graph=loaded.graph) as session:
        loaded.restore(session, checkpoint)
        found = diagnose.nan_origin(fetches, session=session, feed_dict=feeds)
    if json:
        typer.echo(_json.dumps([finding.to_dict() for finding in found], indent=2))
        return
    for finding in found:
        typer.echo(finding)
    if not found:
        typer.echo("Everything that was fetched is finite.")
