"""TensorFlow's fused kernel of a formula, as one row: which raw op, and what goes into its arguments; or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf
from ._variables import assign, is_resource, present, read, reference

__all__ = ["Kernel", "Kernels"]


class Kernel:
    """A family of raw ops `ResourceApply<name>`, `Apply<name>`, `ResourceSparseApply<name>`, `SparseApply<name>`.

    Args:
      name: the word in the ops' names, such as `"Momentum"`.
      slots: argument of the op to the attribute of the slot that it updates.
      scalars: argument of the op to the name of a hyperparameter or shared slot, or a function of `h`.
      grad: the op's argument for the gradient.
      sparse: True if the sparse ops exist; they move only the rows that have a gradient.
      flags: argument of the op to the name of an option.
      shrink: function of `h`, by which the variable is multiplied before the op.
    """

    def __init__(
        self,
        name: str,
        slots: Mapping[str, str],
        scalars: Mapping[str, str | Callable[[Any], tf.Tensor]],
        *,
        grad: str = "grad",
        sparse: bool = False,
        flags: Mapping[str, str] | None = None,
        shrink: Callable[[Any], tf.Tensor] | None = None,
    ):
        self.name, self.sparse = name, sparse
        self._slots, self._scalars, self._grad, self._flags = slots, scalars, grad, flags or {}
        self._shrink = shrink

    def fits(self, var: Any, *, rows: bool = False) -> bool:
        """Whether TensorFlow has it for variables of this kind, dtype and device, also where XLA compiles the step.

        Some kernels came after reference variables went, and not all came for bfloat16.
        """
        op_type = self._op_type(var, rows)
        if (rows and not self.sparse) or not hasattr(tf.raw_ops, op_type):
            return False
        return _tf.has_kernel(op_type, var.dtype.base_dtype, var.device)

    def dense(self, grad: tf.Tensor, var: Any, h: Any, slots: dict[str, Any]) -> Any:
        """Update variable and slots by a dense gradient. Returns the op (None in eager code)."""
        shrunk = None
        if self._shrink is not None:
            with tf.control_dependencies([grad]):  # whatever reads the variable for the gradient has read it
                shrunk = assign(var, read(var) * self._shrink(h), use_locking=h.use_locking)
        with tf.control_dependencies(present([shrunk])):
            return self._run(self._op_type(var, rows=False), var, h, slots, **{self._grad: grad})

    def rows(self, grad: tf.IndexedSlices, var: Any, h: Any, slots: dict[str, Any]) -> Any:
        """Update the rows that `grad` names, each once. Returns the op (None in eager code)."""
        inputs = {"indices": grad.indices, self._grad: grad.values}
        return self._run(self._op_type(var, rows=True), var, h, slots, **inputs)

    def _op_type(self, var: Any, rows: bool) -> str:
        return f"{'Resource' if is_resource(var) else ''}{'Sparse' if rows else ''}Apply{self.name}"

    def _run(self, op_type: str, var: Any, h: Any, slots: dict[str, Any], **inputs: Any) -> Any:
        op = getattr(tf.raw_ops, op_type)
        states = {argument: reference(slots[name]) for argument, name in self._slots.items()}
        scalars = {a: s(h) if callable(s) else getattr(h, s) for a, s in self._scalars.items()}
        flags = {argument: h.option(name) for argument, name in self._flags.items()}
        result = op(var=reference(var), use_locking=h.use_locking, **states, **scalars, **flags, **inputs)
        return result if is_resource(var) else result.op


class Kernels:
    """A formula by several kernels, one after the other, in fewer passes over the memory than op by op.

    Args:
      dense: function of `(grad, var, h, slots)`, the slots' variables by name: updates all by a dense gradient and
        returns the op (None in eager code).
      fits: function of a variable, whether that can be done for it.
    """

    def __init__(self, dense: Callable[..., Any], fits: Callable[[Any], bool] = lambda var: True):
        self.dense, self._fits = dense, fits

    def fits(self, var: Any, *, rows: bool = False) -> bool:
        """Whether that can be done for this variable; never for some rows of it alone."""
        return not rows and self._fits(var)
