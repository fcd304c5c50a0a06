"""`symgrad inspect`: what a model file holds, without importing it."""

import json as _json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import ExitCode, Json, Model, Tags, source
from ._tables import console_for_tables, plain, table

if TYPE_CHECKING:
    from rich.console import Console


def inspect(
    model: Model,
    json: Json = False,
    tags: Tags = None,
    cost: Annotated[bool, typer.Option("--cost", help="Operations, bytes and peak memory instead.")] = False,
    lint: Annotated[bool, typer.Option("--lint", help="What is probably not meant instead.")] = False,
    compilable: Annotated[
        bool, typer.Option("--compilable", help="What symgrad.compiled leaves outside of the outputs instead.")
    ] = False,
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER", help="For --cost: batch=32, or x=32,10 for a placeholder, or frame=20 for a loop."
        ),
    ] = None,
    fetch: Annotated[
        list[str] | None, typer.Option(metavar="OP", help="For --cost: count only what this op needs.")
    ] = None,
    exit_code: ExitCode = False,
) -> None:
    """Count the ops of a model by type and role; list its inputs, outputs, variables and what has no gradient."""
    from .. import graph

    if exit_code and not (lint or compilable):
        raise typer.BadParameter("needs --lint or --compilable", param_hint="--exit-code")
    if compilable:
        found: dict[str, Any] = {"findings": _left_outside(model, tags)}
    else:
        nodes = graph.build(source(model), tags=tags)
        if lint:
            found = {"findings": [finding.to_dict() for finding in graph.lint(nodes)]}
        elif cost:
            found = graph.cost(nodes, sizes=read_sizes(size or []), fetches=fetch)
        else:
            found = graph.summary(nodes)
    found = {"file": str(model), **found}
    if json:
        typer.echo(_json.dumps(found, indent=2, ensure_ascii=True))
    elif lint or compilable:
        _print_lint(found)
    elif cost:
        _print_cost(found)
    else:
        _print(found)
    if exit_code and found["findings"]:
        raise typer.Exit(1)


def _left_outside(model: Any, tags: list[str] | None) -> list[dict[str, Any]]:
    from .. import diagnose, loaders

    loaded = loaders.load(source(model), tags=tags)
    return [finding.to_dict() for finding in diagnose.why_not_compiled(list(loaded.outputs.values()))]


def read_sizes(options: list[str]) -> dict[str, Any]:
    """`batch=32` and `x=32,10` as the sizes that `cost` takes."""
    sizes: dict[str, Any] = {}
    for option in options:
        name, _, value = option.rpartition("=")
        numbers = value.split(",")
        if not name or not all(number.strip().isdecimal() for number in numbers):
            raise typer.BadParameter(f"--size wants NAME=NUMBER or NAME=NUMBER,NUMBER,..., got {option!r}")
        sizes[name] = int(value) if len(numbers) == 1 else tuple(int(number) for number in numbers)
    return sizes


def _print_lint(found: dict[str, Any]) -> None:
    console = console_for_tables()
    for finding in found["findings"]:
        console.print(plain(finding["message"]), soft_wrap=True)
        table(console, "", ("op",), [(name,) for name in finding["ops"]])
    if not found["findings"]:
        console.print("nothing found")


def _print_cost(found: dict[str, Any]) -> None:
    console = console_for_tables()
    peak = found["peak"]
    console.print(f"{found['file']}: {found['flops']:,} operations in {found['ops']:,} ops", soft_wrap=True)
    console.print(
        f"{found['bytes']:,} bytes made; at most {peak['bytes']:,} at once, in {plain(str(peak['op']))}", soft_wrap=True
    )
    console.print(", ".join(f"{size:,} bytes of {what}" for what, size in found["kept"].items()), soft_wrap=True)
    heads = ("ops", "operations", "bytes")
    for title, key, count in (("By role", "roles", "role"), ("By type", "types", "type")):
        rows = [(name, row["ops"], row["flops"], row["bytes"]) for name, row in found[key].items()]
        table(console, title, (count, *heads), rows)
    scopes = [
        (name, row["flops"], row["backward_flops"], row["bytes"], row["backward_bytes"])
        for name, row in found["scopes"].items()
    ]
    table(console, "By scope", ("scope", "forward", "backward", "bytes forward", "backward"), scopes)
    table(console, "Alive at the peak", ("tensor", "bytes"), [tuple(row) for row in peak["live"]])
    rows = [(row["op"], row["gather"] or "", row["slices_bytes"], row["bytes"]) for row in found["dense"]]
    table(console, "Gradients made dense from IndexedSlices", ("op", "gradient of", "bytes sliced", "dense"), rows)
    unknown = found["unknown"]
    table(console, "No formula, counted as 0", ("type", "ops"), list(unknown["types"].items()))
    table(console, "Shapes not known, counted as 0 (--size)", ("op",), [(name,) for name in unknown["ops"]])
    table(console, "Loops counted for one iteration (--size)", ("frame",), [(name,) for name in unknown["loops"]])


def _print(found: dict[str, Any]) -> None:
    console = console_for_tables()
    console.print(f"{found['file']}: {found['ops']:,} ops, {found['edges']:,} edges", style="bold", soft_wrap=True)
    roles = [f"{count:,} {role}" for role, count in found["roles"].items()]
    console.print(", ".join(roles), soft_wrap=True)
    higher = {order: count for order, count in found["orders"].items() if order > 1}
    if higher:
        console.print("of the backward ops " + ", ".join(f"{n:,} of order {order}" for order, n in higher.items()))
    if found["dead"]:
        console.print(f"{found['dead']:,} backward ops are dead: made, never consumed")
    table(console, "Op types", ("type", "count"), list(found["types"].items()))
    for side in ("inputs", "outputs"):
        rows = [(t["name"], t["type"], t["dtype"], _shape(t["shape"])) for t in found[side]]
        table(console, side.capitalize(), ("name", "type", "dtype", "shape"), rows)
    _print_signatures(console, found)
    _print_variables(console, found)
    _print_gradients(console, found)


def _print_signatures(console: "Console", found: dict[str, Any]) -> None:
    rows = [
        (key, side.removesuffix("s"), name, tensor["name"], tensor["dtype"], _shape(tensor["shape"]))
        for key, signature in found["signatures"].items()
        for side in ("inputs", "outputs")
        for name, tensor in signature[side].items()
    ]
    table(console, "Signatures", ("signature", "side", "key", "tensor", "dtype", "shape"), rows)


def _print_variables(console: "Console", found: dict[str, Any]) -> None:
    trained = any(v["trained"] for v in found["variables"])
    rows = [
        (v["name"], v["dtype"], _shape(v["shape"]), "?" if v["elements"] is None else f"{v['elements']:,}",
         "trained" if v["trained"] else "")
        for v in found["variables"]
    ]  # fmt: skip
    what = "in trained variables" if trained else "in all variables"
    title = f"Variables ({found['parameters']:,} parameters {what})"
    table(console, title, ("name", "dtype", "shape", "elements", ""), rows)


def _print_gradients(console: "Console", found: dict[str, Any]) -> None:
    scopes = found["scopes"]
    if "backward" in found["roles"]:
        without = [row for row in scopes if not row["backward"]]
        rows = [(s["scope"], s["forward"], s["backward"]) for s in scopes if s["backward"]]
        table(console, "Scopes with a backward half", ("scope", "forward ops", "backward ops"), rows)
        table(console, "Scopes without", ("scope", "forward ops"), [(row["scope"], row["forward"]) for row in without])
    blocked = [(row["type"], row["reason"], len(row["ops"]), row["ops"][0]) for row in found["no_gradient"]]
    table(console, "No gradient passes through", ("type", "why", "ops", "first"), blocked)


def _shape(shape: list | None) -> str:
    return "unknown" if shape is None else "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
