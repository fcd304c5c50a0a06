"""What minimizers share whose whole step is one op of a graph: the variables, the state, the writes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, diagnose, rules
from .._finding import sentences
from .._flat import Flat
from .._optimizing._checked import checked_variables
from .._optimizing._training_step import count
from .._optimizing._variables import assign, label, snapshot, unwrap
from ..errors import DisconnectedError, DtypeError, OptimizerError
from ._elsewhere import Elsewhere


class GraphMinimizer:
    """A minimizer that needs the function itself, and so has one method, `minimize`, and no `compute_gradients`.

    Attributes:
      report: tensors by name that tell of the step that is taken in the same run.
    """

    #: The name for scopes and variables.
    name = "minimizer"

    def __init__(self, damping: float):
        if isinstance(damping, bool) or not isinstance(damping, (int, float, np.floating)) or not damping > 0:
            raise OptimizerError(f"{type(self).__name__}: damping is {damping!r}; wanted a number above 0")
        self._start = float(damping)
        self._damping: Any = None
        self.report: dict[str, tf.Tensor] = {}

    @property
    def damping(self) -> Any:
        """The variable that holds the damping; the number to begin with until `minimize` has built the step."""
        return self._start if self._damping is None else self._damping

    def _begin(self, tensors: Sequence[Any], var_list: Any) -> "Point":
        """The variables as a point; refused before anything is built."""
        if self._damping is not None:
            raise OptimizerError(f"this {type(self).__name__} has a step already; make one for each function")
        kind = f"{type(self).__name__} builds its step in a graph"
        inside = tf.executing_eagerly() or isinstance(tf.get_default_graph(), _tf.FuncGraph)
        if inside or any(isinstance(t, _tf.EagerTensor) for t in tensors):
            raise OptimizerError(
                f"{kind}; call minimize under tf.Graph().as_default(), with tensors of that graph, in no tf.function"
            )
        if any(callable(t) and not _tensors.is_variable(t) for t in tensors):
            raise OptimizerError(f"{kind} from tensors, came a function")
        given = tf.trainable_variables() if var_list is None else var_list
        variables = [unwrap(v) for v in checked_variables(given)]
        for v in variables:
            if not _tensors.is_variable(v):
                raise OptimizerError(f"var_list has {v.name}, which is no variable")
            if not v.dtype.base_dtype.is_floating:
                raise DtypeError(f"variable {label(v)} is {v.dtype.base_dtype.name}; wanted real floating numbers")
        return Point(variables)

    def _state(self, name: str, initial: Any) -> Any:
        """A variable of the minimizer, saved with the others."""
        with tf.name_scope(""):
            return tf.Variable(initial, name=f"{self.name}/{name}", trainable=False, use_resource=True)


class Point:
    """Variables as one vector of the dtype that is widest among them, and at least float32.

    Attributes:
      variables: the variables.
      values: their values at the beginning of the step.
      flat: from vectors to parts and back.
    """

    def __init__(self, variables: Sequence[Any]):
        self.variables = list(variables)
        widest = np.result_type(np.float32, *(v.dtype.base_dtype.as_numpy_dtype for v in variables))
        self.flat = Flat(self.variables, tf.as_dtype(widest))
        self.values: list[tf.Tensor] = []

    @property
    def dtype(self) -> tf.DType:
        """Of the vector."""
        return self.flat.dtype

    def require_path_to(self, ys: Sequence[tf.Tensor]) -> None:
        """Raise DisconnectedError if ys depend on none of the variables."""
        tensors = [x.tensor for x in _tensors.inputs(self.variables, ys[0].graph)]
        if not any(rules.between(ys, tensors).connected):
            causes = "\n".join(sentences(diagnose.why_none(list(ys), tensors)))
            raise DisconnectedError(f"no variable has a derivative, so that there is nothing to minimize:\n{causes}")

    def read(self) -> None:
        """Read the variables, for the step that is built now."""
        self.values = [snapshot(v) for v in self.variables]

    def moved(self, step: tf.Tensor) -> list[tf.Tensor]:
        """The values after a step, a vector."""
        return [value + part for value, part in zip(self.values, self.flat.unpack(step), strict=True)]

    def losses(self, loss: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
        """The loss after a step, as a function of it that builds ops."""
        elsewhere = Elsewhere([loss], self.variables)
        return lambda step: tf.cast(elsewhere.at(self.moved(step))[0], self.dtype)

    def write(
        self, accepted: tf.Tensor, values: Sequence[tf.Tensor], state: Sequence[tuple[Any, tf.Tensor]], global_step: Any
    ) -> tf.Operation:
        """The op of the step: new values where it is accepted, else the old ones to the bit; then the new state."""
        chosen = [tf.where(accepted, new, old) for new, old in zip(values, self.values, strict=True)]
        with tf.control_dependencies([*chosen, *(value for _, value in state)]):
            done = [assign(v, value) for v, value in zip(self.variables, chosen, strict=True)]
            done += [assign(variable, value) for variable, value in state]
        if global_step is not None:
            with tf.control_dependencies(done):
                done = [count(global_step, None)]
        return tf.group(*done)
