"""The optimizer class: TensorFlow 1's, with declared hyperparameters and slots and one formula."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from ..errors import OptimizerError
from ._apply import apply_pairs
from ._check import Pairs, checked_pairs
from ._declare import declared, hyperparameter, option, shared_slot, slot
from ._gradients import gradients_of
from ._hyper import Hyperparameters
from ._kernel import Kernel
from ._moment import Moment, Scalars
from ._slots import create_shared, create_slot
from ._update import update_by_rows, update_dense
from ._variables import home, is_variable, unwrap

__all__ = ["Optimizer"]

_log = logging.getLogger("symgrad")

_SPELLINGS = {"lr": "learning_rate", "beta_1": "beta1", "beta_2": "beta2", "use_nesterov": "nesterov"}


class Optimizer(tf.train.Optimizer):
    """Base of all optimizers: a subclass declares hyperparameters and slots and writes one formula, `step`.

    It is a `tf.compat.v1.train.Optimizer`: whatever takes one takes this, and a subclass that overrides TensorFlow's
    hooks (`_create_slots`, `_prepare`, `_apply_dense`, `_resource_apply_dense`, `_apply_sparse`,
    `_resource_apply_sparse`, `_finish`) works as it did there. It trains in V1 graphs, in a `tf.function` and eagerly.

    Args:
      *args: the hyperparameters in the order in which the class declares them. A class that declares none takes
        `use_locking` and `name`, as TensorFlow's base class does.
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

    #: TensorFlow's fused kernel for the same formula, where there is one.
    kernel: Kernel | None = None
    #: What `lazy` is when the constructor does not say.
    default_lazy = False
    default_name: str | None = None

    def __init__(
        self,
        *args: Any,
        use_locking: bool = False,
        name: str | None = None,
        lazy: bool | None = None,
        multipliers: Mapping[str, Callable[[Any], Any]] | None = None,
        **values: Any,
    ):
        own_namescope = values.pop("use_own_namescope_for_non_slot_vars", False)
        hypers, options = declared(type(self), hyperparameter), declared(type(self), option)
        if not hypers:  # the constructor of TensorFlow's class
            base = {"use_locking": use_locking, "name": name, "use_own_namescope_for_non_slot_vars": own_namescope}
            use_locking, name, own_namescope = (base | dict(zip(base, args))).values()
            args = args[3:]
        values = self._named(args, values, list(hypers), list(options))
        super().__init__(use_locking, name or self.default_name or type(self).__name__, own_namescope)
        self._options = {key: values.get(key, declaration.default) for key, declaration in options.items()}
        self._hyper = Hyperparameters(self._name, hypers, values)
        self._shared = declared(type(self), shared_slot)
        self._multipliers = dict(multipliers or {})
        self._constraints: dict[Any, Callable] = {}
        self._built_in: set[Any] = set()
        self._moment: Any = None
        self.lazy = self.default_lazy if lazy is None else lazy

    def _named(self, args: tuple, values: dict[str, Any], hypers: list[str], options: list[str]) -> dict[str, Any]:
        """All constructor values by their declared names."""
        owner = type(self).__name__
        if len(args) > len(hypers):
            raise OptimizerError(
                f"{owner} takes {len(hypers)} hyperparameters by position ({', '.join(hypers)}), got {len(args)}; give "
                "options, use_locking and name by keyword"
            )
        named = dict(zip(hypers, args))
        for given, value in values.items():
            key = given if given in hypers or given in options else _SPELLINGS.get(given, given)
            if key not in hypers and key not in options:
                raise OptimizerError(f"{owner} has no {given!r}; it has {', '.join([*hypers, *options])}")
            if key in named:
                raise OptimizerError(f"{owner} got {key} twice")
            named[key] = value
        return named

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

    # ---- hyperparameters

    def set(self, session: Any = None, /, **values: Any) -> None:
        """Set hyperparameters, in `session` (or the default one) where the training step is built in a graph.

        Args:
          session: the session (or MonitoredSession) whose training they steer; None in eager code.
          **values: numbers by name.

        Raises:
          OptimizerError: the name is not declared, the value is out of range or cannot replace what was built.
        """
        for name, value in self._named((), values, list(self._hyper), []).items():
            self._set_hyperparameter(name, value, session)

    def _get_hyperparameter(self, name: str) -> Any:
        return self._hyper.get(name)

    def _set_hyperparameter(self, name: str, value: Any, session: Any = None) -> None:
        self._hyper.set(name, value, session)

    @property
    def lr(self) -> Any:
        """Another word for `learning_rate`."""
        return self.learning_rate

    @lr.setter
    def lr(self, value: Any) -> None:
        self.learning_rate = value

    # ---- the three steps

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
        return self.apply_gradients(pairs, global_step=global_step, name=name)

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
        done = apply_pairs(self, pairs, global_step, name)
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

    def _kernel(self) -> Kernel | None:
        """The kernel for the options that were given."""
        return self.kernel

    def _update_all_rows(self, grad: tf.IndexedSlices, var: Any) -> Any:
        """The update by a sparse gradient that equals that of the dense one."""
        shape = tf.shape(var, out_type=grad.indices.dtype)
        return update_dense(self, tf.scatter_nd(grad.indices[:, None], grad.values, shape), var)

    def _moves_touched_rows_only(self) -> bool:
        hooks = ("_apply_sparse", "_resource_apply_sparse")
        return self.lazy and all(getattr(type(self), hook) is getattr(Optimizer, hook) for hook in hooks)

    # ---- state

    @property
    def iterations(self) -> Any:
        """The number of steps taken, an int64 variable.

        Eager code always has it. A graph has it when something asks for it (a schedule, `h.t`, this property) before
        the training step is built; it is then a global variable, initialised and saved like any other.
        """
        counter = self._counter()
        if counter is None:
            where = home()
            if where is not None and where in self._built_in:
                raise OptimizerError(
                    f"the training step of {self._name} is built without a step counter; ask for optimizer.iterations "
                    "before minimize or apply_gradients, or pass global_step"
                )
            with tf.init_scope(), tf.name_scope(""):
                counter = tf.Variable(
                    0, dtype=tf.int64, name=f"{self._name}/iterations", trainable=False, use_resource=True
                )
            self._maybe_initialize_trackable()
            self._handle_deferred_dependencies(name="iterations", trackable=counter)
            self._non_slot_dict["iterations", where] = counter
        return counter

    def _counter(self) -> Any:
        return self._non_slot_dict.get(("iterations", home()))

    def _finished_steps(self) -> tf.Tensor:
        return self.iterations.read_value()

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot variable called `name` of a variable, or None; Keras 3 variables are understood."""
        return super().get_slot(unwrap(var), name)

    def _declared_slots(self) -> dict[str, slot]:
        slots = declared(type(self), slot)
        return {name: each for name, each in slots.items() if not each.when or getattr(self, each.when)}

    def _slots_of(self, var: Any) -> dict[str, Any]:
        return {name: self.get_slot(var, each.name) for name, each in self._declared_slots().items()}

    def _shared_variables(self) -> dict[str, Any]:
        return {name: self._get_non_slot_variable(name, graph=home()) for name in self._shared}

    def _create_state(self, variables: list[Any]) -> None:
        create_shared(self, variables)
        for var in variables:
            for declaration in self._declared_slots().values():
                create_slot(self, var, declaration)
        self._create_slots(variables)
        if tf.executing_eagerly():
            self.iterations  # noqa: B018  (eager code returns it from every step)

    def _begin(self) -> None:
        self._moment = Moment(self, self._shared_variables())

    def _scalars(self, var: Any) -> Scalars:
        return Scalars(self._moment, var.dtype.base_dtype, var)
