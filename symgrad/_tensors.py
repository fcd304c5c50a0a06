"""Structures of tensors in and out: checked, converted, densified."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from . import _tf
from .errors import DtypeError, GraphMismatchError, ShapeError

FLOATING = frozenset({tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128})
_CARRIERS = frozenset({tf.resource, tf.variant})  # variables, TensorArrays, TensorLists: what they hold may be floating
# The same with the reference types of V1 variables, whose numbers are 100 higher.
_HOLDS_NUMBERS = FLOATING | {tf.as_dtype(dtype.as_datatype_enum + 100) for dtype in FLOATING}
_MAY_HOLD_NUMBERS = _HOLDS_NUMBERS | _CARRIERS


def is_floating(tensor: tf.Tensor) -> bool:
    """True if `tensor` holds floating or complex numbers."""
    return tensor.dtype in _HOLDS_NUMBERS


def is_differentiable(tensor: tf.Tensor) -> bool:
    """True if a derivative can flow through `tensor`: it is floating, or the handle of something that may be."""
    return tensor.dtype in _MAY_HOLD_NUMBERS


@dataclass(frozen=True)
class Input:
    """One leaf of xs.

    Attributes:
      given: what the caller gave, a tensor or a variable.
      tensor: what gradients are taken with respect to: the tensor, the handle of a resource variable, the reference of
        a V1 variable.
      label: how messages call it.
    """

    given: Any
    tensor: tf.Tensor
    label: str

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the values."""
        return tf.as_dtype(self.given.dtype).base_dtype

    @property
    def shape(self) -> tf.TensorShape:
        """The static shape of the values."""
        return tf.TensorShape(self.given.shape)

    def value(self) -> tf.Tensor:
        """The values as a tensor (reads a variable)."""
        return tf.convert_to_tensor(self.given)

    def zeros(self) -> tf.Tensor:
        """Zeros of its shape and dtype."""
        if self.shape.is_fully_defined():
            return tf.zeros(self.shape, self.dtype)
        return tf.zeros_like(self.value())


def is_variable(value: Any) -> bool:
    """True for a TensorFlow variable of any kind (tf.compat.v1.Variable is the base of reference variables only)."""
    return isinstance(value, tf.compat.v2.Variable)


def fed(tensor: tf.Tensor, value: Any) -> np.ndarray:
    """What is fed for a tensor, as an array of its dtype.

    Raises:
      DtypeError: it does not become that, or the tensor is a handle.
      ShapeError: it has another shape.
    """
    dtype = tensor.dtype.base_dtype
    if dtype in _CARRIERS:
        raise DtypeError(f"{tensor.name!r} is a handle, which cannot be fed; for a variable feed what reads it")
    if tf.is_tensor(value) and not isinstance(value, _tf.EagerTensor):
        raise DtypeError(f"{tensor.name!r} is fed {value!r}, which is a tensor; feed what session.run gives for it")
    try:
        is_complex = np.iscomplexobj(value)
    except ValueError as error:  # NumPy looks at the rows, which it takes for one array
        raise ShapeError(f"{tensor.name!r} is fed rows of different lengths: {error}") from None
    if is_complex and not dtype.is_complex:
        raise DtypeError(f"{tensor.name!r} is {dtype.name} and is fed complex numbers")
    try:
        array = np.asarray(value, dtype.as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"{tensor.name!r} is {dtype.name}, and what is fed does not become that: {error}") from None
    if not tensor.shape.is_compatible_with(array.shape):
        raise ShapeError(f"{tensor.name!r} has shape {tensor.shape} and is fed an array of shape {array.shape}")
    return array


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure; variables and IndexedSlices are leaves."""
    try:
        return tf.nest.flatten(structure)
    except RecursionError:
        raise ShapeError(f"a {type(structure).__name__} contains itself; give a structure of tensors") from None


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """The structure with its leaves replaced."""
    return tf.nest.pack_sequence_as(structure, list(leaves))


def outputs(ys: Any) -> list[tf.Tensor]:
    """The leaves of ys as dense tensors of one graph.

    Raises:
      DtypeError: a leaf is not floating or complex.
      GraphMismatchError: a leaf is eager, or the leaves belong to several graphs.
    """
    tensors = []
    for i, y in enumerate(flatten(ys)):
        tensor = output(y, f"ys[{i}]")
        if not is_floating(tensor):
            raise DtypeError(
                f"ys[{i}] ({tensor.name}) has dtype {tensor.dtype.base_dtype.name}; only floating and complex tensors "
                "have derivatives: take the tensor before it was cast or compared"
            )
        tensors.append(tensor)
    return tensors


def output(y: Any, label: str) -> tf.Tensor:
    """One y as a dense tensor; refused if it is eager or does not become one."""
    refuse_eager(y, label)
    if isinstance(y, tf.IndexedSlices):
        return densify(y)
    try:
        return tf.convert_to_tensor(unwrap(y))
    except (TypeError, ValueError) as error:
        raise DtypeError(f"{label} is a {type(y).__name__}; wanted a dense tensor{_parts(y)}: {error}") from None


def _parts(value: Any) -> str:
    """What of a sparse or ragged tensor, or of a variable in parts, has derivatives."""
    parts: dict[Any, str] = {
        tf.SparseTensor: ", such as its .values",
        tf.RaggedTensor: ", such as its .flat_values",
        _tf.PartitionedVariable: ": its parts, as list(...) gives them",
    }
    return next((said for kind, said in parts.items() if isinstance(value, kind)), "")


def check_session(session: Any, graph: tf.Graph) -> None:
    """Raise GraphMismatchError for what is no session, or one of another graph than `graph`."""
    if not hasattr(session, "run") or not hasattr(session, "graph"):
        raise GraphMismatchError(f"session={session!r}; wanted a tf.Session of the graph of the tensors")
    if session.graph is not graph:
        raise GraphMismatchError("the session is that of another graph than the tensors'; open tf.Session(graph=...)")


def symbolic(ys: Any) -> list[Any]:
    """The leaves of ys that belong to a graph (variables, tensors, slices), to find the graph to build in."""
    leaves = flatten(ys)
    for i, y in enumerate(leaves):
        refuse_eager(y, f"ys[{i}]")
        if not hasattr(y, "graph") or isinstance(y, tf.Operation | tf.SparseTensor | tf.RaggedTensor):
            raise DtypeError(f"ys[{i}] is a {type(y).__name__}; wanted a tensor of a graph{_parts(y)}")
    if not leaves:
        raise ShapeError("ys is empty; give at least one tensor to differentiate")
    return leaves


def stops(stop_gradients: Any, graph: tf.Graph) -> list[tf.Tensor]:
    """The tensors of `stop_gradients`, which may be None, one tensor or a structure."""
    if stop_gradients is None:
        return []
    return [_input(x, graph, f"stop_gradients[{i}]", True).tensor for i, x in enumerate(flatten(stop_gradients))]


def inputs(xs: Any, graph: tf.Graph, *, any_dtype: bool = False) -> list[Input]:
    """The leaves of xs, checked against the graph of ys; `any_dtype` admits what has no derivative.

    Raises:
      DtypeError: a leaf is not floating or complex.
      GraphMismatchError: a leaf is eager or belongs to another graph.
    """
    leaves = [_input(x, graph, f"xs[{i}]", any_dtype) for i, x in enumerate(flatten(xs))]
    if not leaves:
        raise ShapeError("xs is empty; give at least one tensor or variable")
    return leaves


def _input(x: Any, graph: tf.Graph, label: str, any_dtype: bool) -> Input:
    x = unwrap(x)
    if (not tf.is_tensor(x) and not is_variable(x)) or isinstance(x, tf.SparseTensor | tf.RaggedTensor):
        wanted = f"a tensor{_parts(x)}, or a variable that ys are computed from"
        raise DtypeError(f"{label} is a {type(x).__name__}; wanted {wanted}")
    handle = x.handle if hasattr(x, "handle") else x._ref() if is_variable(x) else x
    if isinstance(x, tf.IndexedSlices):
        raise DtypeError(f"{label} is an IndexedSlices; differentiate with respect to its .values")
    if isinstance(handle, _tf.EagerTensor):
        if handle is x or not isinstance(graph, _tf.FuncGraph):
            refuse_eager(handle, label)
        handle = graph.capture(handle)
    label = f"{label} ({getattr(x, 'name', handle.name)})"
    dtype = tf.as_dtype(x.dtype).base_dtype
    if dtype not in FLOATING and not any_dtype:
        raise DtypeError(
            f"{label} has dtype {dtype.name}; only floating and complex tensors have derivatives"
            + ("" if dtype != tf.resource else ": give the variable itself, not its handle")
        )
    if not lies_in(handle.graph, graph):
        raise GraphMismatchError(
            f"{label} belongs to another graph than ys; build ys and xs in one tf.Graph, or import one into the other"
        )
    return Input(x, handle, label)


def unwrap(value: Any) -> Any:
    """The TensorFlow variable inside a Keras 3 variable, anything else as it is."""
    inner = getattr(value, "value", None)
    return inner if is_variable(inner) and not is_variable(value) else value


def lies_in(outer: tf.Graph, graph: tf.Graph | None) -> bool:
    """True if `outer` is `graph` or one of the graphs around it (function bodies see the tensors outside)."""
    while graph is not None:
        if graph is outer:
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def refuse_eager(value: Any, label: str) -> None:
    if isinstance(value, _tf.EagerTensor):
        raise GraphMismatchError(
            f"{label} is an eager tensor, which carries no graph; build it under tf.Graph().as_default() or inside a "
            "tf.function (for eager code TensorFlow has tf.GradientTape)"
        )


def building_graph(ys: Sequence[tf.Tensor]) -> tf.Graph:
    """The graph in which derivatives of ys are built.

    It is the graph of ys, unless the caller stands in a function body inside of it (a V2 cond or loop): then that body,
    as for `tf.gradients`.

    Raises:
      GraphMismatchError: ys belong to several graphs, or the graph is finalized.
    """
    graph = ys[0].graph
    for i, y in enumerate(ys):
        if y.graph is not graph:
            if lies_in(graph, y.graph):
                graph = y.graph
            elif not lies_in(y.graph, graph):
                raise GraphMismatchError(f"ys[{i}] ({y.name}) belongs to another graph than ys[0] ({ys[0].name})")
    if not tf.executing_eagerly() and lies_in(graph, tf.get_default_graph()):
        graph = tf.get_default_graph()
    if graph.finalized:
        raise GraphMismatchError(
            "the graph is finalized, so no derivative can be built in it; build it before finalize() and before "
            "the session manager (MonitoredTrainingSession, Supervisor) is created"
        )
    return graph


def densify(value: Any, like: tf.Tensor | None = None) -> Any:
    """A dense tensor of an `IndexedSlices` (repeated indices add up); tensors and None pass.

    Args:
      value: tensor, IndexedSlices or None.
      like: gives the number of rows where the slices do not know it.
    """
    if not isinstance(value, tf.IndexedSlices):
        return value
    shape = value.dense_shape
    if shape is None:
        if like is None:
            raise ShapeError(f"{value.name} is an IndexedSlices without a dense shape; convert it to a tensor first")
        shape = tf.shape(like)
    dense = tf.math.unsorted_segment_sum(value.values, value.indices, shape[0])
    dense.set_shape(value.shape)
    return dense
