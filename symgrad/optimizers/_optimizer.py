"""The optimizer class: TensorFlow 1's, with declared hyperparameters and slots and one formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .._optimizing._chain import Transform
from .._optimizing._checked import Pairs, checked_pairs
from .._optimizing._gradients import gradients_of
from .._optimizing._kernel import Kernel, Kernels
from .._optimizing._replicas import apply_in_replica, apply_merged
from .._optimizing._state import StatefulOptimizer
from .._optimizing._training_step import apply_pairs
from .._optimizing._variable_update import update_by_rows, update_dense
from .._optimizing._variables import home, is_variable, unwrap
from ..errors import DisconnectedError, OptimizerError

__all__ = ["Optimizer"]

# A tf.function would rewrite every function on the way (seconds); TensorFlow's own optimizers are exempt, too.
_as_written = tf.autograph.experimental.do_not_convert


class Optimizer(StatefulOptimizer):
    """Base of all optimizers: a subclass declares hyperparameters and slots and writes one formula, `step`.

    It is a `tf.compat.v1.train.Optimizer`: whatever takes one takes this, and a subclass that overrides TensorFlow's
    hooks (`_create_slots`, `_prepare`, `_apply_dense`, `_resource_apply_dense`, `_apply_sparse`,
    `_resource_apply_sparse`, `_finish`) works as it did there. It trains in V1 graphs, in a `tf.function` and eagerly.

    Args:
      *args: the hyperparameters in the order in which the class declares them. A class that declares none takes
        `use_locking` and `name`, as TensorFlow's base class does.
      transforms: functions of `[(gradient, variable), ...]`, applied in their order before the update.
      reduction: under a strategy, whether the replicas' gradients are added ("sum": for losses that are divided by the
        global batch) or averaged ("mean": for losses that are divided by the replica's own batch).
      use_locking: whether the writes of a step take the variables' locks.
      name: for scopes, slots and checkpoints; the default is that of TensorFlow's optimizer of the same formula.
      lazy: whether a sparse gradient moves only the rows that it names. False: the result is that of the dense
        gradient. The default is what TensorFlow's optimizer of the formula does, and False for a formula of your own.
      multipliers: name of a hyperparameter to a function of the variable, whose result it is multiplied by.
      **values: hyperparameters and options by name (`lr` is understood).

    Raises:
      OptimizerError: a name is not declared, a required hyperparameter is missing, or a number is out of range.

    Example:
      >>> from symgrad.optimizers import Optimizer, hyperparameter, slot
      >>> class HeavyBall(Optimizer):
      ...     learning_rate = hyperparameter(0.01)
      ...     momentum = hyperparameter(0.9)
      ...     velocity = slot()
      ...     def step(self, grad, var, h, s):
      ...         velocity = h.momentum * s.velocity - h.learning_rate * grad
      ...         return velocity, {"velocity": velocity}
    """

    #: TensorFlow's fused kernel for the same formula, or several that make it together, where there are any.
    kernel: Kernel | Kernels | None = None
    #: Whether the formula for some rows needs those rows alone; if not, `lazy=True` is refused.
    rowwise = True

    def __init__(
        self, *args: Any, transforms: Sequence[Callable[[Pairs], Any]] = (), reduction: str = "sum", **kwargs: Any
    ):
        super().__init__(*args, **kwargs)
        if reduction not in ("sum", "mean"):
            raise OptimizerError(f"reduction is {reduction!r}; wanted 'sum' or 'mean'")
        if self.lazy and not self.rowwise:
            raise OptimizerError(f"{type(self).__name__} looks at whole variables, so that it cannot be lazy")
        self.reduction = reduction
        if callable(transforms) or not all(callable(transform) for transform in transforms):
            raise OptimizerError(
                f"transforms is {transforms!r}; wanted a list of functions, such as [clip_by_norm(1.0)]"
            )
        self.transforms = tuple(transforms)
        self._constraints: dict[Any, Callable] = {}
        self._missing: dict[str, list[str]] = {}  # for each cause the variables without a gradient
        for transform in self.transforms:
            if isinstance(transform, Transform):
                transform.bind(self)

    # ---- what a subclass writes

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The formula: what to add to the variable, and the new slots.

        Args:
          grad: gradient, of the variable's shape and dtype; of a sparse gradient the rows, each once.
          var: the variable; of a sparse gradient those rows.
          h: the hyperparameters and shared slots as scalars of the variable's dtype; `h.t` is the number of this step,
            from 1; `h.variable` is the variable itself.
          s: the slots' values, shaped like `grad`.

        Returns:
          A tensor like `grad`, and a dict of slot name to new value; a slot that is not in it keeps its value.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither `step` nor the hook that this update needs")

    # ---- the three steps

    @_as_written
    @tf.autograph.experimental.do_not_convert
    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Compute the gradients of `loss` and apply them.

        The arguments are those of `tf.compat.v1.train.Optimizer.minimize`. A list, a tuple or a function in second
        place is the `var_list`, as Keras orders them.

        Args:
          loss: scalar tensor, or a function that returns it (always a function in eager code).
          global_step: variable to increment after the update.
          var_list: variables or a structure of them, or a function that returns them, called after `loss`; the default
            is all trainable variables (of a function: those that it read).
          gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`.
          aggregation_method: how gradient terms are added, a `tf.AggregationMethod`.
          colocate_gradients_with_ops: place gradients with their ops.
          name: of the returned operation.
          grad_loss: gradient of something with respect to `loss`, to begin with.

        Returns:
          In a graph the `tf.Operation` of the step; in eager code the step counter; in a `tf.function` its value.

        Raises:
          DisconnectedError: no variable has a gradient; the message names causes and ops.
        """
        if isinstance(global_step, (list, tuple)) or (callable(global_step) and not is_variable(global_step)):
            global_step, var_list = None, global_step
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        if all(grad is None for grad, _ in pairs):
            causes = "".join(f"\n  {', '.join(variables)}: {cause}" for cause, variables in self._missing.items())
            raise DisconnectedError(f"no variable has a gradient, so that there is nothing to minimize:{causes}")
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    @_as_written
    @tf.autograph.experimental.do_not_convert
    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> Pairs:
        """The first step of `minimize`: a list of (gradient, variable), a None gradient where there is none.

        The arguments are those of `minimize`. For every variable without a gradient the cause is logged.
        """
        return gradients_of(
            self,
            loss,
            var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )

    @_as_written
    @tf.autograph.experimental.do_not_convert
    def apply_gradients(
        self,
        grads_and_vars: Iterable,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """The second step of `minimize`: update the variables.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them; pairs without a gradient are left out.
          global_step: variable to increment after the update.
          name: of the returned operation.
          skip_gradients_aggregation: under a strategy, the gradients are reduced already.

        Returns:
          As `minimize`.

        Raises:
          OptimizerError: no pairs, or something that is not a pair.
          DisconnectedError: no pair has a gradient.
          DtypeError, ShapeError, GraphMismatchError: a gradient does not fit its variable, or the variable this graph.
        """
        grads_and_vars = list(grads_and_vars)
        self._remember_constraints(grads_and_vars)
        pairs = checked_pairs(grads_and_vars, self._valid_dtypes())
        apply = apply_pairs
        if tf.distribute.has_strategy() and not skip_gradients_aggregation:
            apply = apply_in_replica
        done = apply(self, pairs, global_step, name)
        self._built_in.add(home())
        return self._answer(done)

    def _answer(self, done: Any) -> Any:
        """What the caller gets for the step: the operation, or the counter where no operation can be returned."""
        if tf.executing_eagerly():
            return self.iterations
        if home() is None:
            with tf.control_dependencies([done]):
                return self.iterations.read_value()
        done = done.op if tf.is_tensor(done) else done
        collected = tf.get_collection_ref(tf.GraphKeys.TRAIN_OP)
        if done not in collected:
            collected.append(done)
        return done

    def _remember_constraints(self, grads_and_vars: list) -> None:
        """Keep the constraints that stand on a Keras 3 variable and not on the variable inside it."""
        for _, var in (pair for pair in grads_and_vars if isinstance(pair, (tuple, list)) and len(pair) == 2):
            inner = unwrap(var)
            if inner is not var and getattr(var, "constraint", None) is not None:
                self._constraints[inner.ref()] = var.constraint

    def _constraint_of(self, var: Any) -> Callable | None:
        return self._constraints.get(var.ref()) or getattr(var, "constraint", None)

    # ---- the hooks of TensorFlow's class, filled with the formula

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        return update_dense(self, grad, var)

    def _resource_apply_dense(self, grad: tf.Tensor, handle: Any) -> Any:
        return update_dense(self, grad, handle)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> Any:
        return update_by_rows(self, grad, var) if self.lazy else self._update_all_rows(grad, var)

    def _resource_apply_sparse(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> Any:
        return self._apply_sparse(tf.IndexedSlices(grad, indices), handle)

    def _kernel(self) -> Kernel | Kernels | None:
        """The kernel for the options that were given."""
        return self.kernel

    def _update_all_rows(self, grad: tf.IndexedSlices, var: Any) -> Any:
        """The update by a sparse gradient that equals that of the dense one."""
        shape = tf.shape(var, out_type=grad.indices.dtype)
        return update_dense(self, tf.scatter_nd(grad.indices[:, None], grad.values, shape), var)

    def _moves_touched_rows_only(self) -> bool:
        hooks = ("_apply_sparse", "_resource_apply_sparse")
        return self.lazy and all(getattr(type(self), hook) is getattr(Optimizer, hook) for hook in hooks)

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: Iterable, global_step: Any = None, name: str | None = None
    ) -> Any:
        return apply_merged(self, distribution, list(grads_and_vars), global_step, name)

    def get_config(self) -> dict[str, Any]:
        """What the constructor needs to make this optimizer anew, with the hyperparameters of this moment.

        Numbers, options and names are plain; tensors, schedules, functions and transforms are passed on as they are.
        """
        config = super().get_config()
        if self.transforms:
            config["transforms"] = [t.unbound() if isinstance(t, Transform) else t for t in self.transforms]
        if self.reduction != "sum":
            config["reduction"] = self.reduction
        return config
