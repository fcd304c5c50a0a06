"""Fetches and inputs, checked: tensors of one graph, outside of V1 loops and branches."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from ..errors import GraphMismatchError


def fetched(fetches: Any, inputs: Any = ()) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """The leaves of fetches, and those of inputs, as tensors.

    Raises:
      DtypeError, ShapeError: a leaf is no tensor; fetches are empty.
      GraphMismatchError: eager tensors, tensors of several graphs, of a function body, of a V1 loop or branch.
    """
    leaves = _tensors.symbolic(fetches)
    graph = leaves[0].graph
    for leaf in leaves:
        if leaf.graph is not graph:
            raise GraphMismatchError(f"{leaf.name!r} belongs to another graph than fetches[0]")
    if isinstance(graph, _tf.FuncGraph):
        raise GraphMismatchError(
            "fetches are in a function body; compile the function, by tf.function(jit_compile=True)"
        )
    tensors = [_tensors.output(y, f"fetches[{i}]") for i, y in enumerate(leaves)]
    begins = [x.tensor for x in _tensors.inputs(inputs, graph, any_dtype=True)] if _tensors.flatten(inputs) else []
    for t in [*tensors, *begins]:
        if t.op._get_control_flow_context() is not None:
            raise GraphMismatchError(f"{t.name!r} is inside a V1 loop or branch; give what leaves it")
    return tensors, begins
