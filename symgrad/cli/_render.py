"""`symgrad render` and `symgrad view`: pictures of a model file."""

import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import Model, Tags, destination, is_stream, said, source
from ._inspect import read_sizes

if TYPE_CHECKING:
    import networkx

Ys = Annotated[list[str] | None, typer.Option(metavar="OP", help="Draw only the way to this op; may be repeated.")]
Xs = Annotated[list[str] | None, typer.Option(metavar="OP", help="Draw only the way from this op; may be repeated.")]
Fold = Annotated[
    int | None, typer.Option(metavar="DEPTH", min=0, help="Depth of scopes to open; by itself as many as fit.")
]
Color = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT", help="Colour by role, cost (operations), bytes; in a .html also by type, dtype or device."
    ),
]

Size = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        help="For --color cost or bytes: batch=32, or x=32,10 for a placeholder, or frame=20 for a loop.",
    ),
]

# What `cost` counts, by the word for it on the command line.
_COSTS = {"cost": "flops", "flops": "flops", "bytes": "bytes"}

# How many ops a warning names.
_SHOWN = 3

# What each format can be told.
_DRAWN = frozenset({"fold", "constants", "color", "functions"})
_OPTIONS = {
    ".html": frozenset({"fold", "color", "functions"}),
    ".svg": _DRAWN,
    ".png": _DRAWN,
    ".pdf": _DRAWN,
    ".dot": frozenset({"fold", "constants"}),
    ".json": frozenset[str](),
    ".graphml": frozenset[str](),
}


def render(
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=f"To write: {', '.join(_OPTIONS)}; - for SVG to stdout.")
    ],
    ys: Ys = None,
    xs: Xs = None,
    fold: Fold = None,
    color: Color = None,
    size: Size = None,
    constants: Annotated[bool, typer.Option(help="Draw constants and initialisers too.")] = False,
    functions: Annotated[bool, typer.Option(help="Draw the functions that ops call too.")] = True,
    tags: Tags = None,
) -> None:
    """Draw a model: forward on the left, each gradient in the row of what it is the gradient of."""
    suffix = ".svg" if is_stream(out) else out.suffix.lower()
    options = _checked(
        suffix,
        {"fold": fold, "color": color, "constants": constants or None, "functions": None if functions else False},
    )
    built = _build(model, ys, xs, tags)
    with destination(out, suffix) as path:
        _write(built, path, _with_costs(built, options, size))
    said(f"Wrote {out}: {_contents(built)}.", out)


def view(
    model: Model,
    ys: Ys = None,
    xs: Xs = None,
    fold: Fold = None,
    color: Color = None,
    size: Size = None,
    tags: Tags = None,
) -> None:
    """Draw a model as an interactive page and open it in the browser."""
    options = _checked(".html", {"fold": fold, "color": color})
    built = _build(model, ys, xs, tags)
    out = Path(tempfile.mkdtemp(prefix="symgrad-")) / f"{model.stem}.html"
    _write(built, out, _with_costs(built, options, size))
    opened = webbrowser.open(out.as_uri())
    typer.echo(f"{'Opened' if opened else 'There is no browser to open'} {out}: {_contents(built)}.")


def _checked(suffix: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, once this kind of file is known to have a use for each; before the work starts."""
    if suffix not in _OPTIONS:
        raise typer.BadParameter(f"should end in one of {', '.join(_OPTIONS)}", param_hint="--out")
    options = {key: value for key, value in given.items() if value is not None}
    for key in options:
        if key not in _OPTIONS[suffix]:
            able = ", ".join(each for each, known in _OPTIONS.items() if key in known)
            raise typer.BadParameter(f"has no meaning for a {suffix} file, only for {able}", param_hint=f"--{key}")
    return options


def _build(model: Path, ys: Any, xs: Any, tags: Any) -> "networkx.MultiDiGraph":
    from .. import graph

    return graph.build(source(model), ys=ys, xs=xs, tags=tags)


def _with_costs(built: "networkx.MultiDiGraph", options: dict[str, Any], size: list[str] | None) -> dict[str, Any]:
    """Count what the colours are to show; what could not be counted is said, since it looks like nothing."""
    if options.get("color") not in _COSTS:
        if size:
            raise typer.BadParameter(f"needs --color {' or '.join(_COSTS)}", param_hint="--size")
        return options
    from .. import graph

    unknown = graph.cost(built, sizes=read_sizes(size or []))["unknown"]
    if unknown["ops"]:
        typer.echo(
            f"symgrad: {_listed(unknown['ops'])} of unknown size, counted as 0; say, for example, --size batch=32",
            err=True,
        )
    return {**options, "color": _COSTS[options["color"]]}


def _listed(ops: list[str]) -> str:
    """`the result of 'a' is`, or how many and the first of them."""
    if len(ops) == 1:
        return f"the result of {ops[0]!r} is"
    more = ", ..." if len(ops) > _SHOWN else ""
    return f"the results of {len(ops):,} ops ({', '.join(map(repr, ops[:_SHOWN]))}{more}) are"


def _write(built: "networkx.MultiDiGraph", out: Path, options: dict[str, Any]) -> None:
    from .. import graph
    from ..errors import SymgradError

    writer = getattr(graph, f"to_{out.suffix.lower()[1:]}")
    try:
        writer(built, out, **options)
    except ImportError as error:
        raise SymgradError(str(error)) from error
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--color") from error


def _contents(built: "networkx.MultiDiGraph") -> str:
    backward = sum(1 for _, role in built.nodes(data="role") if role == "backward")
    return f"{len(built):,} ops, {backward:,} of them backward"
