"""What the bodies of V2 ops hold that must not run twice, or that no derivative passes."""

from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _files, _tf
from .._bodies import runs_bodies
from .._op_types import BRANCHES, FUNCTIONAL, LOOPS, V1_ENTRIES
from ..errors import ControlFlowError

# Stateful ops that may run twice: they read, check, print, or hold what only this run sees.
REPEATABLE = frozenset({
    # they say what a variable, table, queue or checkpoint holds, or which one it is
    "GetSessionTensor", "HashTable", "HashTableV2", "LoadAndRemapMatrix", "LookupTableExportV2", "LookupTableFindV2",
    "LookupTableSizeV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "MutableHashTable",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2", "QueueIsClosedV2", "QueueSizeV2",
    "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Restore", "RestoreSlice", "RestoreV2", "VarHandleOp",
    "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2",
    # filling a table with what it holds already changes nothing; inserting and removing are not among them
    "InitializeTableFromTextFileV2", "InitializeTableV2", "LookupTableImportV2",
    # they check, print, wait, or tell something of the machine
    "Assert", "CheckNumerics", "CheckNumericsV2", "DebugIdentityV2", "DebugIdentityV3", "DeviceIndex",
    "IsTensorFloat32Enabled", "Print", "PrintV2", "SleepIdentityOp", "SleepOp", "StatelessRandomGetAlg",
    # they make something of their own at each run
    "AnonymousHashTable", "AnonymousMutableDenseHashTable", "AnonymousMutableHashTable",
    "AnonymousMutableHashTableOfTensors",
    "DeepCopy", "Empty", "GuaranteeConst", "Stack", "StackCloseV2", "StackPopV2", "StackPushV2", "StackV2",
    "TemporaryVariable", "TensorArray", "TensorArrayCloseV3", "TensorArrayConcatV3", "TensorArrayGatherV3",
    "TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayReadV3",
    "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayV2", "TensorArrayV3",
    "TensorArrayWriteV3",
    # what is given to a function, or what a Python function says of it, which TensorFlow's own gradient runs again too
    "EagerPyFunc", "Placeholder", "PyFunc",
})  # fmt: skip


def is_repeatable(op_type: str) -> bool:
    """True for an op type that gives what it gave, and changes nothing, when it runs beside itself."""
    return op_type in REPEATABLE or not _tf.is_stateful(op_type)


def refuse_side_effects(op: tf.Operation) -> None:
    """A copy runs beside the original: what draws random numbers or changes state must not run twice."""
    for op_type, where in _stateful(op):
        if not is_repeatable(op_type):
            raise ControlFlowError(
                f"{op.type} {op.name!r} contains the stateful op {where!r} ({op_type}), and its derivative needs a "
                "second run of the op. Draw random numbers with tf.random.stateless_*, or draw them and change state "
                "outside of the loop, branch or function"
            )


def refuse_v1_in_bodies(op: tf.Operation) -> None:
    """A loop or branch of V1 in the body of one of V2 cannot be differentiated, neither by TensorFlow nor here."""
    if op.type in LOOPS or op.type in BRANCHES:
        for node in _in_functions(op):
            if node.op in V1_ENTRIES:
                raise ControlFlowError(
                    f"{op.type} {op.name!r} has V1 control flow in its body ({node.op} {node.name!r}), through which "
                    "no derivative goes. A Jacobian through V1 loops has it if it is computed in blocks: let "
                    "block_size be all of its rows or columns, or take products with symgrad.hvp, Lop and Rop instead"
                )


def _stateful(op: tf.Operation) -> Iterator[tuple[str, str]]:
    """(type, name) of the op if it is stateful itself, and of every stateful op in the functions that it calls."""
    if not runs_bodies(op) and op.op_def is not None and op.op_def.is_stateful:
        yield op.type, op.name
    for node in _in_functions(op):
        if node.op not in FUNCTIONAL and _tf.is_stateful(node.op):
            yield node.op, node.name


def _in_functions(op: tf.Operation) -> Iterator[Any]:
    """The nodes of the functions that `op` calls, and of those that these call."""
    todo = _files.called_by([op.node_def])
    seen = set()
    while todo:
        name = todo.pop()
        function = None if name in seen else _tf.function_in(op.graph, name)
        seen.add(name)
        for node in function.node_def if function else ():
            todo.extend(_files.called_by([node]))
            yield node
