"""What is computed from the rows of a batch, computed anew from single rows; what couples the rows is refused."""

from collections.abc import Container, Sequence

import tensorflow.compat.v1 as tf

from .. import _tf, _walk
from .._control_flow import own_bodies, refuse_side_effects
from .._op_types import BRANCHES, LOOPS, RANDOM
from .._sizes import known_along, known_sizes
from .._tensors import is_floating
from .._where import made_at
from ..errors import ControlFlowError, DisconnectedError, ShapeError
from ._forward_copies import Copies

_OF_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})
_OTHERWISE = "Take symgrad.jacobian, which takes y as it is"


class Examples:
    """y[b] from row b of the tensors that have a row for each example.

    What depends on the rows is copied and reads one row. Random numbers that are drawn for a whole batch count as such
    tensors: each example has those that y has. Numbers that only depend on the size of the batch stay as they are.

    Args:
      y: tensor [B, ...].
      rows: the tensors [B, ...].

    Raises:
      DisconnectedError: y depends on none of them.
      ShapeError: y or one of them has no rows, or they have different numbers of them; an op couples the examples.
      ControlFlowError: an op that would have to be copied changes a state.
    """

    def __init__(self, y: tf.Tensor, rows: Sequence[tf.Tensor]):
        self._y, self.size = y, _batch(y, rows)
        leading = set(_walk.ancestors([y], every=True))
        touched = dict.fromkeys(op for op in _walk.readers(rows) if op in leading)
        readers = _walk.readers(rows, lambda op: op.type not in _OF_SHAPES)
        by_value = {op for op in readers if op in touched and op.type not in _OF_SHAPES}
        if y.op not in touched and all(y is not row for row in rows):
            raise DisconnectedError(f"{y.name} depends on none of rows ({', '.join(r.name for r in rows)})")
        by_shape = [op for op in touched if op not in by_value]
        drawn = [op.outputs[0] for op in by_shape if _draws(op) and op.outputs[0].shape.rank != 0]
        self._rows = [*rows, *drawn]
        self._by_value, self._certain = by_value, False
        self._copied = touched.keys() - {op for op in by_shape if _is_number(op)} - {t.op for t in drawn}
        for op in self._copied:
            _refuse_state(op)
        _refuse_coupling(y, [op for op in touched if op in by_value], self._copied, self.size)

    @property
    def in_v1_control_flow(self) -> bool:
        """True if ops in V1 loops or branches would have to be copied, which the vectoriser does not enter."""
        return any(op._get_control_flow_context() is not None for op in self._copied)

    def depends(self, tensor: tf.Tensor) -> bool:
        """True for a tensor that is computed from the rows."""
        return tensor.op in self._by_value or any(tensor is row for row in self._rows)

    def at(self, indices: tf.Tensor, *, waiting: bool = True) -> tf.Tensor:
        """y computed from the rows with these indices alone, [len(indices), ...] unless something is left out of rows.

        Args:
          indices: int32 [any].
          waiting: whether the copies wait for what the ops wait for.

        Raises:
          ShapeError: something that is no part of `rows` has a row for each example, or the graph keeps their number.
        """
        chosen = [(row, tf.gather(row, indices)) for row in self._rows]
        copies = Copies(lambda op: op not in self._copied, chosen, resized=True, waiting=waiting)
        try:
            (found,) = copies.of([self._y], "example")
        except ValueError as error:  # TensorFlow's shape functions
            raise ShapeError(f"{self._left_out()} ({error})") from None
        for op, copy in copies.made.items():
            if op.type in LOOPS | BRANCHES:  # a gradient changes them, by the names of their bodies
                own_bodies(copy)
        if not found.shape[1:].is_compatible_with(self._y.shape[1:]) or found.shape.rank == 0:
            raise ShapeError(f"{self._left_out()} ({found.shape} from one row)")
        wanted, came = known_along(indices.shape, 0), known_along(found.shape, 0)
        if None not in (wanted, came) and wanted != came:
            raise ShapeError(f"{self._left_out()} ({came} rows from {wanted})")
        return found

    def try_one(self) -> None:
        """Compute one row in a scratch graph, so that a refusal leaves nothing behind.

        Raises:
          ShapeError: as for `at`.
        """
        with _tf.FuncGraph("trial").as_default():
            self._certain = known_along(self.at(tf.range(1), waiting=False).shape, 0) is not None

    def complete(self, indices: tf.Tensor) -> tf.Tensor:
        """The indices, once it is certain that one row gives one row: the run stops where it does not."""
        if self._certain:
            return indices
        with tf.name_scope("check"):
            one = tf.minimum(1, tf.size(indices))
            came = tf.shape(self.at(tf.range(one)))[0]
            check = tf.raw_ops.Assert(condition=tf.equal(came, one), data=[self._left_out(), came])
        with tf.control_dependencies([check]):
            return tf.identity(indices)

    def _left_out(self) -> str:
        """What to do where one row does not give one row."""
        read = {id(t): t for op in self._copied for t in op.inputs if t.op not in self._copied}
        others = [t for t in read.values() if _may_have_rows(t, self.size) and all(t is not row for row in self._rows)]
        named = f" Candidates for rows: {', '.join(t.name for t in others[:4])}." if others else ""
        return (
            f"{self._y.name} from one row of {', '.join(row.name for row in self._rows)} has not one row: either rows "
            "lacks a tensor that has a row for each example, such as the targets, or the graph was built with the "
            "number of examples as a constant, which gradient ops keep: then make the batch a "
            f"tf.placeholder_with_default(array, [None, ...]).{named}"
        )


def _batch(y: tf.Tensor, rows: Sequence[tf.Tensor]) -> int | None:
    """How many examples there are, if that is known."""
    size = tf.TensorShape([None])
    for t in (y, *rows):
        if t.shape.rank is None:
            raise ShapeError(f"{t.name} has unknown rank; call set_shape on it, its first dimension is the batch")
        if t.shape.rank == 0:
            raise ShapeError(f"{t.name} is a scalar; wanted a shape [B, ...] with the examples first")
        if not size.is_compatible_with(t.shape[:1]):
            raise ShapeError(f"{t.name} has shape {t.shape}, others have {known_along(size, 0)} rows; wanted as many")
        size = size.merge_with(t.shape[:1])
    return known_along(size, 0)


def _draws(op: tf.Operation) -> bool:
    return op.type in RANDOM or op.type.startswith(("StatelessRandom", "StatelessTruncated"))


def _is_number(op: tf.Operation) -> bool:
    """True for a floating scalar, such as one over the size of the batch."""
    return any(is_floating(t) and t.shape.rank == 0 for t in op.outputs)


def _may_have_rows(tensor: tf.Tensor, size: int | None) -> bool:
    if tensor.dtype in (tf.resource, tf.variant) or tensor.shape.rank == 0:
        return False
    first = None if tensor.shape.rank is None else known_along(tensor.shape, 0)
    return first is None or (size is not None and first == size > 1)


def _refuse_state(op: tf.Operation) -> None:
    try:
        refuse_side_effects(op)
    except ControlFlowError as error:
        raise ControlFlowError(f"{error}. {_OTHERWISE}") from None


def _refuse_coupling(
    y: tf.Tensor, ops: Sequence[tf.Operation], copied: Container[tf.Operation], size: int | None
) -> None:
    """Raise for an op whose result for one example depends on others: batch norm in training, a mean over the batch.

    It is seen by a result without a dimension for the batch. Other ways of coupling are found as the graph runs, by
    values that differ.
    """
    for op in ops:
        if op.type.startswith("FusedBatchNorm") and "Grad" not in op.type and op.get_attr("is_training"):
            raise ShapeError(_coupling(op, "normalises by the mean and variance of the batch"))
        if any(attr.HasField("func") or attr.list.func for attr in op.node_def.attr.values()):
            continue  # a loop, branch or call, of whose outputs some may be the same for all rows
        for t in op.outputs:
            used = t is y or any(reader in copied for reader in t.consumers())
            if used and is_floating(t) and not _carries(t, size):
                raise ShapeError(_coupling(op, f"gives {t.name} of shape {t.shape}, which has no row for each of them"))


def _carries(tensor: tf.Tensor, size: int | None) -> bool:
    """Whether a tensor may have a number for each example."""
    sizes = known_sizes(tensor.shape)
    if tensor.shape.rank is None or None in sizes:
        return True
    return size is not None and (size < 2 or any(n is not None and n % size == 0 for n in sizes))


def _coupling(op: tf.Operation, how: str) -> str:
    return f"{op.type} {op.name!r} ({made_at(op) or 'of a file'}) couples the examples: it {how}. {_OTHERWISE}"
