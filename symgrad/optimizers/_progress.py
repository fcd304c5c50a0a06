"""A progress line for work whose length nobody knows beforehand."""

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Iterations, best value and evaluations, on a terminal, of work longer than a second."""

    def __init__(self, wanted: bool | None, title: str):
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._title = title
        self._begin = time.monotonic()
        self._status: Any = None

    def step(self, iteration: int, value: float, evaluations: int) -> None:
        """Show where the work stands."""
        if not self._wanted or time.monotonic() - self._begin < 1:
            return
        text = f"{self._title}: iteration {iteration}, {evaluations} evaluations, best {value:.6g}"
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(text)
            self._status.start()
        self._status.update(text)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
