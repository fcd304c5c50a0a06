"""Levenberg-Marquardt: damped Gauss-Newton steps on residuals, each one op of the graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, operators
from .._control_flow import v2_control_flow
from .._newton._cg import dot
from .._newton._elsewhere import Elsewhere
from .._newton._minimizer import GraphMinimizer, Point
from ..errors import OptimizerError

_LARGEST_GROWTH = 2.0**40


class LevenbergMarquardt(GraphMinimizer):
    """Minimise |r|^2 / 2 by steps d with (J^T J + damping I) d = -J^T r, J = dr/dx; a step is one op of the graph.

    A step that does not lower the loss is refused, and changes no bit of the variables. The damping follows Nielsen's
    rule. The smaller of J^T J and J J^T is factorised, in float64: a few thousand variables, or residuals, are the
    most. It is no `tf.train.Optimizer`: a step needs the function, so there is no `compute_gradients`.

    Args:
      damping: to begin with, above 0.
      kernel: whether J J^T is factorised; None: if residuals are fewer than the numbers in the variables.

    Attributes:
      damping: the variable that holds it.
      report: tensors "loss" (before the step), "rho" (by how much of what the model promised it falls), "damping".

    Example:
      >>> v = tf.get_variable("v", initializer=np.zeros(2))
      >>> x = tf.constant([0., 1., 2.], tf.float64)
      >>> step = symgrad.optimizers.LevenbergMarquardt(1e-9).minimize(v[0] + v[1] * x - [1., 3., 5.])
      >>> run(step)
      >>> run(v).round(6)
      array([1., 2.])

    Reference: D. Marquardt (1963), SIAM J. Appl. Math. 11(2); K. Madsen, H. Nielsen, O. Tingleff (2004), Methods for
    non-linear least squares problems, DTU; J. Müller, M. Zeinhofer (2023), Achieving high accuracy with PINNs via
    energy natural gradients, ICML.
    """

    name = "LevenbergMarquardt"

    def __init__(self, damping: float = 1e-3, *, kernel: bool | None = None):
        super().__init__(damping)
        self._kernel = kernel

    @tf.autograph.experimental.do_not_convert
    def minimize(self, residuals: Any, var_list: Any = None, *, rows: Any = None, global_step: Any = None) -> Any:
        """The op of a step.

        Args:
          residuals: tensor or list of tensors, real. The loss is half the sum of their squares.
          var_list: variables, real, of known shapes; by default all trainable ones.
          rows: tensor or list of the tensors with a row for each residual [B, ...], as for `symgrad.example_jacobian`,
            which makes J a hundred times cheaper; for a list of residuals, a list of such, None for the whole Jacobian.
          global_step: variable to increment with each step, refused ones too.

        Raises:
          OptimizerError: eager mode; no variables; a second call.
          ShapeError: as `symgrad.example_jacobian`: a tensor that has rows is left out of `rows`, or examples are
            coupled; a variable of unknown shape.
          DisconnectedError: no residual depends on any variable.
          DtypeError, ControlFlowError, GraphMismatchError, MissingRuleError: as for `symgrad.jacobian`.
        """
        groups = list(residuals) if isinstance(residuals, (list, tuple)) else [residuals]
        point = self._begin(groups, var_list)
        by_group = _rows_of(groups, rows, isinstance(residuals, (list, tuple)))
        groups = _tensors.outputs(groups)
        point.require_path_to(groups)
        elsewhere = Elsewhere(groups, point.variables)
        with groups[0].graph.as_default(), tf.name_scope(self.name):
            jacobian = tf.concat([_block(r, point, of) for r, of in zip(groups, by_group, strict=True)], 0)
            point.read()
            self._damping = self._state("damping", tf.constant(self._start, tf.float64))
            growth = self._state("growth", tf.constant(2.0, tf.float64))
            system = _System(jacobian, _joined(groups), self._is_kernel(groups, point))
            damping = tf.maximum(self._damping.read_value(), system.floor)
            step = system.step(damping)
            values = point.moved(tf.cast(step, point.dtype))
            after = _joined(elsewhere.at(values))
            loss, new_loss = 0.5 * dot(system.residuals, system.residuals), 0.5 * dot(after, after)
            rho = (loss - new_loss) / (0.5 * dot(step, damping * step - system.gradient))
            accepted = (rho > 0) & tf.math.is_finite(rho)
            self.report = {"loss": loss, "rho": rho, "damping": damping}
            state = [(self._damping, growth), _followed(damping, growth.read_value(), rho, accepted, system.ceiling)]
            return point.write(accepted, values, list(zip(*state, strict=True)), global_step)

    def _is_kernel(self, groups: Sequence[tf.Tensor], point: Point) -> bool | tf.Tensor:
        if self._kernel is not None:
            return self._kernel
        sizes = [r.shape.num_elements() for r in groups]
        total = sum(sizes) if None not in sizes else tf.add_n([tf.size(r) for r in groups])
        return total < point.flat.size


def _rows_of(groups: Sequence[Any], rows: Any, listed: bool) -> list[Any]:
    """For each group of residuals the tensors with its rows, or None."""
    if rows is None:
        return [None] * len(groups)
    if not listed:
        return [rows]
    if not isinstance(rows, (list, tuple)) or len(rows) != len(groups):
        raise OptimizerError(f"rows is {rows!r}; wanted a list with an item for each of the {len(groups)} residuals")
    return list(rows)


def _block(residuals: tf.Tensor, point: Point, rows: Any) -> tf.Tensor:
    """d residuals / d variables as a matrix of float64; zeros where a group of residuals does not know a variable."""
    if rows is None:
        found = operators.jacobian(residuals, point.variables, disconnected="zero")
    else:
        found = operators.example_jacobian(residuals, point.variables, rows=rows, disconnected="zero")
    count = residuals.shape.num_elements()
    size = tf.size(residuals) if count is None else count
    likes = [v.shape.as_list() for v in point.variables]
    flat = [
        tf.reshape(f, tf.concat([[size], tf.constant(like, tf.int32)], 0)) for f, like in zip(found, likes, strict=True)
    ]
    return tf.cast(point.flat.pack(flat, 1), tf.float64)


def _joined(groups: Sequence[tf.Tensor]) -> tf.Tensor:
    return tf.concat([tf.cast(tf.reshape(r, [-1]), tf.float64) for r in groups], 0)


class _System:
    """The damped normal equations, of the smaller size.

    Attributes:
      residuals: r.
      gradient: J^T r.
      floor: the least damping with which a factorisation of rounded numbers is safe.
      ceiling: the damping with which a step is nothing.
    """

    def __init__(self, jacobian: tf.Tensor, residuals: tf.Tensor, kernel: "bool | tf.Tensor"):
        self._jacobian, self._kernel, self.residuals = jacobian, kernel, residuals
        self.gradient = tf.linalg.matvec(jacobian, residuals, transpose_a=True)
        square = dot(jacobian, jacobian)  # the trace of either matrix, above its largest eigenvalue
        epsilon = np.finfo(np.float64).eps
        self._sound = tf.math.is_finite(square)
        self.floor = tf.where(self._sound & (square > 0), epsilon * square, tf.ones_like(square))
        self.ceiling = tf.where(self._sound, square / epsilon, tf.ones_like(square)) + 1.0

    def step(self, damping: tf.Tensor) -> tf.Tensor:
        """The solution; zeros if the Jacobian is not finite."""
        if isinstance(self._kernel, bool):
            return self._by_residuals(damping) if self._kernel else self._by_variables(damping)
        with v2_control_flow():
            found = tf.cond(self._kernel, lambda: self._by_residuals(damping), lambda: self._by_variables(damping))
        return tf.ensure_shape(found, self.gradient.shape)

    def _by_variables(self, damping: tf.Tensor) -> tf.Tensor:
        gram = tf.matmul(self._jacobian, self._jacobian, transpose_a=True)
        return -self._solved(gram, self.gradient, damping)

    def _by_residuals(self, damping: tf.Tensor) -> tf.Tensor:
        gram = tf.matmul(self._jacobian, self._jacobian, transpose_b=True)
        weights = self._solved(gram, self.residuals, damping)
        return -tf.linalg.matvec(self._jacobian, weights, transpose_a=True)

    def _solved(self, gram: tf.Tensor, right: tf.Tensor, damping: tf.Tensor) -> tf.Tensor:
        # A factorisation of what is not finite would stop the run; the step is refused instead.
        gram = tf.where(self._sound, gram, tf.zeros_like(gram))
        matrix = tf.linalg.set_diag(gram, tf.linalg.diag_part(gram) + damping)
        return tf.linalg.cholesky_solve(tf.linalg.cholesky(matrix), right[:, tf.newaxis])[:, 0]


def _followed(
    damping: tf.Tensor, growth: tf.Tensor, rho: tf.Tensor, accepted: tf.Tensor, ceiling: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Nielsen's rule: the next damping, and by how much it would grow."""
    lower = damping * tf.maximum(tf.constant(1 / 3, damping.dtype), 1 - (2 * rho - 1) ** 3)
    higher = tf.minimum(damping * growth, tf.maximum(ceiling, damping))
    twice = tf.minimum(2 * growth, tf.constant(_LARGEST_GROWTH, growth.dtype))
    return tf.where(accepted, lower, higher), tf.where(accepted, tf.constant(2.0, growth.dtype), twice)
