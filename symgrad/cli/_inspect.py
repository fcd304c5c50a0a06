"""`symgrad inspect`: what a model file holds, without importing it."""

import json as _json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 12


def inspect(
    model: Annotated[Path, typer.Argument(help="A .pb, .pbtxt or .meta file, or a SavedModel directory.")],
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Tag of the MetaGraph of a SavedModel.")] = None,
) -> None:
    """Count the ops of a model by type and role; list its inputs, outputs, variables and what has no gradient."""
    from .. import graph

    found = {"file": str(model), **graph.summary(graph.build(model, tags=tags))}
    if json:
        typer.echo(_json.dumps(found, indent=2, ensure_ascii=True))
        return
    _print(found)


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.print(f"{found['file']}: {found['ops']:,} ops, {found['edges']:,} edges", style="bold", soft_wrap=True)
    roles = [f"{count:,} {role}" for role, count in found["roles"].items()]
    console.print(", ".join(roles), soft_wrap=True)
    higher = {order: count for order, count in found["orders"].items() if order > 1}
    if higher:
        console.print("of the backward ops " + ", ".join(f"{n:,} of order {order}" for order, n in higher.items()))
    if found["dead"]:
        console.print(f"{found['dead']:,} backward ops are dead: made, never consumed")
    _table(console, "Op types", ("type", "count"), list(found["types"].items()))
    for side in ("inputs", "outputs"):
        rows = [(t["name"], t["type"], t["dtype"], _shape(t["shape"])) for t in found[side]]
        _table(console, side.capitalize(), ("name", "type", "dtype", "shape"), rows)
    _print_variables(console, found)
    _print_gradients(console, found)


def _print_variables(console: "Console", found: dict[str, Any]) -> None:
    trained = any(v["trained"] for v in found["variables"])
    rows = [
        (v["name"], v["dtype"], _shape(v["shape"]), "?" if v["elements"] is None else f"{v['elements']:,}",
         "trained" if v["trained"] else "")
        for v in found["variables"]
    ]  # fmt: skip
    what = "in trained variables" if trained else "in all variables"
    title = f"Variables ({found['parameters']:,} parameters {what})"
    _table(console, title, ("name", "dtype", "shape", "elements", ""), rows)


def _print_gradients(console: "Console", found: dict[str, Any]) -> None:
    scopes = found["scopes"]
    if "backward" in found["roles"]:
        without = [row for row in scopes if not row["backward"]]
        rows = [(s["scope"], s["forward"], s["backward"]) for s in scopes if s["backward"]]
        _table(console, "Scopes with a backward half", ("scope", "forward ops", "backward ops"), rows)
        _table(console, "Scopes without", ("scope", "forward ops"), [(row["scope"], row["forward"]) for row in without])
    blocked = [(row["type"], row["reason"], len(row["ops"]), row["ops"][0]) for row in found["no_gradient"]]
    _table(console, "No gradient passes through", ("type", "why", "ops", "first"), blocked)


def _table(console: "Console", title: str, heads: tuple[str, ...], rows: list[tuple]) -> None:
    """A table of at most a dozen rows; what is left out is counted, and is in the JSON."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = [all(isinstance(row[i], int) for row in rows) for i in range(len(heads))]
    for head, number in zip(heads, numbers):
        table.add_column(head, justify="right" if number else "left", overflow="fold")
    for row in rows[:_SHOWN]:
        table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else _plain(cell)) for cell in row))
    console.print()
    console.print(table)
    if len(rows) > _SHOWN:
        console.print(f"... and {len(rows) - _SHOWN:,} more (--json has all)", style="dim")


def _plain(text: str) -> str:
    """Names come from a stranger's file: nothing in them may drive the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _shape(shape: list | None) -> str:
    return "unknown" if shape is None else "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
