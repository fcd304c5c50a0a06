"""SciPy's optimizers on the variables of a graph: the interface of tf.contrib.opt, with Hessians and least squares."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import operators, sparsity
from .._optimizing._evaluate import Evaluator, real_vector
from .._optimizing._vector import Vector
from ..errors import OptimizerError, ShapeError
from ._progress import Progress

_log = logging.getLogger("symgrad")

_OURS = ("fun", "x0", "args", "jac", "hess", "hessp", "bounds", "constraints", "callback")
_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_WITH_HESSIAN_PRODUCT = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})
_METHODS = _WITHOUT_GRADIENT | _WITH_HESSIAN_PRODUCT | _WITH_HESSIAN | {"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"}
_WITHOUT_BOUNDS = (_WITH_HESSIAN_PRODUCT | _WITH_HESSIAN | {"cg", "bfgs"}) - {"trust-constr"}
_WITH_CONSTRAINTS = frozenset({"slsqp", "cobyla", "cobyqa", "trust-constr"})


class ScipyInterface:
    """What the two interfaces share: variables, bounds, and a run that keeps the best point whatever ends it.

    Attributes:
      best: after a run that failed, the best point that it had seen, packed.
    """

    def __init__(self, tensors: Sequence[tf.Tensor], var_list: Any, var_to_bounds: Mapping[Any, Any] | None):
        self._graph = tensors[0].graph
        with self._graph.as_default(), tf.name_scope("scipy"):
            variables = list(var_list if var_list is not None else tf.trainable_variables())
            if not variables:
                raise OptimizerError("there are no variables to optimize; give var_list")
            self._vector = Vector(variables)
        self._bounds = self._vector.bounds(var_to_bounds or {})
        self.best: np.ndarray | None = None

    def _refuse_ours(self, kwargs: Mapping[str, Any]) -> None:
        for key in kwargs:
            if key in _OURS:
                raise OptimizerError(f"the keyword {key!r} is set by {type(self).__name__} itself; leave it out")

    def _rows(self, blocks: Sequence[tf.Tensor], rows: Any) -> tf.Tensor:
        """Blocks dy/dv of one y, one for each variable, as a matrix with a row for each element of y."""
        shapes = [tf.concat([[rows], tf.constant(v.shape.as_list(), tf.int32)], 0) for v in self._vector.variables]
        return self._vector.pack([tf.reshape(b, shape) for b, shape in zip(blocks, shapes, strict=True)], 1)

    def _start(self, evaluate: Evaluator, name: str, tensor: tf.Tensor) -> np.ndarray:
        """Where the variables stand, moved within their bounds; an error if the function is not finite there."""
        start = evaluate.start()
        if self._bounds is not None:
            start = np.clip(start, *self._bounds)
        if not np.all(np.isfinite(evaluate(name, start))):
            raise OptimizerError(
                f"{tensor.name} is not finite at the start; give the variables other values, or look for its cause "
                "with symgrad.diagnose.nan_origin"
            )
        return start

    @contextlib.contextmanager
    def _kept(self, evaluator: Evaluator, best: "Best") -> Iterator[None]:
        """Leave the variables at the best point when the run is interrupted or fails, and keep it if that fails too."""
        try:
            yield
        except BaseException:
            self.best = best.x
            if best.x is not None:
                with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the session is gone
                    evaluator.assign(best.x)
            raise


class Best:
    """The best point so far."""

    def __init__(self) -> None:
        self.x: np.ndarray | None = None
        self.value = self.violation = np.inf

    def offer(self, x: np.ndarray, value: float, violation: float = 0.0) -> None:
        """Keep the point if it is finite and breaks the constraints less, or as little with a lower value."""
        if np.isfinite(value) and (violation, value) < (self.violation, self.value):
            self.x, self.value, self.violation = x.copy(), value, violation


class _Stop(Exception):
    """A callback asked to stop."""


class ScipyOptimizer(ScipyInterface):
    """Minimize a loss with `scipy.optimize.minimize`: the interface of `tf.contrib.opt.ScipyOptimizerInterface`.

    Gradients, Jacobians of constraints and Hessian-vector products come from the graph. One session call evaluates the
    loss, its gradient and the constraints with theirs; no point is evaluated twice in a row.

    Args:
      loss: scalar tensor.
      var_list: the variables to optimize, floating, of known shapes; by default all trainable ones.
      equalities: tensors (or one) that are to be 0.
      inequalities: tensors (or one) that are to be at least 0.
      var_to_bounds: dict from a variable to a pair (lower, upper) of numbers or arrays that broadcast to its shape;
        None or an infinity is no bound.
      sparse: whether the Hessian of the loss and the Jacobians of constraints are sparse matrices
        (`symgrad.sparse_hessian`, `symgrad.sparse_jacobian`); for `method="trust-constr"`.
      **optimizer_kwargs: for `scipy.optimize.minimize`: `method` (by default "L-BFGS-B", with constraints "SLSQP";
        a callable of your own is passed on), `options`, `tol`.

    Raises:
      OptimizerError: no variables; an unknown method, or one that knows no constraints; a keyword that is set here.
      ShapeError: the loss is not a scalar; bounds do not fit.
      DtypeError: a variable is not floating.

    Example:
      >>> v = tf.get_variable("v", initializer=[7.0, 7.0])
      >>> optimizer = symgrad.optimizers.ScipyOptimizer(tf.reduce_sum(v ** 2))
      >>> _ = run(v)
      >>> optimizer.minimize().success
      True
      >>> bool(abs(run(v)).max() < 1e-3)
      True

    Reference: J. Nocedal, S. Wright (2006), Numerical Optimization, 2nd ed.; P. Virtanen et al. (2020), SciPy 1.0.
    """

    def __init__(
        self,
        loss: tf.Tensor,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        *,
        sparse: bool = False,
        **optimizer_kwargs: Any,
    ):
        self._refuse_ours(optimizer_kwargs)
        if loss.shape.rank not in (0, None):
            raise ShapeError(
                f"the loss {loss.name} has shape {loss.shape}; wanted a scalar, such as its tf.reduce_mean"
            )
        super().__init__([loss], var_list, var_to_bounds)
        constraints = {"eq": listed(equalities), "ineq": listed(inequalities)}
        constraints = {kind: tensors for kind, tensors in constraints.items() if tensors}
        method = optimizer_kwargs.pop("method", None)
        self._given_method = method if callable(method) else None
        self._method = "callable" if callable(method) else _method(method, bool(constraints))
        if self._bounds is not None and self._method.lower() in _WITHOUT_BOUNDS:
            raise OptimizerError(
                f"{self._method} knows no bounds; use one of {', '.join(sorted(_METHODS - _WITHOUT_BOUNDS))}"
            )
        if sparse and self._method.lower() != "trust-constr":
            raise OptimizerError(f"{self._method} takes no sparse matrices; sparse=True is for method='trust-constr'")
        self._places: dict[str, Any] | None = {} if sparse else None
        self.optimizer_kwargs = optimizer_kwargs
        with self._graph.as_default(), tf.name_scope("scipy"):
            self._loss = loss
            self._tensors = {"loss": tf.cast(loss, tf.float64)}
            if self._needs_gradient:
                self._tensors["gradient"] = self._gradient([loss], [tf.ones_like(loss)])
            for kind, tensors in constraints.items():
                self._add_constraint(kind, tensors)
            self._tangent = tf.placeholder(tf.float64, [self._vector.size], name="tangent")
            self._products = self._hessian_products(constraints)

    @property
    def _needs_gradient(self) -> bool:
        return self._method.lower() not in _WITHOUT_GRADIENT

    def _gradient(self, ys: Sequence[tf.Tensor], seeds: Sequence[tf.Tensor]) -> tf.Tensor:
        found = operators.Lop(list(ys), self._vector.variables, list(seeds), disconnected="zero")
        return self._vector.pack(found)

    def _add_constraint(self, kind: str, tensors: Sequence[tf.Tensor]) -> None:
        self._tensors[kind] = real_vector(tensors)
        if self._places is not None:
            variables = self._vector.variables
            self._keep(f"{kind} jacobian", sparsity.sparse_jacobian(list(tensors), variables, disconnected="zero"))
        elif self._needs_gradient:
            blocks = operators.jacobian(list(tensors), self._vector.variables, disconnected="zero")
            rows = [self._rows(row, tf.size(t)) for t, row in zip(tensors, blocks, strict=True)]
            self._tensors[f"{kind} jacobian"] = tf.concat(rows, 0)

    def _keep(self, name: str, found: sparsity.SparseDerivative) -> None:
        assert self._places is not None
        self._tensors[name], self._places[name] = tf.cast(found.values, tf.float64), found.coloring.matrix

    def _matrix(self, name: str, value: np.ndarray) -> Any:
        return value if self._places is None else with_values(self._places[name], value)

    def _hessian_products(self, constraints: Mapping[str, Sequence[tf.Tensor]]) -> dict[str, Any]:
        """Hessians times the tangent: of the loss, and of each kind of constraints weighted by multipliers."""
        name = self._method.lower()
        if self._places is not None:
            self._keep("hessian", sparsity.sparse_hessian(self._loss, self._vector.variables, disconnected="zero"))
        if name in _WITH_HESSIAN:
            blocks = operators.hessian(self._loss, self._vector.variables, disconnected="zero")
            rows = [
                self._rows(row, v.shape.num_elements()) for row, v in zip(blocks, self._vector.variables, strict=True)
            ]
            self._tensors["hessian"] = tf.concat(rows, 0)
        if name not in _WITH_HESSIAN_PRODUCT:
            return {}
        products: dict[str, Any] = {"loss": self._product([self._loss], [tf.ones_like(self._loss)])}
        if name == "trust-constr":
            for kind, tensors in constraints.items():
                weights = tf.placeholder(tf.float64, [None], name="multipliers")
                sizes = [tf.size(t) for t in tensors]
                split = tf.split(weights, sizes, num=len(sizes))
                parts = [tf.cast(tf.reshape(w, tf.shape(t)), t.dtype) for w, t in zip(split, tensors, strict=True)]
                products[kind] = self._product(tensors, parts), weights
        return products

    def _product(self, ys: Sequence[tf.Tensor], seeds: Sequence[tf.Tensor]) -> tf.Tensor:
        weighted = tf.add_n([tf.reduce_sum(y * s) for y, s in zip(ys, seeds, strict=True)])
        tangents = self._vector.unpack(self._tangent)
        return self._vector.pack(operators.hvp(weighted, self._vector.variables, tangents, disconnected="zero"))

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Callable[[np.ndarray], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        *,
        progress: bool | None = None,
        **run_kwargs: Any,
    ) -> Any:
        """Minimize, from where the variables stand, and leave them at what was found.

        Called again it goes on from there. Whatever ends the run, the variables are at the best finite point that was
        seen (the one that breaks the constraints least), and the message says if that is not where SciPy ended.

        Args:
          session: a session in which the variables have values; by default the default one.
          feed_dict: what the loss needs to be fed, or a function from the number of the iteration to it (mini-batches:
            all evaluations of one iteration use one batch; its losses are counted from that of the last one at the
            point where it begins, so that no line search compares two batches).
          fetches: tensors (or one) whose values go to `loss_callback` at each evaluation.
          step_callback: called after each iteration with the packed vector of variables, float64; True (and
            nothing else that it may return) stops.
          loss_callback: called after each evaluation with the values of `fetches`.
          progress: whether to show a progress bar; by default on a terminal.
          **run_kwargs: `options` and `run_metadata` for `session.run`.

        Returns:
          `scipy.optimize.OptimizeResult`. An end without convergence is no error: it is logged, with SciPy's reason.

        Raises:
          OptimizerError: no session; the loss is not finite at the start.
          Exception: whatever ends the run (Ctrl-C, a session that dies); the variables are at the best point that was
            seen, and where they cannot be written any more it is in the attribute `best`.
        """
        from scipy import optimize

        tensors = dict(self._tensors)
        wanted = listed(fetches)
        tensors.update({f"fetch {i}": t for i, t in enumerate(wanted)})
        evaluate = Evaluator(self._vector, tensors, session, feed_dict, run_kwargs)
        best = Best()
        bar = Progress(progress, self._method)

        def on_evaluation(x: np.ndarray, values: Mapping[str, Any]) -> None:
            best.offer(x, values["loss"] + evaluate.offset, self._violation(values))
            if loss_callback is not None:
                loss_callback(*(values[f"fetch {i}"] for i in range(len(wanted))))

        def on_step(x: np.ndarray, *state: Any) -> None:
            bar.step(evaluate.iteration + 1, best.value, evaluate.evaluations)
            evaluate.next_iteration(np.asarray(x, np.float64))
            answer = step_callback(np.array(x)) if step_callback is not None else None
            if isinstance(answer, (bool, np.bool_)) and answer:  # scripts return what they like
                raise _Stop(np.array(x))

        evaluate.watch(on_evaluation)
        with self._kept(evaluate, best), bar:
            start = self._start(evaluate, "loss", self._loss)
            try:
                found = optimize.minimize(callback=on_step, x0=start, **self._arguments(evaluate))
            except _Stop as stop:
                found = _stopped(stop.args[0], evaluate)
            self._settle(found, evaluate, best)
        if not found.success:
            _log.warning("%s did not converge: %s", self._method, found.message)
        return found

    def _settle(self, found: Any, evaluate: Evaluator, best: Best) -> None:
        """Leave the variables where the run ended, or at the best point if that was a better one; and say so."""
        x = np.asarray(found.x, np.float64)
        at_end = Best()
        at_end.offer(
            x, float(evaluate("loss", x)) + evaluate.offset, self._violation({k: evaluate(k, x) for k in self._kinds})
        )
        if best.x is not None and (best.violation, best.value) < (at_end.violation, at_end.value):
            lost = at_end.x is None
            found.x, found.fun = best.x, float(evaluate("loss", best.x))
            if "jac" in found and "gradient" in self._tensors:
                found.jac = evaluate("gradient", best.x)
            found.message = f"{found.message}; " + (
                "the loss is not finite where it ended, and x is the best point seen"
                if lost
                else "x is the best point seen"
            )
            found.success = bool(found.success) and not lost
        evaluate.assign(np.asarray(found.x, np.float64))

    @property
    def _kinds(self) -> list[str]:
        return [kind for kind in ("eq", "ineq") if kind in self._tensors]

    def _violation(self, values: Mapping[str, Any]) -> float:
        """By how much a point breaks the constraints; 0 to 1e-6."""
        broken = max(
            (np.max(np.abs(values["eq"]), initial=0.0) if "eq" in values else 0.0),
            (np.max(-values["ineq"], initial=0.0) if "ineq" in values else 0.0),
        )
        return 0.0 if broken <= 1e-6 else float(np.nan_to_num(broken, nan=np.inf))

    def _arguments(self, evaluate: Evaluator) -> dict[str, Any]:
        """What `scipy.optimize.minimize` is told."""
        from scipy import optimize

        name = self._method.lower()
        arguments: dict[str, Any] = {**self.optimizer_kwargs, "method": self._given_method or self._method}
        arguments["fun"] = lambda x: float(evaluate("loss", x)) + evaluate.offset
        if self._needs_gradient:
            arguments["jac"] = lambda x: evaluate("gradient", x)
        if self._places is not None:
            arguments["hess"] = lambda x: self._matrix("hessian", evaluate("hessian", x))
        elif name in _WITH_HESSIAN_PRODUCT:
            arguments["hessp"] = lambda x, v: evaluate.product(self._products["loss"], x, {self._tangent: v})
        if name in _WITH_HESSIAN:
            arguments["hess"] = lambda x: evaluate("hessian", x)
        if self._bounds is not None:
            arguments["bounds"] = optimize.Bounds(*self._bounds)
        if self._kinds:
            arguments["constraints"] = [self._constraint(kind, name, evaluate) for kind in self._kinds]
        return arguments

    def _constraint(self, kind: str, method: str, evaluate: Evaluator) -> Any:
        from scipy import optimize
        from scipy.sparse.linalg import LinearOperator

        def jacobian(x: np.ndarray) -> np.ndarray:
            return self._matrix(f"{kind} jacobian", evaluate(f"{kind} jacobian", x))

        if method != "trust-constr":
            constraint: dict[str, Any] = {"type": kind, "fun": lambda x: evaluate(kind, x)}
            return {**constraint, "jac": jacobian} if self._needs_gradient else constraint

        product, weights = self._products[kind]

        def hessian(x: np.ndarray, multipliers: np.ndarray) -> LinearOperator:
            def matvec(v: np.ndarray) -> np.ndarray:
                return evaluate.product(product, x, {self._tangent: np.ravel(v), weights: multipliers})

            return LinearOperator((self._vector.size,) * 2, matvec=matvec, dtype=np.float64)

        upper = 0.0 if kind == "eq" else np.inf
        return optimize.NonlinearConstraint(lambda x: evaluate(kind, x), 0.0, upper, jac=jacobian, hess=hessian)


def with_values(places: Any, values: np.ndarray) -> Any:
    """The sparse matrix with these values at the entries of a pattern."""
    from scipy.sparse import csr_array

    return csr_array((np.asarray(values, np.float64), places.indices, places.indptr), places.shape)


def _method(name: str | None, constrained: bool) -> str:
    if name is None:
        return "SLSQP" if constrained else "L-BFGS-B"
    if not isinstance(name, str) or name.lower() not in _METHODS:
        raise OptimizerError(f"method={name!r} is unknown; scipy.optimize.minimize has {', '.join(sorted(_METHODS))}")
    if constrained and name.lower() not in _WITH_CONSTRAINTS:
        raise OptimizerError(f"{name} knows no constraints; use one of {', '.join(sorted(_WITH_CONSTRAINTS))}")
    return name


def _stopped(x: np.ndarray, evaluate: Evaluator) -> Any:
    from scipy import optimize

    return optimize.OptimizeResult(
        x=x, fun=float(evaluate("loss", x)), success=False, status=99, message="stopped by the callback",
        nit=evaluate.iteration, nfev=evaluate.evaluations,
    )  # fmt: skip


def listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
