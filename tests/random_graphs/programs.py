"""A random graph as data: leaves, steps, bodies of control flow, and what is asked about it."""

import re
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Input:
    """A leaf.

    Attributes:
      kind: "placeholder", "constant", "variable" (of a resource) or "reference" (a variable of V1).
      static: the shape that is known while building; None if not even the rank is.
      dtype: by name, as NumPy has no bfloat16.
    """

    name: str
    kind: str
    static: tuple | None
    dtype: str
    value: np.ndarray


@dataclass(frozen=True)
class Body:
    """A function that a step runs: `place` is one of ops.BODIES, `flow` the control flow it is built with."""

    place: str
    flow: str
    name: str
    arguments: tuple[str, ...]
    steps: tuple
    results: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """`name = expression`, after the body that the expression calls, if there is one."""

    name: str
    expression: str
    body: Body | None = None


@dataclass(frozen=True)
class Program:
    """A graph and the derivatives asked of it.

    Attributes:
      xs: pairs of the tensor to differentiate by and the leaf that moves it.
      calls: what is asked of symgrad, expressions over `ys`, `xs`, `u`, `v` and `loss`.
    """

    seed: tuple[int, int]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    ys: tuple[str, ...]
    xs: tuple[tuple[str, str], ...]
    calls: tuple[str, ...]


def named(text):
    """The names of leaves, steps and arguments in an expression."""
    return set(re.findall(r"\b[xta]\d+\b", text))


def needed(steps, wanted):
    """The steps that the names `wanted` are computed from, bodies without what their results do not need."""
    wanted, kept = set(wanted), []
    for step in reversed(steps):
        if step.name in wanted:
            if step.body:
                inside, reads = needed(step.body.steps, set().union(*map(named, step.body.results)))
                step = replace(step, body=replace(step.body, steps=inside))
                wanted |= reads
            wanted |= named(step.expression)
            kept.append(step)
    return tuple(reversed(kept)), wanted
