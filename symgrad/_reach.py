"""Everything that steps lead to: the worklist that many questions about graphs come down to."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reach(starts: Iterable[T], step: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """The starts and all that `step` leads to from them, in the order in which it is found (keys, as a set of them)."""
    found: dict[T, None] = {}
    todo = list(starts)
    while todo:
        at = todo.pop()
        if at not in found:
            found[at] = None
            todo.extend(step(at))
    return found
