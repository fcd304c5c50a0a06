"""What the parts of a training step may touch of the optimizer whose step it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

__all__ = ["StepHost"]


class StepHost(Protocol):
    """An optimizer, as the modules of this room see it: state, scalars, hooks, and nothing else.

    The hooks that bear names of `tf.compat.v1.train.Optimizer` mean what they mean there.
    """

    transforms: Sequence[Callable]
    reduction: str
    lazy: bool

    _name: str
    _use_locking: bool
    _hyper: Any
    _moment: Any
    _shared: Mapping[str, Any]
    _multipliers: Mapping[str, Callable[[Any], Any]]
    _missing: dict[str, list[str]]

    # ---- the formula

    def step(self, grad: tf.Tensor, var: Any, h: Any, s: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The formula."""

    def _kernel(self) -> Any: ...

    def _constraint_of(self, var: Any) -> Callable | None: ...

    def _moves_touched_rows_only(self) -> bool: ...

    # ---- state

    def _create_state(self, variables: list[Any]) -> None: ...

    def _scalar_state(self, name: str, initial: float, dtype: tf.DType) -> Any: ...

    def _slots_of(self, var: Any) -> dict[str, Any]: ...

    def _shared_variables(self) -> dict[str, Any]: ...

    def _counter(self) -> Any: ...

    def _finished_steps(self) -> tf.Tensor: ...

    # ---- one step

    def _begin(self) -> None: ...

    def _scalars(self, var: Any) -> Any: ...

    def _distributed_apply(self, distribution: Any, grads_and_vars: Any, global_step: Any, name: Any) -> Any: ...

    # ---- hooks and helpers of TensorFlow's class

    def _create_slots(self, var_list: list[Any]) -> None: ...

    def _prepare(self) -> None: ...

    def _finish(self, update_ops: list[Any], name_scope: str | None) -> Any: ...

    def _scale_loss(self, loss_value: Any) -> Any: ...

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any: ...

    def _resource_apply_dense(self, grad: tf.Tensor, handle: Any) -> Any: ...

    def _apply_sparse_duplicate_indices(self, grad: tf.IndexedSlices, var: Any) -> Any: ...

    def _resource_apply_sparse_duplicate_indices(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> Any: ...

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any: ...

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any: ...

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any: ...

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any: ...
