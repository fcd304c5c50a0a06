"""Variables as one float64 vector, as SciPy wants them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .._flat import Flat
from ..errors import DtypeError, OptimizerError, ShapeError
from ._variables import unwrap


class Vector:
    """Variables packed into one vector of float64, and the ops that read it and write it.

    The vector is assigned through a placeholder: feeding the reads of a variable misses those that gather from it.

    Attributes:
      variables: the variables.
      size: how many numbers they hold.
      value: the vector, shape [size], float64.
      given: placeholder for another vector, shape [size], float64.
      assign: op that gives the variables the values in `given`.
    """

    def __init__(self, variables: Sequence[Any]):
        self.variables = [unwrap(v) for v in variables]
        for v in self.variables:
            _check(v)
        self._flat = Flat(self.variables)
        self.size = self._flat.size
        self.value = self.pack(self.variables)
        self.given = tf.placeholder(tf.float64, [self.size], name="given")
        self.assign = tf.group(
            *(v.assign(part, read_value=False) for v, part in zip(self.variables, self.unpack(self.given), strict=True))
        )

    def pack(self, tensors: Sequence[Any], leading: int = 0) -> tf.Tensor:
        """Tensors shaped like the variables, with `leading` dimensions in front of each, as one of [..., size]."""
        return self._flat.pack(tensors, leading)

    def unpack(self, vector: tf.Tensor) -> list[tf.Tensor]:
        """The parts of a vector, each of the shape and dtype of its variable."""
        return self._flat.unpack(vector)

    def bounds(self, by_variable: Mapping[Any, tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper bounds of each number, from a pair of numbers or arrays for each bounded variable."""
        if not by_variable:
            return None
        pairs = {_key(v): pair for v, pair in by_variable.items()}
        unknown = set(pairs) - {_key(v) for v in self.variables}
        if unknown:
            names = [v.name for v in by_variable if _key(v) in unknown]
            raise OptimizerError(f"var_to_bounds has {', '.join(names)}, which is not among the variables to optimize")
        sides = [[_side(v, pairs.get(_key(v), (None, None)), i) for v in self.variables] for i in (0, 1)]
        low, high = (np.concatenate(side) for side in sides)
        if np.any(low > high):
            raise OptimizerError(
                f"a lower bound is above its upper bound: {low[low > high][0]} > {high[low > high][0]}"
            )
        return low, high


def _key(variable: Any) -> int:
    return id(unwrap(variable))


def _side(variable: Any, pair: Any, index: int) -> np.ndarray:
    shape = tuple(variable.shape.as_list())
    try:
        bound = pair[index]
        if len(pair) != 2:
            raise TypeError
    except TypeError:
        raise OptimizerError(f"the bounds of {variable.name} are {pair!r}; wanted a pair (lower, upper)") from None
    missing = (-np.inf, np.inf)[index]
    try:
        given = np.asarray(bound, object)
        array = np.where(given == None, missing, given).astype(np.float64)  # noqa: E711  (element by element)
        return np.broadcast_to(array, shape).ravel()
    except (TypeError, ValueError):
        raise ShapeError(
            f"a bound of {variable.name} has shape {np.shape(bound)}, which does not broadcast to its shape {shape}"
        ) from None


def _check(variable: Any) -> None:
    dtype = variable.dtype.base_dtype
    if not dtype.is_floating:
        raise DtypeError(f"variable {variable.name} has dtype {dtype.name}; SciPy optimizes real floating numbers")
    if not variable.shape.is_fully_defined():
        raise ShapeError(f"variable {variable.name} has the shape {variable.shape}; SciPy wants a known number of them")
