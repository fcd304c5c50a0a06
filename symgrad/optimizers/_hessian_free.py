"""Hessian-free optimization: truncated Newton steps by conjugate gradients, each one op of the graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, operators, rules
from .._crossings import crossings
from .._newton._cg import Stop, conjugate_gradients, dot
from .._newton._minimizer import GraphMinimizer, Point
from ..errors import ControlFlowError, OptimizerError, ShapeError

_HALVINGS = 20
_ARMIJO = 0.01  # the share of the decrease promised by the slope that a step must bring


class HessianFree(GraphMinimizer):
    """Minimise a loss by steps d with (G + damping I) d = -gradient, G = J^T H J; a step is one op of the graph.

    Conjugate gradients begin at `decay` times the last solution and stop when the model makes little progress; of their
    points the one with the lowest loss is taken, and halved until the loss falls by enough. The damping follows
    Levenberg and Marquardt. Give each step a large batch, or all data. It is no `tf.train.Optimizer`: a step needs the
    function, so there is no `compute_gradients`.

    Args:
      damping: to begin with, above 0.
      iterations: the most steps of conjugate gradients; too few, and the damping falls while they are cut short.
      decay: how much of the last solution is the next start.
      tolerance: of the relative progress of the model for each step, at which conjugate gradients stop.

    Attributes:
      damping: the variable that holds it.
      report: tensors "loss" (before the step), "rho" (what the loss fell by, as a share of what the model promised),
        "damping", "cg" (steps of conjugate gradients), "rate" (by how much the solution was shortened, 0 if refused).

    Example:
      >>> v = tf.get_variable("v", initializer=np.zeros(2))
      >>> y = v[0] + v[1] * tf.constant([0., 1., 2.], tf.float64)
      >>> loss = tf.reduce_sum((y - [1., 3., 5.]) ** 2)
      >>> step = symgrad.optimizers.HessianFree(1e-9).minimize(loss, y)
      >>> run(step)
      >>> run(v).round(6)
      array([1., 2.])

    Reference: J. Martens (2010), Deep learning via Hessian-free optimization, ICML; J. Martens, I. Sutskever (2012),
    Training deep and recurrent networks with Hessian-free optimization.
    """

    name = "HessianFree"

    def __init__(self, damping: float = 1.0, *, iterations: int = 250, decay: float = 0.95, tolerance: float = 5e-4):
        super().__init__(damping)
        if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
            raise OptimizerError(f"HessianFree: iterations is {iterations!r}; wanted an int of at least 1")
        if not 0 <= decay <= 1 or not tolerance > 0:
            raise OptimizerError(f"HessianFree: decay is {decay} and tolerance {tolerance}; wanted 0 to 1, and above 0")
        self._stop, self._decay = Stop(iterations, tolerance), decay

    @tf.autograph.experimental.do_not_convert
    def minimize(self, loss: Any, outputs: Any, var_list: Any = None, *, global_step: Any = None) -> Any:
        """The op of a step.

        Args:
          loss: scalar tensor, real.
          outputs: tensor or list of tensors between the variables and the loss, such as logits or residuals, in which
            the loss is convex.
          var_list: variables, real, of known shapes; by default all trainable ones.
          global_step: variable to increment with each step, refused ones too.

        Raises:
          OptimizerError: eager mode; no variables; a variable among the outputs; a second call.
          ShapeError: the loss is no scalar; a variable of unknown shape.
          DisconnectedError: the loss depends on no variable, or not on the outputs.
          ControlFlowError: the outputs cross loops or branches of V1, which the loop of conjugate gradients cannot
            enter.
          DtypeError, GraphMismatchError, MissingRuleError: as for `symgrad.ggnvp`.
        """
        leaves = _tensors.flatten(outputs)
        point = self._begin([loss, *leaves], var_list)
        _refuse_variables(leaves)
        (loss,), leaves = _tensors.outputs(loss), _tensors.outputs(outputs)
        if loss.shape.rank not in (0, None):
            raise ShapeError(
                f"the loss {loss.name} has shape {loss.shape}; wanted a scalar, such as its tf.reduce_mean"
            )
        point.require_path_to(leaves)
        _refuse_v1_control_flow(loss, point)
        losses = point.losses(loss)
        with loss.graph.as_default(), tf.name_scope(self.name):
            point.read()
            self._damping = self._state("damping", tf.constant(self._start, point.dtype))
            last = self._state("last_direction", tf.zeros([point.flat.size], point.dtype))
            step = _Step(loss, leaves, point, losses)
            damping = self._damping.read_value()
            found = conjugate_gradients(
                lambda v: step.curved(v) + damping * v, -step.gradient, self._stop,
                start=tf.cast(self._decay, point.dtype) * last.read_value(), loss=losses,
            )  # fmt: skip
            taken = step.along(found.best)
            self.report = {
                "loss": step.loss,
                "rho": taken.rho,
                "damping": damping,
                "cg": found.steps,
                "rate": taken.rate,
            }
            kept = tf.where(tf.reduce_all(tf.math.is_finite(found.last)), found.last, tf.zeros_like(found.last))
            state = [(self._damping, _followed(damping, taken.rho)), (last, kept)]
            return point.write(taken.accepted, taken.values, state, global_step)


def _refuse_variables(outputs: list[Any]) -> None:
    for y in outputs:
        if _tensors.is_variable(y):
            raise OptimizerError(
                f"outputs has the variable {y.name}; wanted what is computed between the variables and the loss, such "
                "as logits or residuals"
            )


def _refuse_v1_control_flow(loss: tf.Tensor, point: Point) -> None:
    between = rules.between([loss], [x.tensor for x in _tensors.inputs(point.variables, loss.graph)])
    if crossings(between).v1:
        raise ControlFlowError(
            f"{loss.name} crosses loops or branches of V1, which the loop of conjugate gradients cannot enter; build "
            "them under tf.enable_control_flow_v2(), or take products one by one: symgrad.linops.GGN and SciPy's cg"
        )


class _Taken:
    """A step after the line search.

    Attributes:
      rate: by how much it is shortened, 0 if it is refused.
      rho: the fall of the loss as a share of what the model promised, for the whole step.
      accepted: whether it is taken.
      values: of the variables after it.
    """

    def __init__(self, rate: tf.Tensor, rho: tf.Tensor, accepted: tf.Tensor, values: list[tf.Tensor]):
        self.rate, self.rho, self.accepted, self.values = rate, rho, accepted, values


class _Step:
    """The loss, its gradient and its curvature at a point."""

    def __init__(self, loss: tf.Tensor, outputs: list[tf.Tensor], point: Point, losses: Callable):
        self._outputs, self._point, self._losses = outputs, point, losses
        self.loss = tf.cast(loss, point.dtype)
        gradients = operators.Lop(loss, point.variables, tf.ones_like(loss), disconnected="zero")
        self.gradient = point.flat.pack(gradients)
        self._slopes = operators.Lop(loss, outputs, tf.ones_like(loss))

    def curved(self, vector: tf.Tensor) -> tf.Tensor:
        """J^T H J times a vector."""
        variables, flat = self._point.variables, self._point.flat
        pushed = operators.Rop(self._outputs, variables, flat.unpack(vector), disconnected="zero")
        curved = operators.Rop(self._slopes, self._outputs, pushed, disconnected="zero")
        return flat.pack(operators.Lop(self._outputs, variables, curved, disconnected="zero"))

    def along(self, direction: tf.Tensor) -> _Taken:
        """The step along a solution, halved until the loss falls by a hundredth of what its slope promises."""
        slope = dot(self.gradient, direction)
        whole = self._losses(direction)
        rho = (whole - self.loss) / (slope + 0.5 * dot(direction, self.curved(direction)))

        def enough(rate, after):
            return after <= self.loss + _ARMIJO * rate * slope

        rate, after = _tf.while_loop_v2(
            lambda rate, after: ~enough(rate, after),
            lambda rate, after: (rate / 2, self._losses(direction * rate / 2)),
            [tf.ones_like(whole), whole], maximum_iterations=_HALVINGS, parallel_iterations=1,
        )  # fmt: skip
        accepted = (after < self.loss) & tf.math.is_finite(after)
        values = self._point.moved(direction * rate)
        return _Taken(tf.where(accepted, rate, tf.zeros_like(rate)), rho, accepted, values)


def _followed(damping: tf.Tensor, rho: tf.Tensor) -> tf.Tensor:
    """The next damping, by Levenberg and Marquardt's rule."""
    factor = tf.where(rho > 0.75, 2 / 3, tf.where(rho < 0.25, 3 / 2, 1.0))
    factor = tf.cast(tf.where(tf.math.is_finite(rho), factor, 4.0), damping.dtype)
    smallest, largest = (tf.constant(x, damping.dtype) for x in (np.finfo(np.float32).tiny, 1e30))
    return tf.clip_by_value(damping * factor, smallest, largest)
