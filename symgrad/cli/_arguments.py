"""Arguments that several commands take, and what `-` stands for among them."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A .pb, .pbtxt or .meta file, a SavedModel directory, or - for stdin.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag of the MetaGraph of a SavedModel.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if something is found.")]
Feed = Annotated[
    list[str] | None, typer.Option("--feed", metavar="NAME=FILE.npy", help="Value of an input; may be repeated.")
]
Checkpoint = Annotated[
    str | None, typer.Option("--checkpoint", metavar="PREFIX", help="Of the files that hold the variables' values.")
]


def source(model: Path) -> Path | bytes:
    """What to read: the path, or for `-` the bytes that come in."""
    return sys.stdin.buffer.read() if is_stream(model) else model


def is_stream(path: Path) -> bool:
    """True for `-`, which stands for standard input or output."""
    return str(path) == "-"


@contextlib.contextmanager
def destination(out: Path, suffix: str = "") -> Iterator[Path]:
    """The path to write to; what is written for `-` goes to standard output at the end."""
    if not is_stream(out):
        yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{suffix}"
        yield path
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def said(message: str, out: Path) -> None:
    """Tell the user, on standard error where the result itself goes to standard output."""
    typer.echo(message, err=is_stream(out))
