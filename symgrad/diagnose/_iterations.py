"""Which iteration of the loops around an op is meant: a number, the last in which something was wrong, or any."""

from collections.abc import Iterable

LAST = -1
ANY = -2

Iterations = tuple[int, ...]


def matching(recorded: Iterable[Iterations], wanted: Iterations) -> list[Iterations]:
    """The recorded iterations that are meant."""
    found = [t for t in recorded if all(w < 0 or w == iteration for w, iteration in zip(wanted, t, strict=False))]
    for level, w in enumerate(wanted):
        if w == LAST and found:
            last = max(t[level] for t in found)
            found = [t for t in found if t[level] == last]
    return found


def previous(iterations: Iterations) -> Iterations:
    """The iteration before, of the innermost loop; the last and any stay what they are."""
    return (*iterations[:-1], iterations[-1] - 1 if iterations[-1] > 0 else iterations[-1])


def begins(iterations: Iterations) -> bool:
    """True if what a loop starts with may be meant."""
    return iterations[-1] <= 0


def goes_on(iterations: Iterations) -> bool:
    """True if what an iteration before has left may be meant."""
    return iterations[-1] != 0


def any_of(depth: int) -> Iterations:
    """Any iteration of this many loops."""
    return (ANY,) * depth
