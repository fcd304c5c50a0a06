"""`symgrad nan`: where a NaN or an infinity of a stored model begins."""

import json as _json
from typing import Annotated

import typer

from ._arguments import Checkpoint, ExitCode, Feed, Json, Model, source
from ._named import feed as _feed
from ._named import fetched


def nan(
    model: Model,
    fetch: Annotated[list[str], typer.Option("--fetch", metavar="NAME", help="Output, tensor or op; may be repeated.")],
    feed: Feed = None,
    checkpoint: Checkpoint = None,
    json: Json = False,
    exit_code: ExitCode = False,
) -> None:
    """Run the model once and name the ops at which NaN or infinity begins."""
    import tensorflow.compat.v1 as tf

    from .. import diagnose, loaders

    loaded = loaders.load(source(model))
    feeds = dict(_feed(loaded, pair) for pair in feed or [])
    fetches = [fetched(loaded, name, "--fetch") for name in fetch]
    with loaded.graph.as_default(), tf.Session(graph=loaded.graph) as session:
        loaded.restore(session, checkpoint)
        found = diagnose.nan_origin(fetches, session=session, feed_dict=feeds)
    if json:
        typer.echo(_json.dumps([finding.to_dict() for finding in found], indent=2))
    else:
        for finding in found:
            typer.echo(finding)
        if not found:
            typer.echo("Everything that was fetched is finite.")
    if exit_code and found:
        raise typer.Exit(1)
