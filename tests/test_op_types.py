"""Every word of the vocabulary against the op types that TensorFlow registers: a new one tells what it has added."""

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

from symgrad import _op_types

pytestmark = pytest.mark.core

# Resources that are no variables, by a word in the names of their ops. Generators of random numbers keep a variable of
# their own, whose ops draw or skip.
_OTHER_RESOURCES = (
    "BoostedTrees", "Collective", "Dataset", "Iterator", "IteratorGet", "LookupTable", "InitializeTable", "Memory",
    "Queue", "Reader", "Rng", "Rpc", "SeedGenerator", "StatsAggregator", "Stack", "TensorArray", "Summary", "Event",
    "ThreadPool", "ResourceAccumulator", "Mutex", "Stateful",
)  # fmt: skip
# They ask for, pass on, or destroy what is behind a handle of any kind, or count.
_NEITHER = frozenset({
    "CountUpTo", "DebugGradientRefIdentity", "DestroyResourceOp", "DestroyTemporaryVariable", "DisableCopyOnRead",
    "IsResourceHandleRefCounting", "IsVariableInitialized", "MakeWeakResourceHandle", "RefIdentity", "RefSelect",
    "ResourceCountUpTo", "VarIsInitializedOp", "VariableShape",
})  # fmt: skip
# Of other runtimes (TPUs, XLA, TensorRT), of no runtime any more, or TensorFlow's own tests.
_ELSEWHERE = frozenset({
    "AssignVariableXlaConcatND", "FakeQueue", "InitializeTRTResource", "NegTrain", "ReadVariableXlaSplitND",
    "RefIn", "RefInputFloatInput", "RefInputFloatInputIntOutput", "RefInputIntInput", "ResourceCreateOp",
    "ResourceInitializedOp", "ResourceUsingOp", "SdcaShrinkL1", "TPUReshardVariables", "TwoRefsIn",
    "_ReadVariablesOp", "_TPUReplicate", "_XlaCompile",
})  # fmt: skip
_REFERENCES = ("Accumulator", "Barrier", "InitializeTable", "LookupTable", "Queue", "Reader", "Stack", "TensorArray")
# They have a seed and a state, and what they give is no draw: queues that shuffle, readers, kernels with dropout.
_NO_DRAW = frozenset({
    "CudnnRNN", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3", "CudnnRNNV2", "CudnnRNNV3",
    "RandomShuffleQueue", "RandomShuffleQueueV2", "RecordInput",
})  # fmt: skip
# They run functions on other machines, in batches, or for XLA; its own forms of If and While exist after lowering only.
_RUNS_ELSEWHERE = frozenset({
    "BatchFunction", "RiscCondition", "RiscWhile", "RpcServerRegister", "TPUCompile", "TPUPartitionedCall",
    "TRTEngineOp", "_If", "_TPUReplicate", "_While", "_XlaCompile",
})  # fmt: skip


@pytest.fixture(scope="module")
def registered():
    """The OpDefs of all op types, by name."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer)).op
    return {op.name: op for op in ops}


def words():
    return {name: value for name, value in vars(_op_types).items() if isinstance(value, frozenset)}


def takes_resource(definition):
    return any(arg.type == tf.resource.as_datatype_enum for arg in definition.input_arg)


def takes_reference(definition):
    return any(arg.is_ref for arg in definition.input_arg)


@pytest.mark.parametrize("word", sorted(words()))
def test_every_name_is_registered(registered, word):
    assert words()[word] <= set(registered)


def test_v1_control_flow_is_whole(registered):
    kinds = ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch")
    names = {f"{ref}{kind}" for ref in ("", "Ref") for kind in kinds} & set(registered)
    assert names | {"_SwitchN"} == _op_types.V1_CONTROL_FLOW


def test_every_op_that_runs_a_function_is_sorted(registered):
    running = {name for name, op in registered.items() if any("func" in attr.type for attr in op.attr)}
    kept = {
        n
        for n in running
        if "Dataset" in n or n.startswith("Xla") or n in ("OneShotIterator", "FuncAttr", "FuncListAttr")
    }
    assert running - kept - _RUNS_ELSEWHERE == _op_types.CALLING - {"XlaLaunch"}


def test_every_op_on_a_resource_is_sorted(registered):
    unsorted = {
        name
        for name, op in registered.items()
        if takes_resource(op) and not _op_types.writes_variable(name) and name not in _op_types.VARIABLE_READS
        and name not in _NEITHER | _ELSEWHERE and not name.startswith("Xla")
        and not any(word in name for word in _OTHER_RESOURCES)
    }  # fmt: skip
    assert not unsorted


def test_every_op_on_a_reference_is_sorted(registered):
    unsorted = {
        name
        for name, op in registered.items()
        if takes_reference(op) and not _op_types.writes_variable(name) and name not in _op_types.V1_CONTROL_FLOW
        and name not in _NEITHER | _ELSEWHERE and not any(word in name for word in _REFERENCES)
    }  # fmt: skip
    assert not unsorted


def test_what_writes_a_variable_takes_it_first(registered):
    writing = {name: op for name, op in registered.items() if _op_types.writes_variable(name)}
    for name, op in writing.items():
        first = op.input_arg[0]
        assert first.is_ref or (first.type == tf.resource.as_datatype_enum and op.is_stateful), name
    assert {"StridedSliceAssign", "ResourceStridedSliceAssign", "ScatterNdAdd"} <= set(writing)
    assert not {"ScatterNd", "ScatterNdNonAliasingAdd", "AssignVariable"} & set(writing)


def test_what_reads_a_variable_takes_its_handle_first_and_is_stateful(registered):
    for name in _op_types.VARIABLE_READS:
        assert registered[name].input_arg[0].type == tf.resource.as_datatype_enum
        assert registered[name].is_stateful


def test_variables_are_references_or_handles(registered):
    makers = {name for name, op in registered.items() if any(a.is_ref for a in op.output_arg) and not op.input_arg}
    assert {name for name in makers if "Variable" in name} - {"TemporaryVariable"} == _op_types.REFERENCE_VARIABLES
    assert registered["VarHandleOp"].output_arg[0].type == tf.resource.as_datatype_enum


def test_what_fills_a_container_takes_it_first(registered):
    for name, op in registered.items():
        if _op_types.fills_container(name):
            assert op.input_arg[0].is_ref or op.input_arg[0].type == tf.resource.as_datatype_enum, name


def test_what_lives_one_run_is_made_or_taken_as_a_handle(registered):
    handles = (tf.resource.as_datatype_enum, tf.string.as_datatype_enum)
    for name in filter(_op_types.lives_one_run, registered):
        op = registered[name]
        assert any(arg.type in handles for arg in (*op.input_arg, *op.output_arg)), name


def test_lists_are_variants(registered):
    for name in filter(_op_types.is_list, registered):
        op = registered[name]
        assert any(arg.type == tf.variant.as_datatype_enum for arg in (*op.input_arg, *op.output_arg)), name
    assert not [n for n in registered if "TensorList" in n and not _op_types.is_list(n)]


def test_every_stateful_op_with_a_seed_is_sorted(registered):
    seeded = {
        name for name, op in registered.items() if op.is_stateful and any("seed" in attr.name for attr in op.attr)
    }
    generators = {n for n, op in registered.items() if n.startswith("Stateful") and takes_resource(op)}
    assert seeded - _NO_DRAW | generators == _op_types.RANDOM
