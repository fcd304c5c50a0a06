"""Cotangents and tangents as a caller gives them: checked against what they belong to, and made tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from . import _tf
from ._tensors import Input, densify, flatten, lies_in, refuse_eager, unwrap
from .errors import DtypeError, GraphMismatchError, ShapeError


def symbolic_leaves(given: Any) -> list[tf.Tensor]:
    """The leaves of a structure of vectors that are tensors of a graph."""
    leaves = [leaf.values if isinstance(leaf, tf.IndexedSlices) else leaf for leaf in flatten(given)]
    return [leaf for leaf in leaves if isinstance(leaf, tf.Tensor) and not isinstance(leaf, _tf.EagerTensor)]


def vectors(given: Any, structure: Any, likes: Sequence[Any], name: str) -> list[tf.Tensor]:
    """The leaves of a cotangent or tangent, checked against what they belong to; None becomes zeros.

    Args:
      given: a structure like `structure`; leaves are tensors, arrays, numbers or None.
      structure: ys or xs as the caller gave them.
      likes: their checked leaves, tensors or `Input`s.
      name: the argument's name, for messages.

    Raises:
      ShapeError: the structure or a static shape does not match.
      DtypeError: a dtype does not match.
    """
    try:
        leaves = _tf.flatten_up_to(structure, given, check_types=False)
    except (LookupError, TypeError, ValueError) as error:
        raise ShapeError(f"{name} must have the structure of what it multiplies: {error}") from None
    return labelled([(v, like, f"{name}[{i}]") for i, (v, like) in enumerate(zip(leaves, likes, strict=True))])


def labelled(named: Sequence[tuple[Any, Any, str]]) -> list[tf.Tensor]:
    """Vectors, each checked against what it belongs to, which come with the name for messages; None becomes zeros."""
    checked = [_checked_vector(*leaf) for leaf in named]  # all of them, before the first becomes an op
    return [_vector(v, like, label) for v, (_, like, label) in zip(checked, named, strict=True)]


def _checked_vector(v: Any, like: Any, label: str) -> Any:
    """What was given for one leaf, as a tensor, a variable, slices, an array or None."""
    v = unwrap(v)
    if v is None:
        return None
    dtype = like.dtype.base_dtype
    if not hasattr(v, "dtype") or isinstance(v, (np.ndarray, np.generic)):
        v = _array(v, dtype, label, _called(like))
    elif tf.as_dtype(v.dtype).base_dtype != dtype:
        came = tf.as_dtype(v.dtype).base_dtype.name
        raise DtypeError(f"{label} has dtype {came}, expected {dtype.name} like {_called(like)}")
    else:
        _refuse_foreign(v, label)
    if not like.shape.is_compatible_with(v.shape):
        raise ShapeError(f"{label} has shape {v.shape}, expected {like.shape} like {_called(like)}")
    return v


def _called(like: Any) -> str:
    return like.label if isinstance(like, Input) else like.name


def _vector(v: Any, like: Any, label: str) -> tf.Tensor:
    if v is None:
        return like.zeros() if isinstance(like, Input) else tf.zeros_like(like)
    v = tf.convert_to_tensor(densify(v))
    if v.shape.is_fully_defined() and like.shape.is_fully_defined():
        return v
    return _same_shape(v, like.value() if isinstance(like, Input) else like, label, _called(like))


def _refuse_foreign(v: Any, label: str) -> None:
    """Refuse a vector that is not to be had in the graph that is being built."""
    graph = tf.get_default_graph()
    if not isinstance(graph, _tf.FuncGraph):
        refuse_eager(v, label)
    if hasattr(v, "graph") and not isinstance(v, _tf.EagerTensor) and not lies_in(v.graph, graph):
        raise GraphMismatchError(f"{label} belongs to another graph than ys; build it under the graph of ys")


def _array(v: Any, dtype: tf.DType, label: str, what: str) -> np.ndarray:
    array = np.asarray(v)
    if array.dtype.kind not in ("biufc" if dtype.is_complex else "biuf") and array.dtype.name != "bfloat16":
        raise DtypeError(f"{label} has dtype {array.dtype}, which does not convert to {dtype.name} like {what}")
    return array.astype(dtype.as_numpy_dtype)


def _same_shape(v: tf.Tensor, like: tf.Tensor, label: str, what: str) -> tf.Tensor:
    """`v`, which stops the run if its shape turns out to differ: TensorFlow would broadcast it without a word."""
    message = f"{label} must have the shape of {what}"
    with tf.control_dependencies([tf.debugging.assert_equal(tf.shape(v), tf.shape(like), message=message)]):
        v = tf.identity(v)
    v.set_shape(like.shape.merge_with(v.shape))
    return v
