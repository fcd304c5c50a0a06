"""Which turn of the loops around an op is meant: a number, the last in which something was wrong, or any."""

from collections.abc import Iterable

LAST = -1
ANY = -2

Turns = tuple[int, ...]


def matching(recorded: Iterable[Turns], wanted: Turns) -> list[Turns]:
    """The recorded turns that are meant."""
    found = [t for t in recorded if all(w < 0 or w == turn for w, turn in zip(wanted, t, strict=False))]
    for level, w in enumerate(wanted):
        if w == LAST and found:
            last = max(t[level] for t in found)
            found = [t for t in found if t[level] == last]
    return found


def previous(turns: Turns) -> Turns:
    """The turn before, of the innermost loop; the last and any stay what they are."""
    return (*turns[:-1], turns[-1] - 1 if turns[-1] > 0 else turns[-1])


def begins(turns: Turns) -> bool:
    """True if what a loop starts with may be meant."""
    return turns[-1] <= 0


def goes_on(turns: Turns) -> bool:
    """True if what a turn before has left may be meant."""
    return turns[-1] != 0


def any_of(depth: int) -> Turns:
    """Any turn of this many loops."""
    return (ANY,) * depth
