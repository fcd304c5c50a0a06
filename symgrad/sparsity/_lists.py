"""Lists and arrays of tensors: on which xs their items depend, as they are written and read."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf

from ._probe import size_of
from ._reach import Reach


@dataclass(frozen=True, eq=False)
class Items:
    """What the items of a list depend on. Those that come after the last one that was written do not move.

    Attributes:
      reach: of the elements of all items, one item after the other; if `folded`, of one that stands for any of them.
      size: how many elements an item has; 0 if items differ: then `reach` is of one element that stands for all.
      folded: see `reach`.
    """

    reach: Reach
    size: int
    folded: bool = False

    @classmethod
    def of(cls, given: Reach | Items) -> Items:
        """As a list; of a reach where something was coarse, all items depend on all of it."""
        return given if isinstance(given, Items) else cls(given.dense(1), 0, True)

    @property
    def entries(self) -> int:
        """How many entries the pattern of what is known of the items has."""
        return self.reach.entries

    def mixed(self) -> Items:
        """Any element of any item depends on all that any depends on."""
        return Items(self.reach.dense(1), 0, True)

    def any(self) -> Items:
        """Each item depends on what any of them does, element by element."""
        if self.folded:
            return self
        return Items(self.reach.grouped(np.arange(self.reach.size) % self.size, self.size), self.size, True)

    def read(self, index: np.ndarray | None, size: int) -> Reach:
        """The reach of a tensor of `size` elements, the items of these numbers; of all in turn, if they are unknown."""
        if not self.size or size % self.size:
            return self.mixed().reach.take(np.zeros(size, int))
        if self.folded or index is None:
            return self.any().reach.take(np.arange(size) % self.size)
        places = (np.ravel(index)[:, None] * self.size + np.arange(self.size)).ravel()
        return self.reach.take(np.where(places < self.reach.size, places, -1))

    def written(self, index: np.ndarray | None, value: Reach, added: bool) -> Items:
        """The list with `value` as the items of these numbers, or as any of them; `added` to what is there, or not."""
        count = 1 if index is None else np.size(index)
        size = value.size // max(count, 1)
        if size == 0 or size * count != value.size or self.size not in (0, size) or (self.size == 0 and self.entries):
            return self.mixed() | Items(value, 0).mixed()
        if index is None or self.folded:
            return Items(self.reach, size, self.folded).any() | Items(value, size).any()
        places = (np.ravel(index)[:, None] * size + np.arange(size)).ravel()
        length = max(self.reach.size, int(places.max(initial=-1)) + 1)
        moved = np.full(length, -1)
        moved[places] = np.arange(value.size)
        stay = np.arange(length)
        stay[self.reach.size :] = -1
        if not added:
            stay[places] = -1
        return Items(self.reach.take(stay) | value.take(moved), size)

    def __or__(self, other: Reach | Items) -> Items:
        other = Items.of(other)
        if self.size != other.size:
            return Items(self.mixed().reach | other.mixed().reach, 0, True)
        if self.folded != other.folded:
            return self.any() | other.any()
        length = max(self.reach.size, other.reach.size)
        a, b = (r.take(np.where(np.arange(length) < r.size, np.arange(length), -1)) for r in (self.reach, other.reach))
        return Items(a | b, self.size, self.folded)

    __ror__ = __or__

    def same(self, other: Reach | Items) -> bool:
        """Whether both say the same."""
        if not isinstance(other, Items) or (self.size, self.folded) != (other.size, other.folded):
            return False
        return self.reach.same(other.reach)


Moving = Mapping[int, "Reach | Items"]
Known = Callable[[tf.Tensor], "np.ndarray | None"]
# From the op, what of its inputs moves, and what tells values, to the reach of each output.
Rule = Callable[[tf.Operation, Moving, Known], "list[Reach | Items | None]"]
LISTS: dict[str, Rule] = {}


def _rule(*op_types: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        LISTS.update(dict.fromkeys(op_types, rule))
        return rule

    return register


def _nothing(like: Reach | Items) -> Items:
    reach = like.reach if isinstance(like, Items) else like
    return Items(reach.take(np.zeros(0, int)), 0)


def _into(op, moving, places, known, added) -> list[Items | None]:
    """Behind an op that writes the value into the items of the list that the numbers tell: `places` of these inputs."""
    items, numbers, value = places
    like = next(iter(moving.values()))
    given = Items.of(moving[items]) if items in moving else _nothing(like)
    if op.inputs[value].dtype == tf.variant:  # a list of lists
        return [given.mixed() | Items.of(moving[value]).mixed() if value in moving else given.mixed()]
    written = moving[value] if value in moving else _nothing(like).reach.take(np.full(size_of(op.inputs[value]), -1))
    index = None if numbers is None else known(op.inputs[numbers])
    assert isinstance(written, Reach)
    return [given.written(index, written, added)]


@_rule("TensorListSetItem")
def _set_item(op, moving, known):
    return _into(op, moving, (0, 1, 2), known, False)


@_rule("TensorListPushBack")
def _push_back(op, moving, known):
    return _into(op, moving, (0, None, 1), known, True)


@_rule("TensorArrayWriteV3", "TensorArrayScatterV3")
def _array_write(op, moving, known):
    return _into(op, moving, (3, 1, 2), known, True)  # arrays of gradients add up


@_rule("TensorListGetItem", "TensorListGather")
def _get_item(op, moving, known):
    return [_out(op.outputs[0], Items.of(moving[0]), known(op.inputs[1]))] if 0 in moving else [None]


@_rule("TensorArrayReadV3", "TensorArrayGatherV3")
def _array_read(op, moving, known):
    return [Items.of(moving[2]).read(known(op.inputs[1]), size_of(op.outputs[0]))] if 2 in moving else [None]


@_rule("TensorListStack", "TensorListConcat", "TensorListConcatV2")
def _stack(op, moving, known):
    items, size = Items.of(moving[0]), size_of(op.outputs[0])
    whole = items.read(np.arange(size // items.size) if items.size else None, size)
    return [whole, None][: len(op.outputs)]


@_rule("TensorListPopBack")
def _pop_back(op, moving, known):
    items = Items.of(moving[0]).any()
    return [items, _out(op.outputs[1], items, None)]


def _out(tensor, items, index):
    """What is read, which may be a list itself."""
    return items.mixed() if tensor.dtype == tf.variant else items.read(index, size_of(tensor))


@_rule("TensorListFromTensor")
def _from_tensor(op, moving, known):
    value, count = moving[0], op.inputs[0].shape.as_list()[0]
    assert isinstance(value, Reach)
    return [Items(value, value.size // count) if count and value.size else Items.of(value)]


@_rule("TensorListResize")
def _resize(op, moving, known):
    return [moving.get(0)]


@_rule("StackPop", "StackPopV2")
def _pop(op, moving, known):
    """What was pushed comes as inputs after the handle: any of it."""
    return [functools.reduce(operator.or_, moving.values())]


@_rule("OptionalFromValue", "OptionalGetValue")
def _optional(op, moving, known):
    """What branches of V2 keep for their gradients; of several values together, all."""
    if len(op.inputs) == len(op.outputs) == 1:
        return [moving.get(0)]
    whole = functools.reduce(operator.or_, (Items.of(r).mixed() for r in moving.values()))
    return [whole if t.dtype == tf.variant else whole.read(None, size_of(t)) for t in op.outputs]
