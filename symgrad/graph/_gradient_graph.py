"""`gradient_graph`: build the gradients of ys and look at just them."""

from typing import TYPE_CHECKING, Any

from .._model._build import build
from .._model._query import between, node_names, part

if TYPE_CHECKING:
    import networkx


def gradient_graph(ys: Any, xs: Any, grad_ys: Any = None) -> "networkx.MultiDiGraph":
    """Build the gradients of `ys` and return the ops between xs and ys with the new backward ops.

    Args:
      ys: tensor or list of tensors.
      xs: tensor, variable or list of them.
      grad_ys: like `ys`, None for ones.

    Returns:
      A graph as from `build`, of the ops on the way from xs to ys, the variables and constants they read, and the
      backward ops that this call has made. `graph.graph["gradients"]` has the names of the gradient tensors, None
      where there is none, in the order of xs.

    Raises:
      SymgradError: what `symgrad.gradients` raises.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> x = tf.placeholder(tf.float32, [3], name="x")
      >>> graph = symgrad.graph.gradient_graph(tf.sin(x), x)
      >>> sorted(node["type"] for _, node in graph.nodes(data=True) if node["role"] == "backward")
      ['Const', 'Const', 'Cos', 'Fill', 'Mul']
      >>> graph.graph["gradients"]
      ['gradients/Sin_grad/mul:0']
    """
    from ..operators import gradients

    first = ys[0] if isinstance(ys, (list, tuple)) else ys
    live = first.graph
    before = {op.name for op in live.get_operations()}
    made = gradients(ys, xs, grad_ys)
    graph = build(live)
    ends = node_names(graph, ys), node_names(graph, xs)
    way = set(between(graph, ends[1], ends[0])) | set(ends[0]) | set(ends[1])
    new = {name for name in graph if name not in before and graph.nodes[name]["role"] == "backward"}
    near = build(live, ys=ends[0], xs=ends[1])
    reads = {name for name in near if graph.nodes[name]["role"] != "backward"}
    result = part(graph, way | new | reads)
    result.graph["gradients"] = [None if gradient is None else _name(gradient) for gradient in made]
    return result


def _name(gradient: Any) -> str:
    """The tensor's name; of an IndexedSlices that of its values."""
    return getattr(gradient, "values", gradient).name
