"""`symgrad diff`: what one model file has that another has not."""

import json as _json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import Json, Model, Tags, is_stream, source
from ._tables import console_for_tables, plain, table

if TYPE_CHECKING:
    from rich.console import Console


def diff(
    a: Model,
    b: Model,
    json: Json = False,
    tags: Tags = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if the graphs differ.")] = False,
) -> None:
    """List the ops that were added, removed, changed or rewired between two models, and scopes that were renamed."""
    from .. import graph

    if is_stream(a) and is_stream(b):
        raise typer.BadParameter("- can stand for one of the two models only")
    found = graph.diff(graph.build(source(a), tags=tags), graph.build(source(b), tags=tags))
    if json:
        typer.echo(_json.dumps({"a": str(a), "b": str(b), **found}, indent=2, ensure_ascii=True))
    else:
        _print(found)
    if exit_code and not found["equal"]:
        raise typer.Exit(1)


def _print(found: dict[str, Any]) -> None:
    console = console_for_tables()
    _print_difference(console, found)
    for inner in found["functions"]:
        way = plain(" > ".join(inner["within"]))
        console.print(f"\nWithin {way}: {plain(inner.get('error', ''))}", style="bold", soft_wrap=True)
        if "error" not in inner:
            _print_difference(console, {**inner, "equal": False})


def _print_difference(console: "Console", found: dict[str, Any]) -> None:
    if found["equal"]:
        console.print(f"no difference: {found['same']:,} ops" + (", scopes renamed" if found["renamed"] else ""))
    else:
        counts = ", ".join(f"{len(found[key]):,} {key}" for key in ("added", "removed", "changed", "rewired"))
        console.print(f"{counts}, {found['same']:,} ops the same", style="bold", soft_wrap=True)
    scopes = [(r["before"] or "(outermost)", r["after"] or "(outermost)", r["ops"]) for r in found["renamed"]]
    table(console, "Renamed", ("scope", "is now", "ops"), scopes)
    types = [(kind, row["added"], row["removed"]) for kind, row in found["types"].items()]
    table(console, "Op types", ("type", "added", "removed"), types)
    for key in ("added", "removed"):
        table(console, key.capitalize(), ("op",), [(name,) for name in found[key]])
    changes = [
        (r["name"], what, str(old), str(new)) for r in found["changed"] for what, (old, new) in r["what"].items()
    ]
    table(console, "Changed", ("op", "what", "was", "is"), changes)
    wires = [(r["name"], ", ".join(r["before"]), ", ".join(r["after"])) for r in found["rewired"]]
    table(console, "Rewired", ("op", "read", "reads"), wires)
