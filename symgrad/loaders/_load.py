"""`load`: read, import into a graph of its own, find inputs, outputs and variables."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._files import GraphFile, ends, excess, read
from .._op_types import EXITS
from ..errors import ControlFlowError, LoadError
from ._model import Model
from ._variables import variables_of

_LOG = logging.getLogger("symgrad")

# What an import raises besides errors of TensorFlow's own.
_FAILURES = (ValueError, TypeError, LookupError, RuntimeError, AttributeError)

# The shape function of this internal op type reads an input that is not there (seen in TensorFlow 2.21).
_FATAL = frozenset({"_QuantizedMatMul"})


def load(
    path: str | os.PathLike | bytes, *, tags: str | list[str] | None = None, signature: str | None = None
) -> Model:
    """Load a legacy model file into a graph of its own.

    Args:
      path: a .pb or .pbtxt GraphDef, a .meta (with its checkpoint beside it), or a SavedModel directory; or the
        bytes of such a file.
      tags: tag or tags of the MetaGraph to take from a SavedModel; None takes the only one, or `serve`.
      signature: key of the signature that names inputs and outputs; None takes `serving_default` or the only one.
        Without a signature, inputs are the placeholders and outputs are what nobody consumes.

    A `gradient_override_map` of the default graph that stands around the call holds for the ops that are loaded.

    Returns:
      A `Model`. Its variables have no values until `model.restore(session)`.

    Raises:
      LoadError: the file is missing, damaged, truncated or of another format, uses ops that this TensorFlow does not
        have, or has no such signature.
    """
    import tensorflow.compat.v1 as tf
    from google.protobuf.message import DecodeError

    from .._tf import active_overrides, collection_being_imported

    file = read(path, tags=tags)
    _check_ops(file)
    reason = excess(file.graph_def)
    if reason is not None:
        raise LoadError(f"{file.label}: {reason}. symgrad.graph.build reads the file without importing it.")
    _override_gradients(file, active_overrides(tf.get_default_graph()))
    graph = tf.Graph()
    with graph.as_default():
        try:
            _import(file)
        except (*_FAILURES, DecodeError, tf.errors.OpError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            collection = collection_being_imported(error)
            if collection is not None:
                message = f"{file.label}: its collection {collection!r} is damaged: {reason}"
                raise LoadError(f"{message}. symgrad.graph.build reads the file without its collections") from error
            raise LoadError(
                f"{file.label}: TensorFlow {tf.__version__} cannot import this {file.kind}: {reason}"
            ) from error
        _rebuild_contexts(file, graph)
        inputs, outputs = _inputs_and_outputs(file, graph, signature)
        return Model(graph, file.graph_def, inputs, outputs, variables_of(graph), file)


def _import(file: GraphFile) -> None:
    """Import into the default graph; a MetaGraph brings its collections and its loop contexts."""
    import tensorflow.compat.v1 as tf

    from .._tf import import_scoped_meta_graph

    if file.meta_graph is None:
        tf.import_graph_def(file.graph_def, name="")
    else:
        import_scoped_meta_graph(file.meta_graph)


def _rebuild_contexts(file: GraphFile, graph: Any) -> None:
    """Make the contexts of V1 loops and branches where the file has none, so that they can be differentiated."""
    from .._control_flow import rebuild

    try:
        rebuild(graph)
    except ControlFlowError as error:  # it can still be run and looked at; an operator says the same when it matters
        _LOG.info("%s: %s", file.label, error)


def _override_gradients(file: GraphFile, overrides: Mapping[str, str]) -> None:
    """Mark the ops as a `gradient_override_map` marks those that are built; TensorFlow's import does not look at it."""
    for node in _all_nodes(file.graph_def) if overrides else ():
        if node.op in overrides and "_gradient_op_type" not in node.attr:
            node.attr["_gradient_op_type"].s = overrides[node.op].encode()


def _check_ops(file: GraphFile) -> None:
    """Name every op type that this TensorFlow does not have; its own message names one."""
    import tensorflow.compat.v1 as tf

    from .._tf import op_def_registry

    functions = {function.signature.name for function in file.graph_def.library.function}
    unknown: dict[str, str] = {}
    for node in _all_nodes(file.graph_def):
        if node.op in _FATAL:
            raise LoadError(f"{file.label}: TensorFlow ends the process at an op of the type {node.op} ({node.name!r})")
    for node in _all_nodes(file.graph_def):
        if node.op not in unknown and node.op not in functions and op_def_registry.get(node.op) is None:
            unknown[node.op] = node.name
    if unknown:
        shown = ", ".join(f"{op} ({name!r})" for op, name in sorted(unknown.items())[:8])
        raise LoadError(
            f"{file.label}: TensorFlow {tf.__version__} does not know {len(unknown)} op type(s) of this graph: "
            f"{shown}; load the library that defines them with tf.load_op_library first. "
            "symgrad.graph.build reads the file without importing it."
        )


def _all_nodes(graph_def: Any) -> Iterator[Any]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def


def _inputs_and_outputs(file: GraphFile, graph: Any, signature: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    chosen = _signature(file, signature)
    if chosen is None:
        wires = file.wiring
        data = wires.output >= 0
        inputs, outputs = ends(wires.types, wires.source[data], wires.target[data])
        last = _first_outputs(graph, wires.names, outputs)
        return _first_outputs(graph, wires.names, inputs), {n: t for n, t in last.items() if _can_be_fetched(t.op)}
    try:
        return _tensors(graph, chosen.inputs), _tensors(graph, chosen.outputs)
    except (KeyError, ValueError, TypeError) as error:
        raise LoadError(f"{file.label}: its signature names a tensor that is not in the graph: {error}") from error


def _can_be_fetched(op: Any) -> bool:
    """False for an op inside of a V1 loop or branch, which no session gives out."""
    context = op._get_control_flow_context()
    if op.type in EXITS and context is not None:
        context = context.outer_context
    return context is None


def _first_outputs(graph: Any, names: list[str], positions: Iterable[int]) -> dict[str, Any]:
    ops = (graph.get_operation_by_name(names[i]) for i in positions)
    return {op.name: op.outputs[0] for op in ops if op.outputs}


def _tensors(graph: Any, infos: Any) -> dict[str, Any]:
    """Tensors of a signature's side; sparse and composite ones come as their component tensors, `key/0`, `key/1`."""
    found = {}
    for key, info in sorted(infos.items()):
        kind = info.WhichOneof("encoding")
        if kind == "coo_sparse":
            names = [info.coo_sparse.indices_tensor_name, info.coo_sparse.values_tensor_name,
                     info.coo_sparse.dense_shape_tensor_name]  # fmt: skip
        elif kind == "composite_tensor":
            names = [part.name for part in info.composite_tensor.components]
        else:
            found[key] = graph.get_tensor_by_name(info.name)
            continue
        found.update({f"{key}/{i}": graph.get_tensor_by_name(name) for i, name in enumerate(names)})
    return found


def _signature(file: GraphFile, key: str | None) -> Any:
    """The SignatureDef asked for, the natural one, or None where the file has none."""
    held = {} if file.meta_graph is None else dict(file.meta_graph.signature_def.items())
    usable = {name: held[name] for name in sorted(held) if not name.startswith("__saved_model")}
    if key is not None:
        if key not in usable:
            shown = ", ".join(map(repr, usable)) or "none"
            raise LoadError(f"{file.label}: no signature {key!r}; this {file.kind} has {shown}")
        return usable[key]
    if "serving_default" in usable:
        return usable["serving_default"]
    if len(usable) > 1:
        raise LoadError(f"{file.label}: choose one of its signatures by signature=: {', '.join(map(repr, usable))}")
    return next(iter(usable.values()), None)
