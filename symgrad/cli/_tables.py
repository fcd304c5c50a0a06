"""Tables of the commands: a dozen rows, and nothing in a name that drives the terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 12


def console_for_tables() -> "Console":
    """A console that takes every text as it stands."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def table(console: "Console", title: str, heads: tuple[str, ...], rows: list[tuple]) -> None:
    """A table of at most a dozen rows; what is left out is counted, and is in the JSON."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    shown = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = [all(isinstance(row[i], int) for row in rows) for i in range(len(heads))]
    for head, number in zip(heads, numbers, strict=True):
        shown.add_column(head, justify="right" if number else "left", overflow="fold")
    for row in rows[:_SHOWN]:
        shown.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else plain(cell)) for cell in row))
    console.print()
    console.print(shown)
    if len(rows) > _SHOWN:
        console.print(f"... and {len(rows) - _SHOWN:,} more (--json has all)", style="dim")


def plain(text: str) -> str:
    """Names come from a stranger's file: nothing in them may drive the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
