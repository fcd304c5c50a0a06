"""What the probes of an instrumented run see: for each op, when a value that is not finite came out, and from where."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHOWN = 5  # how many offending elements a finding shows
KEPT = 10_000  # how many executions of one op, in the iterations of a loop, are remembered


@dataclass(frozen=True)
class Sample:
    """One execution of an op that gave values that are not finite.

    Attributes:
      order: a number that grows from execution to execution.
      iterations: for each loop around the op, outermost first, its name and in which iteration it was, from 0.
      count: how many elements of the output are not finite, and how many there are.
      indices: where the first of them are, at most five.
      values: what is there.
      inputs: for each floating input the values at the same places, or its least and greatest where shapes differ.
    """

    order: int
    iterations: tuple[tuple[str, int], ...]
    count: tuple[int, int]
    indices: tuple[tuple[int, ...], ...]
    values: tuple[Any, ...]
    inputs: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Execution:
    """One execution of an op from which something came out that was not finite.

    Attributes:
      outputs: numbers of the outputs that were not finite.
      carried: numbers of the inputs from which it came; empty if they were finite.
      sample: what was there.
      makes_nan: it made a NaN of infinities.
    """

    outputs: frozenset[int]
    carried: frozenset[int]
    sample: Sample
    makes_nan: bool


class Clock:
    """In which iteration each loop is; probes on the conditions of the loops move it."""

    def __init__(self) -> None:
        self.order = 0
        self._iteration: dict[Any, int] = {}

    def ticker(self, loop: Any) -> Callable[[np.ndarray], np.ndarray]:
        """The function that a probe on the condition of `loop` calls."""

        def tick(goes_on: np.ndarray) -> np.ndarray:
            self._iteration[loop] = self._iteration.get(loop, -1) + 1 if goes_on else -1
            return np.array(goes_on)

        return tick

    def now(self, loops: Sequence[tuple[Any, str]]) -> tuple[tuple[str, int], ...]:
        """The iteration of each of these loops."""
        self.order += 1
        return tuple((name, max(self._iteration.get(loop, 0), 0)) for loop, name in loops)


@dataclass
class Probe:
    """What is called each time an op has run: takes inputs and outputs, hands the outputs on.

    Attributes:
      inputs, outputs: the numbers of the op's inputs and outputs that are handed in.
      chooses: the op is an elementwise choice: input 0 tells from which of the others an element comes.
      loops: key and name of each loop around the op, outermost first.
      executions: those from which something came out that was not finite, by the iteration of each loop.
    """

    inputs: Sequence[int]
    outputs: Sequence[int]
    chooses: bool
    loops: Sequence[tuple[Any, str]]
    clock: Clock
    executions: dict[tuple[int, ...], Execution] = field(default_factory=dict)

    def __call__(self, *tensors: np.ndarray) -> list[np.ndarray]:
        """Look at one execution."""
        outputs = list(tensors[len(self.inputs) :])
        wrong = [k for k, output in enumerate(outputs) if not np.isfinite(output).all()]
        if wrong and len(self.executions) < KEPT:
            self._look(wrong, list(map(np.asarray, outputs)), list(map(np.asarray, tensors[: len(self.inputs)])))
        # TensorFlow would take the very memory of the tensors handed in, and write into it where it reuses memory.
        return [np.array(output) for output in outputs]

    def _look(self, wrong: list[int], outputs: list[np.ndarray], inputs: list[np.ndarray]) -> None:
        carried = {i for k in wrong for i in self._carried(~np.isfinite(outputs[k]), inputs)}
        first = outputs[wrong[0]]
        makes_nan = bool(carried) and _makes_nan(first, [inputs[i] for i in carried])
        sample = self._sample(first, np.isnan(first) if makes_nan else ~np.isfinite(first), inputs)
        self.executions[tuple(number for _, number in sample.iterations)] = Execution(
            frozenset(self.outputs[k] for k in wrong),
            frozenset(self.inputs[i] for i in carried),
            sample,
            makes_nan,
        )

    def _carried(self, bad: np.ndarray, inputs: list[np.ndarray]) -> list[int]:
        """Which inputs hold what is not finite, and may have brought it to where it came out.

        An input of the output's shape is left out if it is finite at all those places, unless that leaves none.
        """
        if self.chooses:
            taken = {i: _chosen(inputs[0], i == 1, bad) for i in (1, 2)}
            return [i for i in (1, 2) if (taken[i] & _spread(~np.isfinite(inputs[i]), bad)).any()]
        wrong = [(i, ~np.isfinite(v)) for i, v in enumerate(inputs) if not np.isfinite(v).all()]
        return [i for i, w in wrong if _overlap(w, bad)] or [i for i, _ in wrong]

    def _sample(self, output: np.ndarray, bad: np.ndarray, inputs: list[np.ndarray]) -> Sample:
        places = np.argwhere(bad)[:SHOWN]
        indices = tuple(tuple(map(int, place)) for place in places)
        return Sample(
            self.clock.order + 1,
            self.clock.now(self.loops),
            (int(bad.sum()), int(bad.size)),
            indices,
            tuple(output[i].item() for i in indices),
            tuple(_excerpt(v, output.shape, indices) for v in inputs),
        )


def _makes_nan(output: np.ndarray, inputs: Sequence[np.ndarray]) -> bool:
    return bool(np.isnan(output).any()) and not any(np.isnan(v).any() for v in inputs)


def _chosen(condition: np.ndarray, wanted: bool, like: np.ndarray) -> np.ndarray:
    """Where an elementwise choice takes an input; the condition of the first version may choose whole rows."""
    chosen = condition == wanted
    if chosen.ndim == 1 and like.ndim > 1 and chosen.shape[0] == like.shape[0] != like.shape[-1]:
        chosen = chosen.reshape(-1, *(1,) * (like.ndim - 1))
    return _spread(chosen, like) & like


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def _spread(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    return np.broadcast_to(values, like.shape)


def _overlap(wrong: np.ndarray, bad: np.ndarray) -> bool:
    return not _fits(wrong.shape, bad.shape) or bool((_spread(wrong, bad) & bad).any())


def _excerpt(values: np.ndarray, shape: tuple[int, ...], indices: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    """The values at the same places, or the least and the greatest where the shapes do not go together."""
    if _fits(values.shape, shape):
        spread = np.broadcast_to(values, shape)
        return tuple(spread[i].item() for i in indices)
    if values.size == 0 or np.iscomplexobj(values):
        return ()
    return (values.min().item(), values.max().item())
