"""The `symgrad` command: `main` runs it; each command is a module `_<command>.py` that `_app.py` lists."""

from ._main import main

__all__ = ["main"]
