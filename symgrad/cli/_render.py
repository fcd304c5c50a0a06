"""`symgrad render`: a picture of a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import networkx


def render(
    model: Annotated[Path, typer.Argument(help="A .pb, .pbtxt or .meta file, or a SavedModel directory.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture: a .svg or .dot file.")],
    ys: Annotated[list[str] | None, typer.Option(help="Draw only the way to this op (may be given again).")] = None,
    xs: Annotated[list[str] | None, typer.Option(help="Draw only the way from this op (may be given again).")] = None,
    fold: Annotated[int | None, typer.Option(min=0, help="Depth of scopes to open; by itself as many as fit.")] = None,
    constants: Annotated[bool, typer.Option(help="Draw constants and initialisers too.")] = False,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Tag of the MetaGraph of a SavedModel.")] = None,
) -> None:
    """Draw a model: forward on the left, each gradient in the row of what it is the gradient of."""
    from .. import graph

    write = _writer(out)
    built = graph.build(model, ys=ys, xs=xs, tags=tags)
    write(built, out, fold=fold, constants=constants)
    typer.echo(f"Wrote {out}: {_contents(built)}.")


def _writer(out: Path) -> Any:
    """The function that writes this kind of file; checked before the work starts."""
    from .. import graph

    writers = {".svg": graph.to_svg, ".dot": graph.to_dot}
    if out.suffix.lower() not in writers:
        raise typer.BadParameter(f"{out} should end in one of {', '.join(writers)}", param_hint="--out")
    return writers[out.suffix.lower()]


def _contents(built: "networkx.MultiDiGraph") -> str:
    backward = sum(1 for _, role in built.nodes(data="role") if role == "backward")
    return f"{len(built):,} ops, {backward:,} of them backward"
