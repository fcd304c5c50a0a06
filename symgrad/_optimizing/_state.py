"""What an optimizer keeps: hyperparameters, slots, shared slots, the counter; and how it is saved and described."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from ..errors import OptimizerError, ShapeError
from ._declarations import declared, hyperparameter, option, refuse_taken_names, shared_slot, slot
from ._hyperparameters import Hyperparameters, is_number
from ._scalars import Moment, Scalars
from ._settable import run
from ._signature import signature_of
from ._slots import create_shared, create_slot
from ._variables import home, is_variable, label, unwrap

__all__ = ["StatefulOptimizer"]

_SPELLINGS = {"lr": "learning_rate", "beta_1": "beta1", "beta_2": "beta2", "rho": "decay", "use_nesterov": "nesterov"}

# How alike two names are of which one is the other misspelt: `learning_rat` is, `beta` for `beta1` may be another.
_NEAR = 0.9


class StatefulOptimizer(tf.train.Optimizer):
    """`tf.compat.v1.train.Optimizer` with declared state; `Optimizer` adds the training step."""

    #: What `lazy` is when the constructor does not say.
    default_lazy = False
    #: What `name` is when the constructor does not say; None for the class's name.
    default_name: str | None = None
    #: What the constructor takes by position, where that is not the hyperparameters as they are declared.
    positions: Sequence[str] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_taken_names(cls)
        cls.__signature__ = signature_of(cls)

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
            base = {"use_locking": use_locking, "name": name, "own_namescope": own_namescope}
            use_locking, name, own_namescope = (base | dict(zip(base, args, strict=False))).values()
            args = args[3:]
        values = self._named(args, values, list(hypers), list(options))
        name = name or self.default_name or type(self).__name__
        # The last argument came with TensorFlow 2.16.
        super().__init__(use_locking, name, *[own_namescope] * bool(own_namescope))
        self._options = {key: values.get(key, declaration.default) for key, declaration in options.items()}
        self._check_options(options)
        self._hyper = Hyperparameters(self._name, hypers, values)
        self._shared = declared(type(self), shared_slot)
        self._multipliers = self._named((), dict(multipliers or {}), list(hypers), [])
        self._built_in: set[Any] = set()
        self._moment: Any = None
        self.lazy = self.default_lazy if lazy is None else lazy
        self._track_given()

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse_misspelt(name)
        super().__setattr__(name, value)

    def _refuse_misspelt(self, name: str) -> None:
        """Raise for a name that nothing has, and that is nearly that of a hyperparameter: setting it did nothing."""
        if name.startswith("_") or hasattr(type(self), name) or name in self.__dict__:
            return
        known = [*declared(type(self), hyperparameter), *declared(type(self), option)]
        meant = [_SPELLINGS[name]] if name in _SPELLINGS else difflib.get_close_matches(name, known, 1, _NEAR)
        if meant and meant[0] in known:
            raise OptimizerError(f"{type(self).__name__} has no {name!r} to set; did you mean {meant[0]!r}?")

    def _named(self, args: tuple, values: dict[str, Any], hypers: list[str], options: list[str]) -> dict[str, Any]:
        """All constructor values by their declared names."""
        owner = type(self).__name__
        order = self.positions or hypers
        if len(args) > len(order):
            raise OptimizerError(
                f"{owner} takes {len(order)} hyperparameters by position ({', '.join(order)}), got {len(args)}; give "
                "options, use_locking and name by keyword"
            )
        named = dict(zip(order, args, strict=False))
        for given, value in values.items():
            key = given if given in hypers or given in options else _SPELLINGS.get(given, given)
            if key not in hypers and key not in options:
                raise OptimizerError(f"{owner} has no {given!r}; it has {', '.join([*hypers, *options])}")
            if key in named:
                raise OptimizerError(f"{owner} got {key} twice")
            named[key] = value
        return named

    def _check_options(self, options: Mapping[str, option]) -> None:
        for key, value in self._options.items():
            wanted = options[key].problem(value) if is_number(value) else None
            if isinstance(options[key].default, bool) and not isinstance(value, (bool, np.bool_)):
                wanted = "True or False"
            if wanted:
                raise OptimizerError(f"{self._name}.{key} is {value!r}; wanted {wanted}")

    def _track_given(self) -> None:
        """Variables given as hyperparameters belong to the optimizer's checkpoint; numbers are configuration."""
        self._maybe_initialize_trackable()
        for name in self._hyper:
            value = self._hyper.given(name)
            if is_variable(value) and home() is None:
                self._track_trackable(value, name)

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

    def get(self, session: Any = None, /) -> dict[str, Any]:
        """The hyperparameters of this moment by name; numbers as they are in `session` (or the default one)."""
        return {name: self._hyper.get(name, session) for name in self._hyper}

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

    # ---- the counter

    @property
    def iterations(self) -> Any:
        """The number of steps taken, an int64 variable.

        Eager code always has it. A graph has it when something asks for it (a schedule, `h.t`, this property) before
        the training step is built; it is then a global variable, initialised and saved like any other.
        """
        return self._scalar_state("iterations", 0, tf.int64)

    def _scalar_state(self, name: str, initial: float, dtype: tf.DType) -> Any:
        """A scalar variable that is saved with the optimizer, `<optimizer>/<name>`; made when first asked for."""
        where = home()
        variable = self._non_slot_dict.get((name, where))
        if variable is None:
            if where is not None and where in self._built_in:
                raise OptimizerError(
                    f"the training step of {self._name} is built, and without {name}; ask for optimizer.{name} before "
                    "minimize or apply_gradients (for a count of steps there is global_step, too)"
                )
            with tf.init_scope(), tf.name_scope(""):
                variable = tf.Variable(
                    tf.constant(initial, dtype), name=f"{self._name}/{name}", trainable=False, use_resource=True
                )
            self._handle_deferred_dependencies(name=name, trackable=variable)
            self._non_slot_dict[name, where] = variable
        return variable

    def _counter(self) -> Any:
        return self._non_slot_dict.get(("iterations", home()))

    def _finished_steps(self) -> tf.Tensor:
        return self.iterations.read_value()

    # ---- slots

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot variable called `name` of a variable, or None; Keras 3 variables are understood."""
        return super().get_slot(unwrap(var), name)

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> None:
        """Under the variable's strategy, where TensorFlow leaves it to the first step to make a slot a replica."""
        mirrored = isinstance(variable, tf.compat.v2.distribute.DistributedValues)
        with variable.distribute_strategy.scope() if mirrored else nullcontext():
            super()._create_or_restore_slot_variable(
                slot_variable_position=slot_variable_position, slot_name=slot_name, variable=variable
            )

    def _declared_slots(self) -> dict[str, slot]:
        slots = declared(type(self), slot)
        return {name: each for name, each in slots.items() if not each.when or getattr(self, each.when)}

    def _slots_of(self, var: Any) -> dict[str, Any]:
        return {name: self.get_slot(var, each.name) for name, each in self._declared_slots().items()}

    def _shared_variables(self) -> dict[str, Any]:
        return {name: self._get_non_slot_variable(name, graph=home()) for name in self._shared}

    def _create_state(self, variables: list[Any]) -> None:
        """Everything that a step on these variables needs, before the scope of the step is entered."""
        create_shared(self, variables)
        for var in variables:
            for declaration in self._declared_slots().values():
                create_slot(self, var, declaration)
        if home() is None:
            self.iterations  # noqa: B018  (eager code returns it from every step)

    def _begin(self) -> None:
        """The scalars of a new step."""
        self._moment = Moment(self, self._shared_variables())

    def _scalars(self, var: Any) -> Scalars:
        return Scalars(self._moment, var.dtype.base_dtype, var)

    # ---- weights and configuration

    def get_weights(self, session: Any = None) -> list[np.ndarray]:
        """The values of `variables()`, in that order.

        Args:
          session: where the variables live; None for the default session, or in eager code.
        """
        variables = self.variables()
        if home() is None:
            return [variable.numpy() for variable in variables]
        return run(self._session(session), variables)

    def set_weights(self, weights: Sequence[Any], session: Any = None) -> None:
        """Give `variables()` values, as `get_weights` returned them; also on a finalized graph.

        Raises:
          ShapeError: number or shapes of the weights are not those of the variables.
        """
        variables = self.variables()
        shapes = [tuple(variable.shape) for variable in variables]
        got = [np.shape(weight) for weight in weights]
        if got != shapes:
            names = [label(variable) for variable in variables]
            raise ShapeError(f"set_weights got shapes {got}; wanted {shapes}: {names} (complete after the first step)")
        if home() is None:
            for variable, weight in zip(variables, weights, strict=True):
                variable.assign(weight)
            return
        initializers = [variable.initializer for variable in variables]
        values = [np.asarray(w, v.dtype.base_dtype.as_numpy_dtype) for v, w in zip(variables, weights, strict=True)]
        run(self._session(session), initializers, dict(zip([op.inputs[1] for op in initializers], values, strict=True)))

    def _session(self, session: Any) -> Any:
        session = session or tf.get_default_session()
        if session is None:
            raise OptimizerError(f"the variables of {self._name} live in a graph; give the session with their values")
        return session

    def get_config(self) -> dict[str, Any]:
        """What the constructor needs to make this optimizer anew, with the hyperparameters of this moment.

        Numbers, options and names are plain; tensors, schedules, functions and transforms are passed on as they are.
        """
        hypers = {name: self._plain(self._hyper.get(name)) for name in self._hyper}
        config = {"name": self._name, "use_locking": self._use_locking, **hypers, **self._options}
        if self.lazy != self.default_lazy:
            config["lazy"] = self.lazy
        if self._multipliers:
            config["multipliers"] = dict(self._multipliers)
        return config

    def _plain(self, value: Any) -> Any:
        is_ours = any(value is cell for cell in self._hyper.variables())
        return float(str(value.numpy())) if is_ours else value

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """An optimizer made from the result of `get_config`."""
        return cls(**config)
