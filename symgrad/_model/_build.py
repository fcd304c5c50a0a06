"""`build`: a graph of any kind as a networkx graph with roles and pairs."""

import os
from typing import TYPE_CHECKING, Any

from .. import _files, _pairs
from .._collector import collector_paused
from ..errors import LoadError
from ._arrays import Core, from_graph_def, from_live, shape_of
from ._attributes import dtype_name
from ._roles import frames, roles
from ._traced import graph_of

if TYPE_CHECKING:
    import networkx


def build(
    source: Any, *, ys: Any = None, xs: Any = None, tags: "str | list[str] | None" = None
) -> "networkx.MultiDiGraph":
    """Read a graph as a networkx graph whose nodes know their role and their forward op.

    Args:
      source: a `tf.Graph`, a FuncGraph, a GraphDef or MetaGraphDef, the path of a model file (.pb, .pbtxt, .meta, a
        SavedModel directory) or the bytes of one; or a concrete function, a `tf.function` with an `input_signature`, a
        Keras model, which are traced. Files are read without importing them, so ops that this TensorFlow
        does not know are fine.
      ys, xs: names of ops, ops or tensors, one or a list. With either, only the ops on the way from xs to ys are kept
        (every way into ys, or out of xs, where one is left out), with their gradients and the variables and constants
        they read.
      tags: tag or tags of the MetaGraph to take from a SavedModel; None takes the only one, or `serve`.

    Returns:
      A `networkx.MultiDiGraph`. A node is an op, keyed by its name, with the attributes

      * `type`, `device`, `scope`: strings.
      * `frame`: name of the V1 loop frame it runs in, None outside. `function`: None; `bodies` gives the graphs of the
        functions that an op calls, where it is the name of the function.
      * `role`: `"backward"`, `"update"` (writes variables, or works only for ops that do), `"variable"`, `"constant"`,
        `"control"` (orders or routes and computes nothing) or `"forward"`.
      * `pair`: for a backward op the name of the op whose gradient it is part of, else None.
      * `order`: 0 for forward ops, 1 for a gradient, 2 for a gradient of a gradient.
      * `dead`: True for a backward op that nothing consumes and that is no result: where something takes a result of
        the same gradient computation, any op without consumer; else those that no gradient flows into.
      * `outputs`: a tuple of (dtype name, shape tuple or None). Reference dtypes have the name of their base.

      An edge is a tensor or a control dependency: `kind` (`"data"` or `"control"`), `output` and `input` (the index
      among the outputs of its source and the inputs of its target), `dtype`, `shape`. For a control edge both are -1.
      `graph.graph["source"]` is `source`, `graph.graph["signatures"]` are the signatures of a MetaGraph or SavedModel:
      for each its `method`, and `inputs` and `outputs`, by their keys the `name`, `dtype` and `shape` of a tensor.

    Raises:
      LoadError: the source is none of these, is damaged, or does not say for which inputs it is to be traced.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     _ = tf.gradients(tf.square(x, name="y"), x)
      >>> graph = symgrad.graph.build(g)
      >>> [name for name, pair in graph.nodes(data="pair") if pair == "y"][-1]
      'gradients/y_grad/Mul_1'
    """
    from ._query import neighbourhood

    with collector_paused():
        core, signatures = _core(source, tags)
        graph = from_core(core)
    graph.graph.update(source=source, tags=tags, signatures=signatures)
    if ys is None and xs is None:
        return graph
    return neighbourhood(graph, ys, xs)


def _core(source: Any, tags: str | list[str] | None) -> tuple[Core, dict[str, Any]]:
    """The core of a graph and its signatures."""
    import tensorflow.compat.v1 as tf

    if isinstance(source, tf.Graph):
        return from_live(source), {}
    meta = None
    if isinstance(source, tf.MetaGraphDef):
        meta, source = source, source.graph_def
    if isinstance(source, tf.GraphDef):
        return from_graph_def(source, _files.wiring(source.node, "the GraphDef")), _signatures(meta)
    if isinstance(source, (str, bytes, os.PathLike)):
        file = _files.read(source, tags=tags)
        return from_graph_def(file.graph_def, file.wiring), _signatures(file.meta_graph)
    traced = graph_of(source)
    if traced is not None:
        return from_live(traced), {}
    raise LoadError(
        "expected a tf.Graph, a FuncGraph, a GraphDef, a path or bytes, a tf.function or a Keras model, got "
        f"{type(source).__name__}"
    )


def _signatures(meta: Any) -> dict[str, Any]:
    """The signatures of a MetaGraphDef as plain values."""
    if meta is None:
        return {}
    found = {}
    for key in sorted(meta.signature_def):
        signature = meta.signature_def[key]
        found[key] = {
            "method": signature.method_name,
            "inputs": {name: _tensor_info(signature.inputs[name]) for name in sorted(signature.inputs)},
            "outputs": {name: _tensor_info(signature.outputs[name]) for name in sorted(signature.outputs)},
        }
    return found


def _tensor_info(info: Any) -> dict[str, Any]:
    shape = shape_of(info.tensor_shape)
    return {"name": info.name, "dtype": dtype_name(info.dtype), "shape": None if shape is None else list(shape)}


def from_core(core: Core) -> "networkx.MultiDiGraph":
    """The networkx graph of a core, with roles, frames and pairs."""
    import networkx

    wiring = core.wiring
    names = wiring.names
    edges = (wiring.source, wiring.target, wiring.output)
    pairs = _pairs.pair(names, wiring.types, edges, original=core.original)
    forward, order, dead = pairs.forward.tolist(), pairs.order.tolist(), pairs.dead.tolist()
    role = roles(wiring, pairs.backward)
    frame = frames(wiring, core.enters)
    graph: networkx.MultiDiGraph = networkx.MultiDiGraph()
    scopes: dict[str, str] = {}
    for i, name in enumerate(names):
        scope = name.rpartition("/")[0]
        graph.add_node(
            name,
            type=wiring.types[i],
            device=core.devices[i],
            scope=scopes.setdefault(scope, scope),
            frame=frame[i],
            function=None,
            role=role[i],
            pair=names[forward[i]] if forward[i] >= 0 else None,
            order=order[i],
            dead=dead[i],
            outputs=core.outputs[i],
        )
    nothing = ("", None)
    columns = (wiring.source.tolist(), wiring.target.tolist(), wiring.output.tolist(), wiring.slot.tolist())
    for a, b, output, slot in zip(*columns, strict=True):
        outputs = core.outputs[a]
        dtype, shape = outputs[output] if 0 <= output < len(outputs) else nothing
        graph.add_edge(
            names[a],
            names[b],
            kind="data" if output >= 0 else "control",
            output=output,
            input=slot,
            dtype=dtype,
            shape=shape,
        )
    return graph
