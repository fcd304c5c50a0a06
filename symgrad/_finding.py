"""What a diagnosis or a lint says: one cause, the ops, the path and the line of user code."""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

# How many names a sentence lists.
_SHOWN = 4


@dataclass(frozen=True)
class Finding:
    """One cause; `str()` is the sentence.

    Attributes:
      x: the name of what it is about: an x without a derivative, a fetch that is not finite, the first op of a lint.
      cause: why; a member of `symgrad.rules.Cut`, of `symgrad.diagnose.Birth`, of
        `symgrad.diagnose.Outside` or of `symgrad.graph.Lint`.
      op: the name of the op, in the graph or function body that holds it; None if no op is to blame.
      op_type: its type.
      within: names of the loops, branches and calls around it, outermost first; empty for an op of the graph itself.
      where: `file:line` of the user code that made the op; None where TensorFlow kept none, as for files.
      detail: what more there is to say.
      advice: what to do.
      forward: of a backward op, the name of the op whose gradient it is part of.
      iterations: for each loop around the op, outermost first, its name and in which iteration it was, from 0.
      indices: where the first offending elements of the op's output are.
      values: what is there.
      ops: of a lint, the names of all ops that it is about.
      inputs: for each floating input the values at the same places, or its least and greatest if shapes differ.
    """

    x: str
    cause: enum.Enum
    op: str | None = None
    op_type: str | None = None
    within: tuple[str, ...] = ()
    where: str | None = None
    detail: str = ""
    advice: str = ""
    forward: str | None = None
    iterations: tuple[tuple[str, int], ...] = ()
    indices: tuple[tuple[int, ...], ...] = ()
    values: tuple[Any, ...] = ()
    inputs: tuple[tuple[Any, ...], ...] = ()
    ops: tuple[str, ...] = ()
    trail: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def path(self) -> tuple[str, ...]:
        """Names of the ops from x through `op` to y, the shortest such path; empty if there is none."""
        return self.trail()

    def __str__(self) -> str:
        sentence = f"{self.x}: {self.cause.value}"
        inside = "".join(f" in {name!r}" for name in reversed(self.within))
        if self.op is None:
            sentence += inside
        else:
            made = f", made at {self.where}" if self.where else ""
            sentence += f" ({self.op_type} {self.op!r}{inside}{made})"
        return ". ".join(part for part in (sentence + (f": {self.detail}" if self.detail else ""), self.advice) if part)

    def about(self, xs: str) -> str:
        """The sentence, about several."""
        return f"{xs}{str(self)[len(self.x) :]}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "x": self.x,
            "cause": self.cause.name.lower(),
            "op": self.op,
            "op_type": self.op_type,
            "within": list(self.within),
            "where": self.where,
            "path": list(self.path),
            "ops": list(self.ops),
            "forward": self.forward,
            "iterations": [list(iteration) for iteration in self.iterations],
            "indices": [list(index) for index in self.indices],
            "values": [repr(value) for value in self.values],
            "inputs": [[repr(value) for value in values] for values in self.inputs],
            "message": str(self),
        }


def sentences(findings: Iterable[Finding]) -> list[str]:
    """Each cause once, with the names of all that it is about."""
    causes: dict[str, list[Finding]] = {}
    for finding in findings:
        causes.setdefault(finding.about(""), []).append(finding)
    return [alike[0].about(_listed([finding.x for finding in alike])) for alike in causes.values()]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
