"""The values of declared hyperparameters: numbers that change while training, schedules, tensors, callables.

A number lives in a cell of its own in each graph. A plain `Saver()` neither writes it nor looks for it, so that
checkpoints of TensorFlow's optimizers restore. A number is configuration: a resumed run takes the one from its
constructor. Who wants a rate in the checkpoint gives a variable.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from ..errors import OptimizerError
from ._declarations import REQUIRED, hyperparameter
from ._settable import EagerCell, GraphCell, dtype_of
from ._variables import home, is_variable, start, unwrap

__all__ = ["Hyperparameters", "is_number", "is_schedule"]

_log = logging.getLogger("symgrad")


def is_number(value: Any) -> bool:
    """True for Python and NumPy numbers, which a hyperparameter keeps in a variable."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


class Hyperparameters:
    """The hyperparameters of one optimizer.

    Args:
      owner: the optimizer's name, for the names of variables and messages.
      declarations: name to declaration.
      values: name to given value; the defaults fill what is missing.
    """

    def __init__(self, owner: str, declarations: Mapping[str, hyperparameter], values: Mapping[str, Any]):
        self._owner, self._declarations = owner, declarations
        self._given: dict[str, Any] = {}
        self._cells: dict[tuple[str, tf.Graph | None], EagerCell | GraphCell] = {}
        self._built: set[tuple[str, tf.Graph | None]] = set()
        for name, declaration in declarations.items():
            value = values.get(name, declaration.default)
            if value is REQUIRED:
                raise OptimizerError(f"{owner} needs {name}: give it by position or as {name}=...")
            self._given[name] = self._checked(name, unwrap(value))

    def __iter__(self):
        return iter(self._given)

    def given(self, name: str) -> Any:
        """What was given last: a number, tensor, variable, schedule or callable."""
        return self._given[name]

    def initial(self, name: str) -> Any:
        """The value with which state that starts from this hyperparameter begins."""
        value = self._given[name]
        if is_number(value):
            return np.asarray(value, dtype_of(value))
        if is_variable(value):
            return start(value)
        return value() if callable(value) and not tf.is_tensor(value) else value

    # ---- in the training step

    def tensor(self, name: str, step: Callable[[], tf.Tensor]) -> tf.Tensor:
        """The scalar of this moment, in the graph where training is built (or in eager code).

        Args:
          name: the hyperparameter.
          step: returns the number of finished steps, for schedules; called only where one needs it.
        """
        value, where = self._given[name], home()
        self._built.add((name, where))
        if is_number(value):
            return self._cell(name, where).value()
        if is_variable(value):
            return self._finite(name, tf.convert_to_tensor(value.read_value()))
        if callable(value) and not tf.is_tensor(value):
            value = self._call(name, value, step)
        return self._finite(name, tf.convert_to_tensor(unwrap(value)))

    def _call(self, name: str, function: Callable, step: Callable[[], tf.Tensor]) -> Any:
        wants = _required_arguments(function)
        if wants > 1:
            raise OptimizerError(
                f"{self._owner}.{name} is a callable with {wants} required arguments; wanted one without arguments, "
                "or a schedule: a function of the step"
            )
        value = function(step()) if wants else function()
        if is_number(value) and not tf.executing_eagerly() and not wants:
            # A graph would keep the number of the day it was built; the callable is asked at every step instead.
            dtype = dtype_of(value)
            value = tf.numpy_function(lambda: np.asarray(function(), dtype), [], tf.as_dtype(dtype))
            value.set_shape(())
        return value

    def _finite(self, name: str, value: tf.Tensor) -> tf.Tensor:
        if value.shape.rank not in (0, None):
            raise OptimizerError(f"{self._owner}.{name} has shape {value.shape}; wanted a scalar")
        if not value.dtype.is_floating:
            return value
        if tf.executing_eagerly():
            self._checked(name, float(value))
            return value
        value = tf.check_numerics(value, f"{self._owner}.{name} is not a finite number at this step")
        return self._declarations[name].within(value, f"{self._owner}.{name} at this step")

    def _cell(self, name: str, where: tf.Graph | None) -> EagerCell | GraphCell:
        if (name, where) not in self._cells:
            make = EagerCell if where is None else GraphCell
            self._cells[name, where] = make(f"{self._owner}/{name}", self._given[name])
        return self._cells[name, where]

    # ---- from outside

    def get(self, name: str, session: Any = None) -> Any:
        """The present value: a number from the session, a variable in eager code, else what was given."""
        cell = self._cells.get((name, home()))
        if cell is None:
            return self._given[name]
        if isinstance(cell, EagerCell):
            return cell.variable
        session = session or tf.get_default_session()
        return self._given[name] if session is None else cell.get(session)

    def variables(self) -> list[Any]:
        """The variables that numbers live in, in eager code."""
        return [cell.variable for cell in self._cells.values() if isinstance(cell, EagerCell)]

    def set(self, name: str, value: Any, session: Any = None) -> None:
        """Give a new value, before or while training.

        Raises:
          OptimizerError: the value is out of range; or the training step is built and the value is not a number, or
            no session says where to put it.
        """
        value, where = self._checked(name, unwrap(value)), home()
        cell = self._cells.get((name, where))
        if cell is None:
            frozen = [graph for built, graph in self._built if built == name and graph is not None]
            if frozen:
                raise OptimizerError(self._fixed(name, value))
            self._given[name] = value
            return
        if not is_number(value):
            raise OptimizerError(self._fixed(name, value))
        if isinstance(cell, EagerCell):
            cell.variable.assign(value)
        else:
            session = session or tf.get_default_session()
            if session is None:
                raise OptimizerError(
                    f"{self._owner}.{name} is built into a graph and there is no default session to set it in; call "
                    f"optimizer.set(session, {name}={value!r}), or assign under `with session.as_default():`"
                )
            if cell.on_a_parameter_server:
                _log.warning(
                    "%s.%s is set for this worker; others keep theirs, unless they set it too or share a variable",
                    self._owner,
                    name,
                )
            cell.set(session, value)
        self._given[name] = value

    def check_rounded(self, name: str, dtype: tf.DType) -> None:
        """Refuse a number that a dtype rounds up to what it must be below, or down to zero.

        bfloat16 has nothing between 0.996 and 1; in float16 an epsilon of 1e-8 is 0, and 0 / 0 the first step.
        """
        value, below = self._given[name], self._declarations[name].below
        if not is_number(value):
            return
        rounded = float(np.asarray(value, dtype.as_numpy_dtype))
        if below is not None and rounded >= below:
            raise OptimizerError(
                f"{self._owner}.{name} is {value!r}, which {dtype.name} rounds to {below}; wanted a number below "
                f"{below} in {dtype.name} too: take a smaller one, or keep the variable in float32"
            )
        if rounded == 0 != value:
            raise OptimizerError(
                f"{self._owner}.{name} is {value!r}, which {dtype.name} rounds to 0; take a larger one, or 0 itself, "
                "or keep the variable in float32"
            )

    def _fixed(self, name: str, value: Any) -> str:
        return (
            f"the training step is built with {self._owner}.{name} = {self._given[name]!r}, which {value!r} cannot "
            "replace; only a number can replace a number, while the step's graph is the default one (a variable, a "
            "schedule or a tensor is changed where it is made)"
        )

    def _checked(self, name: str, value: Any) -> Any:
        """The value, if it is no number or one in the declared range."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if is_number(value):
            wanted = self._declarations[name].problem(value)
        else:
            plain = value is None or isinstance(value, (str, bytes, bool, complex, np.complexfloating, np.bool_))
            wanted = "a number, tensor, variable, schedule or callable" if plain else None
        if wanted:
            raise OptimizerError(f"{self._owner}.{name} is {value!r}; wanted {wanted}")
        return value


def is_schedule(value: Any) -> bool:
    """True for a function of the step."""
    plain = is_number(value) or tf.is_tensor(value) or is_variable(value)
    return callable(value) and not plain and _required_arguments(value) == 1


def _required_arguments(function: Callable) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
