"""Private copies of V2 control flow and function calls.

`tf.gradients` gives a forward `While`, `If`, `Case` or function call further outputs for its own use. A session that
has already run the op does not see the change and refuses to run it again. So derivatives are taken through a copy of
these ops and of what lies between them and ys; what the caller had stays as it was.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tf, _walk
from ..errors import ControlFlowError
from ._in_context import in_place_of, in_v1_frame
from ._inline import can_inline, inline, inline_within

# Where TensorFlow's gradient code looks for the Python graphs of a functional op: attribute of the op, of the object.
_LOOP = {"cond": "_cond_graph", "body": "_body_graph"}
_BRANCH = {"then_branch": "_true_graph", "else_branch": "_false_graph"}
_BODIES = {"While": _LOOP, "StatelessWhile": _LOOP, "If": _BRANCH, "StatelessIf": _BRANCH}
_CASES = frozenset({"Case", "StatelessCase"})
_V1 = frozenset({"Enter", "RefEnter", "RefSwitch", "Switch"})
MUTATED = frozenset({*_BODIES, *_CASES, "PartitionedCall", "StatefulPartitionedCall"})

# Stateful ops that may run twice: they read, check, print, or hold what only this run sees.
_REPEATABLE = frozenset({
    # they say what a variable, table, queue or checkpoint holds, or which one it is
    "GetSessionTensor", "HashTable", "HashTableV2", "LoadAndRemapMatrix", "LookupTableExportV2", "LookupTableFindV2",
    "LookupTableSizeV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "MutableHashTable",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2", "QueueIsClosedV2", "QueueSizeV2",
    "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Restore", "RestoreSlice", "RestoreV2", "VarHandleOp",
    "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2",
    # they check, print, wait, or tell something of the machine
    "Assert", "CheckNumerics", "CheckNumericsV2", "DebugIdentityV2", "DebugIdentityV3", "DeviceIndex",
    "IsTensorFloat32Enabled", "Print", "PrintV2", "SleepIdentityOp", "SleepOp", "StatelessRandomGetAlg",
    # they make something of their own at each run
    "DeepCopy", "Empty", "GuaranteeConst", "Stack", "StackCloseV2", "StackPopV2", "StackPushV2", "StackV2",
    "TemporaryVariable", "TensorArray", "TensorArrayCloseV3", "TensorArrayConcatV3", "TensorArrayGatherV3",
    "TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayReadV3",
    "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayV2", "TensorArrayV3",
    "TensorArrayWriteV3",
    # what is given to a function, or what a Python function says of it, which TensorFlow's own gradient runs again too
    "EagerPyFunc", "Placeholder", "PyFunc",
})  # fmt: skip


class PrivateCopy:
    """Copies of the ops of a graph that `tf.gradients` would change, and of all that lies between them and ys.

    Function calls are replaced by the ops of their bodies. Where V1 loops or branches would have to be copied nothing
    is; the ops in `recomputed` are to be differentiated through copies that their gradient functions make.
    """

    def __init__(self, between: _walk.Between):
        self._tensors: dict[int, tf.Tensor] = {}
        self._ops: dict[tf.Operation, list[tf.Operation]] = {}
        self.recomputed: list[tf.Operation] = []
        touched = _touched(between)
        if any(map(in_v1_frame, touched)):
            self.recomputed = [op for op in touched if needs_copy(op)]
            return
        for op in touched:
            self._copy(op, [self._tensors.get(id(s), t) for s, t in zip(between.sources.of(op), op.inputs)])

    def of(self, tensors: Iterable[tf.Tensor]) -> list[tf.Tensor]:
        """The tensors, each replaced by its copy if it has one."""
        return [self._tensors.get(id(t), t) for t in tensors]

    def ops(self, ops: Iterable[tf.Operation]) -> list[tf.Operation]:
        """The ops, each replaced by what stands in its place, if anything does."""
        return [new for op in ops for new in self._ops.get(op, [op])]

    def _copy(self, op: tf.Operation, inputs: list[tf.Tensor]) -> None:
        outputs, self._ops[op] = private(op, inputs)
        self._tensors.update((id(old), new) for old, new in zip(op.outputs, outputs))


def _touched(between: _walk.Between) -> list[tf.Operation]:
    """The ops that need a copy, and those behind them."""
    tensors: set[int] = set()
    ops = []
    for op in between.ops:
        if needs_copy(op) or any(id(t) in tensors for t in between.sources.of(op)):
            ops.append(op)
            tensors.update(map(id, op.outputs))
    return ops


def private(
    op: tf.Operation, inputs: list[tf.Tensor], context: Any = None
) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """What computes the outputs of an op on other inputs and may be changed: its outputs and ops, one but for a call.

    Args:
      op: of any type.
      inputs: one for each input of `op`.
      context: the V1 loop or branch to put the copy in.

    Raises:
      ControlFlowError: the op must not run twice.
    """
    refuse_v1_in_bodies(op)
    refuse_side_effects(op)
    if can_inline(op):
        outputs, ops = inline(op, inputs, context)
    else:
        ops = [clone(op, inputs, context)]
        outputs = list(ops[0].outputs)
    for new in ops:
        _name_bodies_afresh(new)
    return outputs, ops


def alias(tensor: tf.Tensor) -> tf.Tensor:
    """The same values, or the same variable or list, under another name: what enters a copy is told apart by it."""
    other = tf.identity(tensor)
    _tf.copy_handle_data(tensor, other)
    return other


def needs_copy(op: tf.Operation) -> bool:
    """True for an op that `tf.gradients` changes under the eyes of a session, and for a function call."""
    return can_inline(op) or (op.type in MUTATED and not isinstance(op.graph, _tf.FuncGraph))


def bodies(op: tf.Operation) -> list[tf.Graph]:
    """The Python graphs of the branches, or of the body, of a private V2 branch or loop."""
    attributes = [name for _, name in _body_attributes(op) if name != "_cond_graph"]
    return [graph for graph in (getattr(op, name, None) for name in attributes) if graph is not None]


def clone(op: tf.Operation, inputs: list[tf.Tensor], context: Any = None) -> tf.Operation:
    """An op like `op` that reads `inputs`, with the same attributes, device and control inputs, in a V1 `context`."""
    with in_place_of(op, context):
        copied = op.graph.create_op(
            op.type,
            inputs,
            [t.dtype for t in op.outputs],
            name=op.name.rsplit("/", 1)[-1],
            attrs=dict(op.node_def.attr),
        )
    copied._set_device(op.device)
    copied._gradient_function = op._gradient_function
    for old, new in zip(op.outputs, copied.outputs):
        new.set_shape(old.shape)
        _tf.copy_handle_data(old, new)
    return copied


def _name_bodies_afresh(op: tf.Operation) -> None:
    """Give the op, and those nested in it, Python graphs of their own under names that nothing else bears.

    TensorFlow rewrites a body under its name with a suffix, and functions are shared by all graphs of the process: the
    bodies of two copies would clash.
    """
    for attribute, cache in _body_attributes(op):
        shapes = op.inputs[1:] if cache not in _LOOP.values() else op.outputs
        body = _tf.function_graph(op, [t.shape for t in shapes], attribute.name)
        body.name = f"{attribute.name}_copy_{_tf.uid()}"
        setattr(op, cache, body)
        inline_within(body)
        for inner in body.get_operations():
            if inner.type in MUTATED:
                _name_bodies_afresh(inner)


def _body_attributes(op: tf.Operation) -> list[tuple[Any, str]]:
    """The function attributes of a loop or branch, each with the name under which its Python graph is kept."""
    if op.type in _CASES:
        return [(f, f"_branch_graph_{i}") for i, f in enumerate(op.get_attr("branches"))]
    return [(op.get_attr(name), cache) for name, cache in _BODIES.get(op.type, {}).items()]


def refuse_side_effects(op: tf.Operation) -> None:
    """A copy runs beside the original: what draws random numbers or changes state must not run twice."""
    for op_type, where in _stateful(op):
        if op_type not in _REPEATABLE:
            raise ControlFlowError(
                f"{op.type} {op.name!r} contains the stateful op {where!r} ({op_type}), and its derivative needs a "
                "second run of the op. Draw random numbers with tf.random.stateless_*, or draw them and change state "
                "outside of the loop, branch or function"
            )


def refuse_v1_in_bodies(op: tf.Operation) -> None:
    """A loop or branch of V1 in the body of one of V2 cannot be differentiated, neither by TensorFlow nor here."""
    if op.type in _BODIES or op.type in _CASES:
        for node in _in_functions(op):
            if node.op in _V1:
                raise ControlFlowError(
                    f"{op.type} {op.name!r} has V1 control flow in its body ({node.op} {node.name!r}), through which "
                    "no derivative goes. A Jacobian through V1 loops has it if it is computed in blocks: let "
                    "block_size be all of its rows or columns, or take products with symgrad.hvp, Lop and Rop instead"
                )


def _stateful(op: tf.Operation) -> Iterator[tuple[str, str]]:
    """(type, name) of the op if it is stateful itself, and of every stateful op in the functions that it calls."""
    if op.type not in MUTATED and op.op_def is not None and op.op_def.is_stateful:
        yield op.type, op.name
    for node in _in_functions(op):
        if node.op not in MUTATED and _tf.is_stateful(node.op):
            yield node.op, node.name


def _in_functions(op: tf.Operation) -> Iterator[Any]:
    """The nodes of the functions that `op` calls, and of those that these call."""
    todo = list(_called(op.node_def.attr.values()))
    seen = set()
    while todo:
        name = todo.pop()
        function = None if name in seen else _tf.function_in(op.graph, name)
        seen.add(name)
        for node in function.node_def if function else ():
            todo.extend(_called(node.attr.values()))
            yield node


def _called(attributes) -> Iterator[str]:
    for value in attributes:
        if value.HasField("func"):
            yield value.func.name
        yield from (f.name for f in value.list.func)
