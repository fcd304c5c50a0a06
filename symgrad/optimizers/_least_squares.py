"""Least squares by SciPy, with the Jacobian of the residuals as a matrix or as a linear operator."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import operators, sparsity
from .._optimizing._evaluate import Evaluator, real_vector
from ..errors import OptimizerError
from ._scipy import Best, ScipyInterface, listed, with_values

_log = logging.getLogger("symgrad")


class ScipyLeastSquares(ScipyInterface):
    """Minimize half the sum of squares of residuals with `scipy.optimize.least_squares`.

    The Jacobian of the residuals is a linear operator of one Rop or Lop a product, or a matrix.

    Args:
      residuals: tensor or list of tensors r, of any shapes.
      var_list: the variables to optimize, floating, of known shapes; by default all trainable ones.
      var_to_bounds: dict from a variable to a pair (lower, upper); None or an infinity is no bound.
      dense: whether the Jacobian is a matrix; by default up to a million numbers where sizes are known, and for
        `method="lm"`, which takes no other.
      sparse: whether the Jacobian is a sparse matrix (`symgrad.sparse_jacobian`); not for `method="lm"`.
      **optimizer_kwargs: for `scipy.optimize.least_squares`: `method`, `loss`, `ftol`, `xtol`, `gtol`, `max_nfev`...

    Raises:
      OptimizerError: no variables; a keyword that is set here.

    Example:
      >>> v = tf.get_variable("v", initializer=np.zeros(2))
      >>> x = tf.constant([0., 1., 2.], tf.float64)
      >>> fit = symgrad.optimizers.ScipyLeastSquares(v[0] + v[1] * x - [1., 3., 5.])
      >>> _ = run(v)
      >>> fit.minimize().success
      True
      >>> run(v).round(6)
      array([1., 2.])

    Reference: J. Moré (1978), The Levenberg-Marquardt algorithm; M. Branch, T. Coleman, Y. Li (1999), SIAM J. Sci.
    Comput. 21(1).
    """

    def __init__(
        self,
        residuals: Any,
        var_list: Any = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        *,
        dense: bool | None = None,
        sparse: bool = False,
        **optimizer_kwargs: Any,
    ):
        self._refuse_ours(optimizer_kwargs)
        self._residuals = listed(residuals)
        super().__init__(self._residuals, var_list, var_to_bounds)
        self._kwargs = optimizer_kwargs
        variables = self._vector.variables
        if sparse and (dense or optimizer_kwargs.get("method") == "lm"):
            raise OptimizerError("sparse=True, and dense=True or method='lm', which knows dense matrices only: choose")
        self._dense = not sparse and (self._is_dense() if dense is None else dense)
        self._places: Any = None
        with self._graph.as_default(), tf.name_scope("scipy"):
            r = real_vector(self._residuals)
            self._tensors = {"residuals": r}
            self._along = tf.placeholder(tf.float64, [None], name="along")
            if sparse:
                found = sparsity.sparse_jacobian(r, variables, disconnected="zero")
                self._tensors["jacobian"], self._places = found.values, found.coloring.matrix
            elif self._dense:
                blocks = operators.jacobian(r, variables, disconnected="zero")
                self._tensors["jacobian"] = self._rows(blocks, tf.size(r))
            else:
                pulled = operators.Lop(r, variables, tf.reshape(self._along, tf.shape(r)), disconnected="zero")
                self._pulled = self._vector.pack(pulled)
                tangent = tf.reshape(self._along, [self._vector.size])
                self._pushed = operators.Rop(r, variables, self._vector.unpack(tangent), disconnected="zero")

    def _is_dense(self) -> bool:
        sizes = [r.shape.num_elements() for r in self._residuals]
        small = None not in sizes and sum(sizes) * self._vector.size <= 1_000_000
        return small or self._kwargs.get("method") == "lm"

    def minimize(self, session: Any = None, feed_dict: Any = None, **run_kwargs: Any) -> Any:
        """Minimize, from where the variables stand, and leave them at what was found.

        Args:
          session: a session in which the variables have values; by default the default one.
          feed_dict: what the residuals need to be fed.
          **run_kwargs: `options` and `run_metadata` for `session.run`.

        Returns:
          `scipy.optimize.OptimizeResult`. An end without convergence is no error: it is logged, with SciPy's reason.

        Raises:
          OptimizerError: no session; a residual is not finite at the start.
        """
        from scipy import optimize

        evaluate = Evaluator(self._vector, self._tensors, session, feed_dict, run_kwargs)
        best = Best()
        evaluate.watch(lambda x, values: best.offer(x, float(np.sum(np.square(values["residuals"])))))
        with self._kept(evaluate, best):
            start = self._start(evaluate, "residuals", self._residuals[0])
            found = optimize.least_squares(
                lambda x: evaluate("residuals", x),
                start,
                jac=lambda x: self._jacobian(evaluate, x),
                bounds=(-np.inf, np.inf) if self._bounds is None else self._bounds,
                **self._kwargs,
            )
            evaluate.assign(found.x)
        if not found.success:
            _log.warning("least squares did not converge: %s", found.message)
        return found

    def _jacobian(self, evaluate: Evaluator, x: np.ndarray) -> Any:
        from scipy.sparse.linalg import LinearOperator

        if self._dense:
            return evaluate("jacobian", x)
        if self._places is not None:
            return with_values(self._places, evaluate("jacobian", x))
        x = np.array(x)

        def product(tensor: tf.Tensor) -> Any:
            return lambda v: evaluate.product(tensor, x, {self._along: np.ravel(v)})

        shape = (evaluate("residuals", x).size, self._vector.size)
        return LinearOperator(shape, matvec=product(self._pushed), rmatvec=product(self._pulled), dtype=np.float64)
