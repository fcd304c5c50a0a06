"""How often loops turn at most: XLA has to know how much is pushed onto a stack before it runs.

A bound that is too small drops what does not fit, without a word. So it is one that follows from how the loop counts,
or there is none. It may be too large: what was pushed is popped one by one.
"""

import enum
from collections.abc import Collection, Iterator
from typing import Any, TypeAlias

import tensorflow.compat.v1 as tf

from .. import _walk
from .._bodies import bodies
from .._op_types import ENTERS, LOOPS, NEXT_ITERATIONS, STACK_POPS, STACK_PUSHES, SWITCHES

# A number, or a tensor outside of the loop.
Turns: TypeAlias = int | tf.Tensor
# What adds up to a bound; tensors follow from shapes.
Bound: TypeAlias = tuple[Turns, ...]
# Which input of the op is the most that it may hold.
LIMITED = {"StackV2": 0, "EmptyTensorList": 1}
# Which inputs of what makes an array or list of a given length XLA has to know.
_SIZES: dict[str, tuple[int, ...]] = {
    "TensorArrayV3": (0,),
    "TensorListFromTensor": (),
    "TensorListReserve": (0, 1),
    "TensorListSplit": (),
}
_COUNTS_UP = frozenset({"Add", "AddV2"})
_COMPARES = frozenset({"Greater", "GreaterEqual", "Less", "LessEqual"})
_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})
# What may lead from shapes to a size.
_ARITHMETIC = frozenset({
    "Add", "AddV2", "Cast", "ConcatV2", "ExpandDims", "FloorDiv", "GatherV2", "Identity", "Maximum", "Minimum", "Mul",
    "Pack", "Prod", "Reshape", "Slice", "Squeeze", "StridedSlice", "Sub",
})  # fmt: skip
# What gives a number of a run that an iteration kept or made.
_KEPT = frozenset({"TensorListGetItem", "TensorListPopBack", "TensorListLength"}) | STACK_POPS | NEXT_ITERATIONS
# What passes on a list as it is or with one element more or less, input by input.
_CHANGING = frozenset({"TensorListPopBack", "TensorListPushBack"})
_PASSING = _CHANGING | ENTERS | SWITCHES | LOOPS | {"Identity", "ZerosLike"}


# Inputs that XLA has to know when it compiles, of those ops that gradients of loops give shapes from a stack or list.
_NEEDED = {
    "BroadcastGradientArgs": (0, 1), "BroadcastTo": (1,), "Conv2DBackpropFilter": (1,), "Conv2DBackpropInput": (0,),
    "Conv3DBackpropFilterV2": (1,), "Conv3DBackpropInputV2": (0,), "Empty": (0,), "Fill": (0,), "Pad": (1,),
    "PadV2": (1,), "Range": (0, 1, 2), "Reshape": (1,), "ScatterNd": (2,), "Split": (0,), "SplitV": (1, 2),
    "StridedSliceGrad": (0,), "Sum": (1,), "Tile": (1,), "UnsortedSegmentSum": (2,),
}  # fmt: skip


def follows_from_shapes(tensor: tf.Tensor, inside: Collection[tf.Operation]) -> bool:
    """True if a number is known as soon as the shapes of the arguments are, so that XLA knows it when it compiles."""
    todo = [tensor.op]
    for op in todo:
        if op.type == "Const":
            continue
        if op not in inside or op.type not in _ARITHMETIC | _SHAPES or op._get_control_flow_context() is not None:
            return False
        todo += [] if op.type in _SHAPES else [t.op for t in op.inputs]
    return True


def asks_a_stack(op: tf.Operation) -> bool:
    """True if XLA has to know an input when it compiles that comes from a stack or list, or out of a loop."""
    return any(_from_stack(op.inputs[i]) for i in _NEEDED.get(op.type, ()))


def _from_stack(tensor: tf.Tensor) -> bool:
    todo, seen = [tensor.op], set()
    while todo:
        op = todo.pop()
        if op.type in _KEPT:
            return True
        if op not in seen and op.type not in _SHAPES:
            seen.add(op)
            todo += [t.op for t in op.inputs]
    return False


def holds(op_type: str) -> bool:
    """True for the ops that make a stack, an array or a list."""
    return op_type in LIMITED or op_type in _SIZES


def fits(op: tf.Operation) -> bool:
    """False for what makes a stack, an array or a list in a body, of which it does not say there how much it holds."""
    inside = op.graph.get_operations() if holds(op.type) else ()
    if op.type in LIMITED:
        return _given(op) is not None and _is_only_pushed_and_popped(op)
    return op.type not in _SIZES or _has_known_length(op, inside)


def bound(op: tf.Operation, inside: Collection[tf.Operation]) -> Bound | None:
    """How much a stack, array or list made by `op` holds at most; None if XLA will not know.

    `inside` are the ops that are compiled with it.
    """
    if op.type in _SIZES:
        return () if _has_known_length(op, inside) else None
    if op.type != "StackV2" and not _is_only_pushed_and_popped(op):
        return None
    given = _given(op)
    if given is not None:
        return (given,)
    found = _of_stack(op) if op.type == "StackV2" else _of_list(op)
    terms = [turns for turns in found if turns is not None]
    known = all(isinstance(turns, int) or follows_from_shapes(turns, inside) for turns in terms)
    return tuple(terms) if terms and known and len(terms) == len(found) else None


def _has_known_length(op: tf.Operation, inside: Collection[tf.Operation]) -> bool:
    """True for an array or list of a length that XLA knows and that stays."""
    return all(follows_from_shapes(op.inputs[i], inside) for i in _SIZES[op.type]) and not _changes_length(op)


def _given(op: tf.Operation) -> int | None:
    value = tf.get_static_value(op.inputs[LIMITED[op.type]])
    return int(value) if value is not None and value >= 0 else None


def _of_stack(stack: tf.Operation) -> list[Turns | None]:
    """Of each op that pushes: of the innermost loop around it, times those around that."""
    pushes = [op for op, _ in _readers(stack.outputs[0]) if op.type in STACK_PUSHES]
    contexts = [op._get_control_flow_context() for op in pushes]
    return [_turns_of_v1(c) if c is not None and c.GetWhileContext() is not None else None for c in contexts]


def _of_list(empty: tf.Operation) -> list[Turns | None]:
    """Of each op and loop that pushes."""
    found: list[Turns | None] = []
    for op, index in _readers(empty.outputs[0]):
        if op.type in LOOPS:
            change = _change(op, index)
            found += [_turns_of_v2(op)] if change is _Change.PUSHES else [None] if change is _Change.OTHER else []
        elif op.type == "TensorListPushBack":
            found.append(_turns_of_v1(op._get_control_flow_context()))
    return found


def _is_only_pushed_and_popped(empty: tf.Operation) -> bool:
    """False for a list that is stacked or asked how long it is: it would be as long as its bound."""
    return all(op.type in _PASSING for op, _ in _readers(empty.outputs[0]))


def _changes_length(made: tf.Operation) -> bool:
    """True for a list of a given length that is pushed onto or popped from: for XLA it keeps its length."""
    readers = _readers(made.outputs[0])
    return any(op.type in _CHANGING or (op.type in LOOPS and _change(op, i) is not _Change.NONE) for op, i in readers)


class _Change(enum.Enum):
    """What an iteration does to the length of a list."""

    NONE = enum.auto()
    PUSHES = enum.auto()
    POPS = enum.auto()
    OTHER = enum.auto()


def _change(loop: tf.Operation, index: int) -> _Change:
    body = bodies(loop)[1].graph
    made, given = _source(body.outputs[index]), body.inputs[index]
    while made.op.type == "TensorListSetItem":
        made = _source(made.op.inputs[0])
    if made is given:
        return _Change.NONE
    known = {"TensorListPushBack": _Change.PUSHES, "TensorListPopBack": _Change.POPS}.get(made.op.type, _Change.OTHER)
    return known if known is _Change.OTHER or _source(made.op.inputs[0]) is given else _Change.OTHER


def _readers(tensor: tf.Tensor) -> Iterator[tuple[tf.Operation, int]]:
    """The ops that read a list or stack, directly or through what passes it on, and by which input."""
    todo = [tensor]
    seen = set()
    while todo:
        read = todo.pop()
        for op in read.consumers():
            for index in [i for i, t in enumerate(op.inputs) if t is read and (op, i) not in seen]:
                seen.add((op, index))
                yield op, index
                todo += _passed_on(op, index)


def _passed_on(op: tf.Operation, index: int) -> list[tf.Tensor]:
    if op.type in LOOPS:
        return [op.outputs[index]]
    if op.type not in _PASSING:
        return []
    return list(op.outputs[:1] if op.type.startswith("TensorList") else op.outputs)


def _turns_of_v1(context: Any) -> Turns | None:
    loop = context and context.GetWhileContext()
    if loop is None:
        return 1
    own, outer = _counted(loop), loop.outer_context
    if outer is None or outer.GetWhileContext() is None:
        return own
    around = _turns_of_v1(outer)
    return own * around if isinstance(own, int) and isinstance(around, int) else None


def _counted(loop: Any) -> Turns | None:
    """How often a V1 loop turns each time that it is entered."""
    if loop.maximum_iterations is not None:
        return _value(loop.maximum_iterations)
    found = [turns for test in _conjuncts(loop.pivot.op.inputs[0]) if (turns := _counts_v1(test)) is not None]
    return _least(found)


def _counts_v1(test: tf.Operation) -> Turns | None:
    """The bound from one condition, `number < limit`, of a number that each turn adds a constant to."""
    if test.type not in _COMPARES:
        return None
    low, high = (_source(t) for t in (test.inputs if test.type.startswith("Less") else reversed(test.inputs)))
    if low.op.type != "Merge" or high.op.type not in ("Const", "Enter") or len(low.op.inputs) != 2:
        return None
    if high.op.type == "Enter" and not high.op.get_attr("is_constant"):
        return None
    entered, back = low.op.inputs
    step = _source(back.op.inputs[0]) if _walk.is_back_edge(low.op, back) else None
    if step is None or step.op.type not in _COUNTS_UP or entered.op.type != "Enter":
        return None
    amount = _amount(step.op, lambda t: t.op.type in SWITCHES and _source(t.op.inputs[0]) is low)
    limit = high.op.inputs[0] if high.op.type == "Enter" else high
    return _trips(entered.op.inputs[0], limit, amount, inclusive=test.type.endswith("Equal"))


def _turns_of_v2(loop: tf.Operation) -> Turns | None:
    condition, body = (b.graph for b in bodies(loop))
    found = [
        turns
        for test in _conjuncts(condition.outputs[0])
        if (turns := _counts_v2(test, loop, (condition, body))) is not None
    ]
    return _least(found)


def _counts_v2(test: tf.Operation, loop: tf.Operation, graphs: tuple[Any, Any]) -> Turns | None:
    if test.type not in _COMPARES:
        return None
    condition, body = graphs
    low, high = (_source(t) for t in (test.inputs if test.type.startswith("Less") else reversed(test.inputs)))
    number, limit = _place(low, condition), _place(high, condition)
    if number is None or (limit is None and high.op.type != "Const"):
        return None
    step = _source(body.outputs[number])
    if step.op.type not in _COUNTS_UP:
        return None
    if limit is not None and _source(body.outputs[limit]) is not body.inputs[limit]:
        return None
    amount = _amount(step.op, lambda t: t is body.inputs[number])
    most = high if limit is None else loop.inputs[limit]
    return _trips(loop.inputs[number], most, amount, inclusive=test.type.endswith("Equal"))


def _place(tensor: tf.Tensor, graph: Any) -> int | None:
    return next((i for i, t in enumerate(graph.inputs) if t is tensor), None)


def _amount(addition: tf.Operation, is_number: Any) -> int | None:
    """What an addition adds to the number: a whole constant above 0."""
    pairs = [tuple(map(_source, addition.inputs)), tuple(map(_source, reversed(addition.inputs)))]
    for number, amount in pairs:
        value = tf.get_static_value(amount) if amount.op.type == "Const" and amount.dtype.is_integer else None
        if is_number(number) and value is not None and value.ndim == 0 and value > 0:
            return int(value)
    return None


def _trips(begin: tf.Tensor, limit: tf.Tensor, amount: int | None, *, inclusive: bool) -> Turns | None:
    first, last = tf.get_static_value(begin), _value(limit)
    if amount is None or first is None or not begin.dtype.is_integer:
        return None
    if isinstance(last, int):
        return max(0, -(-(last + inclusive - int(first)) // amount))
    return last if int(first) >= 0 and not inclusive else None  # at most as many as up to the limit, one by one


def _conjuncts(tensor: tf.Tensor) -> list[tf.Operation]:
    op = _source(tensor).op
    return [one for t in op.inputs for one in _conjuncts(t)] if op.type == "LogicalAnd" else [op]


def _source(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _value(tensor: Any) -> Turns:
    value = tf.get_static_value(tensor) if tf.is_tensor(tensor) else tensor
    return tensor if value is None else int(value)


def _least(bounds: list[Turns]) -> Turns | None:
    numbers = [n for n in bounds if isinstance(n, int)]
    return min(numbers) if numbers else next(iter(bounds), None)
