"""What the caller asks about, as tensors; variables are not read, for reading one builds an op."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from ..errors import DtypeError, ShapeError


@dataclass(frozen=True)
class Subject:
    """One leaf of ys or xs.

    Attributes:
      name: how findings call it.
      tensor: the tensor; for a variable its handle or reference. An eager one belongs to no graph.
      dtype: of the values.
      shape: of the values.
    """

    name: str
    tensor: Any
    dtype: tf.DType
    shape: tf.TensorShape

    @property
    def is_eager(self) -> bool:
        """True for what belongs to no graph."""
        return isinstance(self.tensor, _tf.EagerTensor)


def subjects(structure: Any, argument: str) -> list[Subject]:
    """The leaves of ys, xs or stop_gradients.

    Raises:
      DtypeError: a leaf is no tensor and no variable.
      ShapeError: there are none.
    """
    leaves = [_subject(leaf, f"{argument}[{i}]") for i, leaf in enumerate(_tensors.flatten(structure))]
    if not leaves and argument != "stop_gradients":
        raise ShapeError(f"{argument} is empty; give at least one tensor or variable")
    return leaves


def _subject(leaf: Any, label: str) -> Subject:
    leaf = _tensors.unwrap(leaf)
    if isinstance(leaf, tf.IndexedSlices | tf.SparseTensor):
        leaf = leaf.values
    if hasattr(leaf, "handle") and tf.is_tensor(leaf):  # a resource variable; not all of them derive from tf.Variable
        tensor = leaf.handle
    elif isinstance(leaf, tf.Variable):
        tensor = leaf._ref()
    elif tf.is_tensor(leaf) and hasattr(leaf, "op" if not isinstance(leaf, _tf.EagerTensor) else "numpy"):
        tensor = leaf
    else:
        parts = "; give its flat_values" if isinstance(leaf, tf.RaggedTensor) else ""
        raise DtypeError(f"{label} is a {type(leaf).__name__}; wanted a tensor or a variable{parts}")
    name = label if isinstance(leaf, _tf.EagerTensor) else leaf.name
    return Subject(name, tensor, tf.as_dtype(leaf.dtype).base_dtype, tf.TensorShape(leaf.shape))


def seen_from(subject: Subject, graph: tf.Graph) -> Subject:
    """The subject as the ops of `graph` read it: of an eager variable that a function body captured, the capture."""
    while subject.is_eager and isinstance(graph, _tf.FuncGraph):
        for outside, inside in graph.captures:
            if outside is subject.tensor:
                return Subject(subject.name, inside, subject.dtype, subject.shape)
        graph = graph.outer_graph
    return subject
