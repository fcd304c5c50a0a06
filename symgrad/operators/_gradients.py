"""The drop-in for `tf.gradients`."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _rehearsal, _tensors, _vectors, _vjp, _walk
from .._control_flow import place_for
from .._keywords import operator


@operator
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: tf.UnconnectedGradients = tf.UnconnectedGradients.NONE,
) -> list[Any]:
    """Gradients of the sum of `ys` with respect to `xs`, as `tf.gradients` gives them, and where it fails.

    Same arguments, same results, `IndexedSlices` and None included. In addition it differentiates graphs in which a V2
    loop, branch or function call has already run, and gradient ops that TensorFlow left without a gradient.

    Args:
      ys: tensor or list of tensors.
      xs: tensor, variable or list of them.
      grad_ys: like `ys`; None, also for one y, stands for ones (in `Lop` it stands for zeros).
      name: scope of the new ops.
      colocate_gradients_with_ops: place each gradient op with its forward op.
      gate_gradients: wait for all gradients of an op before using one.
      aggregation_method: a `tf.AggregationMethod`.
      stop_gradients: tensor or list of tensors that count as constants.
      unconnected_gradients: None or zeros for an x that no y depends on.

    Returns:
      List with a tensor, an `IndexedSlices` or None for each x, each of its shape.

    Raises:
      GraphMismatchError: eager tensors, tensors of several graphs, a finalized graph.
      MissingRuleError: a rule of ours stands for a gradient that TensorFlow lacks, and does not speak for an input.

    Example:
      >>> x = tf.constant([1., 2.])
      >>> run(symgrad.gradients(x ** 2, x))
      [array([2., 4.], dtype=float32)]
    """
    dense = [_tensors.output(y, f"ys[{i}]") for i, y in enumerate(_listed(ys))]
    graph = _tensors.building_graph(dense)
    with graph.as_default():
        tensors = [x.tensor for x in _tensors.inputs(_listed(xs), graph, any_dtype=True)]
        stop = None if stop_gradients is None else _tensors.stops(_listed(stop_gradients), graph)
        between = _walk.between(dense, tensors, stop or ())
        _vjp.refuse_partial_rules(between, dense, tensors, stop or ())
        _rehearsal.backward(between, corrections=False)
        with place_for(graph, between.ops, [*dense, *tensors, *_vectors.symbolic_leaves(grad_ys)]):
            return _vjp.reverse(
                between,
                dense,
                tensors,
                corrections=False,
                grad_ys=None if grad_ys is None else _listed(grad_ys),
                name=name,
                colocate_gradients_with_ops=colocate_gradients_with_ops,
                gate_gradients=gate_gradients,
                aggregation_method=aggregation_method,
                stop_gradients=stop,
                unconnected_gradients=unconnected_gradients,
            )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
