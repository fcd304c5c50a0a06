"""Many tangents through one op at once, stacked along a new first dimension."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from .. import _tf, _vjp
from .._pfor import NotVectorisedError, strict_pfor
from .._sizes import Count, stacked
from . import _single_op


def through(
    op: tf.Operation, tangents: _single_op.Tangents, needed: Sequence[bool], *, count: Count, instead: _vjp.Instead
) -> _single_op.Tangents:
    """The stacked tangents of the outputs of `op` from those of its inputs.

    The op's own rule, or its double VJP, is rewritten by TensorFlow's vectoriser. Only what depends on a tangent is;
    what the rule computes from the values is computed once.
    """
    if all(is_single(t) for t in tangents if t is not None):
        return _single_op.through(op, tangents, needed, instead=instead)
    present: list[bool] = []

    def one(j):
        chosen = [None if t is None else tf.gather(t, j) for t in tangents]
        found = _single_op.through(op, chosen, needed, instead=instead)
        present[:] = [t is not None for t in found]
        return [t for t in found if t is not None]

    found = iter(strict_pfor(one, count))
    pushed = [next(found) if p else None for p in present]
    for tangent, output in zip(pushed, op.outputs, strict=True):
        if tangent is not None and tangent.dtype.base_dtype == output.dtype.base_dtype:
            tangent.set_shape(stacked(count, output.shape))
    return pushed


def zeros(tensor: tf.Tensor, count: Count) -> tf.Tensor:
    """Stacked zeros for the tangent of `tensor`, alive where and when it is.

    A list of zeros is a list that nothing was written to: reading gives zeros.
    """
    if tensor.dtype == tf.variant:
        length = tf.raw_ops.TensorListLength(input_handle=tensor)
        dtype = _tf.handle_dtype(tensor)
        if dtype is None:
            raise NotVectorisedError(f"{tensor.name} does not tell what it is a list of")
        return tf.raw_ops.TensorListReserve(element_shape=-1, num_elements=length, element_dtype=dtype)
    like = tf.broadcast_to(tensor, tf.concat([[count], tf.shape(tensor)], 0))
    like.set_shape(stacked(count, tensor.shape))
    return tf.raw_ops.ZerosLike(x=like)


def is_single(tangent: tf.Tensor) -> bool:
    """True for what goes beside stacked tangents without being one: the flow or the handle of an array or a list."""
    return tangent.shape.rank == 0 or tangent.dtype in (tf.resource, tf.variant)


def swapped(tensor: tf.Tensor) -> tf.Tensor:
    """The first two dimensions exchanged: tangents of stacked elements, elements of stacked tangents."""
    rank = tensor.shape.rank
    rest = tf.range(2, tf.rank(tensor)) if rank is None else list(range(2, rank))
    return tf.transpose(tensor, tf.concat([[1, 0], rest], 0) if rank is None else [1, 0, *rest])


def widened(tensor: tf.Tensor, tangent: tf.Tensor, count: Count | None) -> tf.Tensor:
    """A tangent of size one along some dimensions, in the whole shape of its tensor; an op only where it may differ."""
    want = tensor.shape
    skipped = 0 if count is None else 1
    if want.rank is None or tangent.shape.rank is None or tangent.dtype.base_dtype != tensor.dtype.base_dtype:
        return tangent
    have, sizes = tangent.shape.as_list()[skipped:], want.as_list()
    if len(have) == len(sizes) and all(h != 1 or w == 1 for h, w in zip(have, sizes, strict=True)):
        return tangent
    shape = sizes if None not in sizes else tf.shape(tensor)
    shape = shape if count is None else tf.concat([[count], shape], 0)
    full = tf.broadcast_to(aligned(tangent, len(sizes), count), shape)
    full.set_shape(want if count is None else stacked(count, want))
    return full


def aligned(tangent: tf.Tensor, rank: int, count: Count | None) -> tf.Tensor:
    """A tangent with ones before its dimensions, behind that of the stack, so that it broadcasts as its tensor does."""
    skipped = 0 if count is None else 1
    missing = rank - (tangent.shape.rank - skipped)
    if missing == 0:
        return tangent
    index = (slice(None), *[tf.newaxis] * missing) if skipped else (*[tf.newaxis] * missing, ...)
    return tangent[index]


def each(function, values: Sequence[tf.Tensor], flags: Sequence[bool], count: Count) -> list[tf.Tensor]:
    """The results of a function of tensors for each of those that are stacked, which have a flag, stacked again."""

    def one(j):
        return function([tf.gather(t, j) if flag else t for t, flag in zip(values, flags, strict=True)])

    try:
        return strict_pfor(one, count)
    except ValueError:
        if not isinstance(count, int):
            raise
        return [
            tf.stack(parts) for parts in zip(*(one(r) for r in range(count)), strict=True)
        ]  # no vectoriser for some op
