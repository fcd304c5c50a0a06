"""How a Jacobian is computed, as a value that can be printed."""

from collections.abc import Callable
from dataclasses import dataclass

from .._sizes import Count


@dataclass(frozen=True)
class Way:
    """How the products of one part of a Jacobian are taken.

    Attributes:
      what: the part.
      count: how many products there are; None if only a session knows.
      block_size: how many are taken at a time; None if only a session knows.
      vectorised: whether the products of a block are taken at once; else they go one after the other.
      cause: why they are not, where that was not asked for.
      bytes_each: of what depends on one product and is alive at once, by shapes that are known.
      copied: whether each block is a copy that goes forward through V1 loops and branches again.
    """

    what: str
    count: int | None
    block_size: int | None
    vectorised: bool
    cause: str = ""
    bytes_each: int = 0
    copied: bool = False

    def __str__(self) -> str:
        at_once = f"{_number(self.block_size)} at a time" if self.vectorised else "one at a time"
        said = f"{self.what}: {_number(self.count)} products, {at_once}"
        if self.cause:
            said += f" (it does not vectorise: {self.cause})"
        if self.copied:
            said += ", each block a copy that goes forward through V1 control flow again"
        return f"{said}; {self.bytes_each:,} bytes a product" if self.bytes_each else said


# Told how each part is done.
Note = Callable[[Way], None]


def nobody(way: Way) -> None:
    """Where nobody wants to know how it is done."""


def way_of(what: str, count: Count, block_size: Count, **more) -> Way:
    """The `Way` of numbers that may be tensors."""
    count, size = _known(count), _known(block_size)
    if count is not None and size is not None:
        size = min(size, max(1, count))
    return Way(what, count, size, **more)


def _known(number: Count) -> int | None:
    return number if isinstance(number, int) else None


def _number(number: int | None) -> str:
    return "as many as the session says" if number is None else str(number)


@dataclass(frozen=True)
class Plan:
    """How `symgrad.jacobian` computes a Jacobian; its text says it in sentences.

    Attributes:
      mode: "rows", "columns", or "both", by columns to a narrow tensor and by rows from it.
      why: why this mode.
      through: the name of the narrow tensor that all paths cross, if they go through one.
      linear_ends: the names of the tensors behind whose linear last layer rows begin.
      v1_loops: the names of the V1 loops that the paths cross.
      devices: the devices that share the products.
      ways: how the products of each part are taken.
      result_bytes: of the Jacobian; None if its shape is not known.
      block_bytes: the budget from which block sizes follow.
    """

    mode: str
    why: str
    through: str | None
    linear_ends: tuple[str, ...]
    v1_loops: tuple[str, ...]
    devices: tuple[str, ...]
    ways: tuple[Way, ...]
    result_bytes: int | None
    block_bytes: int

    def __str__(self) -> str:
        lines = [f"by {'columns and rows' if self.mode == 'both' else self.mode}: {self.why}"]
        if self.through:
            lines.append(f"through {self.through}, which all paths cross: the product of two Jacobians")
        lines += [f"rows begin at {name}, behind a linear last layer" for name in self.linear_ends]
        if self.v1_loops:
            lines.append(f"V1 loops on the way: {', '.join(self.v1_loops)}")
        if self.devices:
            lines.append(f"shared out over {', '.join(self.devices)}")
        lines += map(str, self.ways)
        size = "of a size that the session says" if self.result_bytes is None else f"of {self.result_bytes:,} bytes"
        return "\n".join([*lines, f"a result {size}; {self.block_bytes:,} bytes allowed for a block"])
