"""`to_tensorboard`: a copy of the graph in which TensorBoard's colours tell forward from backward."""

import os
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .._model._attributes import all_nodes

if TYPE_CHECKING:
    import networkx


def to_tensorboard(
    graph: "networkx.MultiDiGraph", logdir: str | os.PathLike, *, run_metadata: Any = None, tag: str = "step"
) -> None:
    """Write a graph for TensorBoard's Graphs tab, where "Color by: Device" then shows forward and backward.

    TensorBoard knows no gradients, but it colours by device and by XLA cluster. In the copy that is written, the device
    of an op is `/device:FORWARD:0`, `/device:BACKWARD:0` (`BACKWARD:1` for the gradient of a gradient) or
    `/device:UPDATE:0`, and its XLA cluster is `forward`, `backward` or `update`. The graph itself stays as it is.

    Args:
      graph: a graph from `build`. Attributes are taken from its source where that is still there.
      logdir: the folder that TensorBoard is started with, or one in it; made if it is not there.
      run_metadata: a `tf.RunMetadata` with the times and memory of a run with `FULL_TRACE`, to colour by.
      tag: what TensorBoard calls that run.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default() as g:
      ...     x = tf.placeholder(tf.float32, [3], name="x")
      ...     _ = tf.gradients(tf.square(x), x)
      >>> symgrad.graph.to_tensorboard(symgrad.graph.build(g), "logs")
    """
    import tensorflow.compat.v1 as tf

    events = [tf.Event(wall_time=time.time(), graph_def=_coloured(graph).SerializeToString())]
    if run_metadata is not None:
        stored = tf.Event.FromString(b"")
        stored.wall_time = time.time()
        stored.tagged_run_metadata.tag = tag
        stored.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        events.append(stored)
    with tf.Graph().as_default():  # the writer refuses to work eagerly
        writer = tf.summary.FileWriter(os.fspath(logdir))
        for event in events:
            writer.add_event(event)
        writer.close()


def _coloured(graph: "networkx.MultiDiGraph") -> Any:
    """A GraphDef of the graph's ops with what their role is as device and XLA cluster."""
    import tensorflow.compat.v1 as tf

    try:
        sources = {node.name: node for node in all_nodes(graph)}
    except (LookupError, OSError, ValueError):
        sources = {}
    copy = tf.GraphDef()
    inputs = _inputs(graph)
    for name, node in graph.nodes(data=True):
        made = copy.node.add()
        if name in sources:
            made.CopyFrom(sources[name])
        made.name, made.op = str(name), str(node.get("type", ""))
        del made.input[:]
        made.input.extend(inputs[name])
        role = node.get("role", "forward")
        side = role if role in ("backward", "update") else "forward"
        made.device = f"/device:{side.upper()}:{max(0, node.get('order', 0) - 1) if side == 'backward' else 0}"
        made.attr["_XlaCluster"].s = side.encode()
        shapes = [_shape(tf, shape) for _, shape in node.get("outputs", ())]
        made.attr["_output_shapes"].list.shape.extend(shapes)
    return copy


def _inputs(graph: "networkx.MultiDiGraph") -> dict[Any, list[str]]:
    """The input strings of every op: tensors in their order, then control dependencies."""
    found: dict[Any, list[tuple[int, str]]] = defaultdict(list)
    for source, target, edge in graph.edges(data=True):
        if edge.get("kind", "data") == "control":
            found[target].append((1 << 30, f"^{source}"))
        else:
            output = edge.get("output", 0)
            found[target].append((edge.get("input", 0), f"{source}:{output}" if output else str(source)))
    return defaultdict(list, {name: [text for _, text in sorted(listed)] for name, listed in found.items()})


def _shape(tf: Any, shape: tuple | None) -> Any:
    return tf.TensorShape(shape).as_proto()
