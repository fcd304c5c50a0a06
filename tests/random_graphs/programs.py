"""A random graph as data: leaves, steps, bodies of control flow, and what is asked about it."""

from dataclasses import dataclass

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
