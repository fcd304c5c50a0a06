"""The vocabulary of op types: which ones loop, branch, call, hold, write, read, store and draw.

Names alone, and no TensorFlow: a file may hold ops that this TensorFlow never heard of. `tests/test_op_types.py` holds
every word to the registry of the TensorFlow that is installed, so that a new one tells what it has added.
"""

# Control flow of V1. A loop is a frame: Enter, Merge, Switch, NextIteration and Exit around one LoopCond; a branch is
# Switch and Merge alone. The Ref types do the same to reference variables.
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
MERGES = frozenset({"Merge", "RefMerge"})
SWITCHES = frozenset({"RefSwitch", "Switch"})
NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
V1_ENTRIES = ENTERS | SWITCHES  # a value that comes into a loop or branch passes one of them
V1_CONTROL_FLOW = V1_ENTRIES | EXITS | MERGES | NEXT_ITERATIONS | {"LoopCond", "_SwitchN"}

# Control flow of V2, and calls: ops that run functions.
LOOPS = frozenset({"StatelessWhile", "While"})
IFS = frozenset({"If", "StatelessIf"})
CASES = frozenset({"Case", "StatelessCase"})
BRANCHES = IFS | CASES  # they take what decides first, and give their functions the rest
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
FUNCTIONAL = LOOPS | BRANCHES | CALLS
# All that run a function and hand its results on. (Data sets keep theirs to themselves.)
CALLING = FUNCTIONAL | {"For", "MapDefun", "RemoteCall", "SymbolicGradient", "XlaLaunch"}

CONSTANTS = frozenset({"Const", "HostConst"})
PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})

# Variables; who says what is in one; who sets one to a value.
REFERENCE_VARIABLES = frozenset({"Variable", "VariableV2"})
VARIABLES = REFERENCE_VARIABLES | {"VarHandleOp"}
VARIABLE_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})
ASSIGNS = frozenset({"Assign", "AssignVariableOp"})
_WRITES = (
    "Apply", "Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply", "ResourceStridedSliceAssign",
    "Scatter", "SparseApply", "StridedSliceAssign",
)  # fmt: skip
_SCATTERING_INTO_TENSORS = frozenset({"ScatterNd", "ScatterNdNonAliasingAdd"})
# What these read goes into the queue, table, accumulator or barrier that is their first input.
_FILLS = (
    "AccumulatorApply", "BarrierInsert", "InitializeTable", "LookupTableImport", "LookupTableInsert", "QueueEnqueue",
    "ResourceAccumulatorApply",
)  # fmt: skip

# Stacks and TensorArrays: what lives for one run. Loops of V1 keep values in stacks for their gradients.
STACK_PUSHES = frozenset({"StackPush", "StackPushV2"})
STACK_POPS = frozenset({"StackPop", "StackPopV2"})
ARRAY_WRITES = frozenset({"TensorArrayScatterV3", "TensorArraySplitV3", "TensorArrayWriteV3"})
# The list is their first input, and one that holds more their output.
LIST_WRITES = frozenset({"TensorListPushBack", "TensorListScatterIntoExistingList", "TensorListSetItem"})

# Ops that draw other numbers at each run; the stateless ones draw the same again from the same seed.
RANDOM = frozenset({
    "AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler", "Multinomial", "ParameterizedTruncatedNormal", "RandomCrop", "RandomGamma",
    "RandomPoisson", "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform", "RandomUniformInt",
    "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatefulRandomBinomial", "StatefulStandardNormal",
    "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformFullInt",
    "StatefulUniformInt", "ThreadUnsafeUnigramCandidateSampler", "TruncatedNormal", "UniformCandidateSampler",
})  # fmt: skip


def writes_variable(op_type: str) -> bool:
    """True for an op that writes values into the variable which is its first input."""
    return op_type.startswith(_WRITES) and op_type not in _SCATTERING_INTO_TENSORS


def fills_container(op_type: str) -> bool:
    """True for an op that puts what it reads into the queue, table, accumulator or barrier which is its first input."""
    return op_type.startswith(_FILLS)


def is_array(op_type: str) -> bool:
    """True for the ops of TensorArrays."""
    return op_type.startswith("TensorArray")


def is_array_of_gradients(op_type: str) -> bool:
    """True for the ops that make the TensorArray of the gradients of another one."""
    return op_type.startswith("TensorArrayGrad")


def lives_one_run(op_type: str) -> bool:
    """True for the ops of stacks and TensorArrays, of which nothing is left when a run is over."""
    return op_type.startswith(("Stack", "TensorArray"))


def is_list(op_type: str) -> bool:
    """True for the ops of TensorLists."""
    return op_type.startswith("TensorList") or op_type == "EmptyTensorList"
