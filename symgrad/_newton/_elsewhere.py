"""Tensors recomputed where variables have other values, without a write to any of them."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _sources, _tf, _walk
from .._control_flow import alias, refuse_side_effects
from .._jacobians._forward_copies import Copies
from .._op_types import RANDOM, lives_one_run
from ..errors import ControlFlowError


class Elsewhere:
    """Tensors as functions of the variables that they are computed from.

    What does not depend on the variables is shared with the original: a batch from a queue, random numbers, a dropout
    mask. So is what lies behind tf.stop_gradient, which counts as a constant.

    Args:
      ys: tensors of a graph.
      variables: variables of any kind.

    Raises:
      ControlFlowError: an op that depends on the variables changes a state or draws random numbers.
    """

    def __init__(self, ys: Sequence[tf.Tensor], variables: Sequence[Any]):
        self._ys, self._variables = list(ys), list(variables)
        leading = set(_walk.ancestors(ys, every=True))
        self._reads = [_Reads(v, leading) for v in variables]
        sources = [t for read in self._reads for t in read.sources]
        self._copied = _closed({op for op in _onward(sources) if op in leading}, leading)
        for op in self._copied:
            if op.type in RANDOM:
                raise ControlFlowError(
                    f"{op.type} {op.name!r} draws random numbers that hang on variables, other ones at each trial of a "
                    "step; draw with tf.random.stateless_*, or behind tf.stop_gradient"
                )
            refuse_side_effects(op)

    def at(self, values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """The tensors where the variables have these values, in the default graph."""
        pairs = [pair for read, value in zip(self._reads, values, strict=True) for pair in read.instead(value)]
        return Copies(lambda op: op not in self._copied, pairs).of(self._ys, "elsewhere")

    def recomputed(self) -> list[tf.Tensor]:
        """The tensors computed once more from the variables themselves, by which they can be differentiated."""
        return Copies(lambda op: op not in self._copied).of(self._ys, "again")


def _onward(tensors: Sequence[tf.Tensor]) -> list[tf.Operation]:
    """The ops that read the tensors, directly or through others, up to those that count as constants."""
    readers = _walk.readers(tensors, lambda op: op.type != "StopGradient")
    return [op for op in readers if op.type != "StopGradient"]


def _closed(ops: set[tf.Operation], leading: set[tf.Operation]) -> set[tf.Operation]:
    """The ops, and those that have a copy with them: the rest of a V1 loop or branch, and of what lives for one run."""
    size = 0
    while size < len(ops):
        size = len(ops)
        contexts = {_outermost(op) for op in ops} - {None}
        if contexts:
            ops = ops | {op for op in leading if _outermost(op) in contexts}
        handled = [op for op in ops if lives_one_run(op.type) and op.inputs and op.inputs[0].dtype == tf.resource]
        makers = {_sources.maker_of(op) for op in handled}
        ops = ops | makers | {op for op in _onward([t for m in makers for t in m.outputs]) if op in leading}
    return ops


def _outermost(op: tf.Operation) -> Any:
    context = op._get_control_flow_context()
    while context is not None and context.outer_context is not None:
        context = context.outer_context
    return context


class _Reads:
    """How a variable is read.

    Attributes:
      sources: the tensors that hold its values, or are its handle.
    """

    def __init__(self, variable: Any, leading: set[tf.Operation]):
        self._variable = variable
        self._resource = _tf.is_resource_variable(variable)
        root = variable.handle if self._resource else variable._ref()
        readers = [op for op in root.consumers() if op in leading] if self._resource else []
        # Lookups of rows, and loops and functions that read the variable themselves, take its handle.
        self._plain = not self._resource or all(op.type == "ReadVariableOp" for op in readers)
        self.sources = [op.outputs[0] for op in readers] if self._resource and self._plain else [root]

    def instead(self, value: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """What copies read instead of the sources where the variable has another value."""
        if self._plain:
            return [(source, value) for source in self.sources]
        (handle,) = self.sources
        made = tf.raw_ops.VarHandleOp(dtype=value.dtype, shape=value.shape, shared_name=_tf.anonymous_name())
        with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=made, value=value)]):
            other = alias(made)
        return [(handle, other)]
