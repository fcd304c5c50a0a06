"""The one place that imports TensorFlow's private modules.

Every import says why it is needed; each name has been where it is from 2.15 to 2.21. Keep the groups sorted by module.
"""

import functools

import tensorflow.compat.v1 as tf

# VariableDef: the message behind Variable.from_proto; SavedModel: the message of a saved_model.pb. No public names.
from tensorflow.core.framework.variable_pb2 import VariableDef

# What a session's callable is told: the names of what to feed, to fetch and to run. No public name.
from tensorflow.core.protobuf.config_pb2 import CallableOptions

# The messages of V1 loops and branches, as a MetaGraph stores them: from them contexts are made that a graph lacks.
from tensorflow.core.protobuf.control_flow_pb2 import CondContextDef, WhileContextDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

# The name under which each run of a VarHandleOp makes a variable of its own.
from tensorflow.python.eager.context import anonymous_name

# dtypes: resource and variant; op_def_registry: declared properties of op types, also for nodes of a function; kernels:
# for which dtypes and devices an op type has one.
from tensorflow.python.framework import dtypes, kernels, op_def_registry

# FuncGraph: tells whether a tensor belongs to a function body, whose captured inputs continue in the outer graph.
from tensorflow.python.framework.func_graph import FuncGraph

# A FunctionDef as a GraphDef: TensorFlow's own reading of its inputs and results, which no public function does.
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

# tf.train.import_meta_graph without its Saver(), which would add ops to the graph.
from tensorflow.python.framework.meta_graph import import_scoped_meta_graph

# gradient_registry: whether an op type has a gradient, for ops of a file that are in no graph.
# EagerTensor: tells a tensor that has a value from one that has an op; the public tf.Tensor is the base of both.
# get_gradient_function: what tf.gradients will call for an op: its own attribute, an override, the registry (None:
# NotDifferentiable). uid: numbers for names of functions, which all graphs of a process share.
from tensorflow.python.framework.ops import EagerTensor, get_gradient_function, gradient_registry, uid

# The dtype and shape behind a resource or variant travel beside the tensor; a copied op has to be given them.
# The functions that PyFunc nodes call, by token: a node written into a GraphDef by hand needs one.
# GraphOrParentsInXlaContext: true while XLA is to compile what is built, for which not every kernel of a CPU exists.
# ENABLE_CONTROL_FLOW_V2: the switch itself; the public question says true in a function body, however it stands.
from tensorflow.python.ops import control_flow_util, handle_data_util, script_ops

# Branches of graphs that are there as one If or Case op, known to TensorFlow's gradient code.
from tensorflow.python.ops.cond_v2 import _build_case as build_case
from tensorflow.python.ops.cond_v2 import _build_cond as build_cond

# The contexts of V1 branches and loops, without which tf.gradients cannot pass them.
from tensorflow.python.ops.control_flow_ops import CondContext, WhileContext

# The graphs of loops and branches: TensorFlow's gradient code asks of what class they are (the zeros for an output of a
# loop body that is not used are made without accumulating the output).
# The Python graph of a loop or branch, rebuilt from its FunctionDef as TensorFlow's gradient code does it itself.
from tensorflow.python.ops.control_flow_util_v2 import (
    CondBranchFuncGraph,
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
    get_func_graph,
)

# The vectoriser behind tf.vectorized_map, which cannot be told to refuse what it does not convert.
from tensorflow.python.ops.parallel_for.control_flow_ops import pfor

# How it converts each op type, some of them wrongly; wrap: the form in which a converter answers.
from tensorflow.python.ops.parallel_for.pfor import _pfor_converter_registry as pfor_converters
from tensorflow.python.ops.parallel_for.pfor import wrap as pfor_wrap

# To rebuild resource variables of graphs that were stored without collections; tf.Variable.from_proto makes
# reference variables only; and for variables that no distribution strategy mirrors (hyperparameters).
# BaseResourceVariable: a variable object for a handle that is there, without an initialiser.
# is_resource_variable: a mirrored variable raises when asked for its handle, so hasattr cannot tell.
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable, ResourceVariable, is_resource_variable

# What tf.get_variable with a partitioner gives: no variable and no list, to be named where it is refused.
from tensorflow.python.ops.variables import PartitionedVariable

# tf.while_loop makes V1 frames unless control flow v2 is on for the whole process; a row loop must be one While op.
# build_while_op: a While op of graphs for its condition and body that are there, known to TensorFlow's gradient code.
from tensorflow.python.ops.while_v2 import _build_while_op as build_while_op
from tensorflow.python.ops.while_v2 import while_loop as while_loop_v2

# The op that initialises the tables of a SavedModel and the asset files to feed it, in each of the three places where
# versions 1 and 2 stored them; the public loader gives them only with a second import of the graph.
from tensorflow.python.saved_model.loader_impl import get_asset_tensors, get_init_op

# Which op types XLA has kernels for: they are registered when something is compiled, or when this is asked.
from tensorflow.python.util import pywrap_xla_ops

# Matches a structure of vectors to a structure of tensors, whose leaves may be lists of numbers; tf.nest cannot.
from tensorflow.python.util.nest import flatten_up_to

__all__ = [
    "BaseResourceVariable",
    "CondBranchFuncGraph",
    "CondContext",
    "CondContextDef",
    "EagerTensor",
    "FuncGraph",
    "PartitionedVariable",
    "ResourceVariable",
    "SavedModel",
    "VariableDef",
    "WhileBodyFuncGraph",
    "WhileCondFuncGraph",
    "WhileContext",
    "WhileContextDef",
    "active_overrides",
    "anonymous_name",
    "build_case",
    "build_cond",
    "build_while_op",
    "callable_of",
    "collection_being_imported",
    "copied_by",
    "copy_handle_data",
    "flatten_up_to",
    "function_def_to_graph_def",
    "function_graph",
    "function_in",
    "get_asset_tensors",
    "get_gradient_function",
    "get_init_op",
    "gradient_of_function",
    "gradient_registry",
    "handle_dtype",
    "has_attribute",
    "has_kernel",
    "import_scoped_meta_graph",
    "is_function",
    "is_gradient_of_recompute",
    "is_recompute",
    "is_resource_variable",
    "is_stateful",
    "is_switched_to_v2",
    "kernels_of_xla",
    "op_being_differentiated",
    "op_def_registry",
    "originals_of",
    "pfor",
    "pfor_converters",
    "pfor_wrap",
    "python_function",
    "register_python_function",
    "results_of_custom_gradient",
    "share_function",
    "share_functions",
    "traced_graph",
    "uid",
    "while_loop_v2",
]


def function_in(graph, name):
    """The FunctionDef called `name` that ops of `graph` can call, or None."""
    function = _function(graph, name)
    return None if function is None else function.cached_definition


def is_function(graph, op_type):
    """True if ops of this type call the function of that name, as where Defun made them."""
    return not _is_registered(op_type) and _function(graph, op_type) is not None


@functools.cache
def _is_registered(op_type):
    return op_def_registry.get(op_type) is not None


def gradient_of_function(graph, name):
    """What Defun was told to be the gradient of the function `name`: a callable, the name of a function, or None."""
    function = _function(graph, name)
    return getattr(function, "python_grad_func", None) or getattr(function, "grad_func_name", None) or None


def _function(graph, name):
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return function
        graph = getattr(graph, "outer_graph", None)
    return None


def has_attribute(op, attribute):
    """True if `op` has this attribute; its name is looked for before all of them are parsed, at half the price."""
    return attribute.encode() in op._node_def and attribute in op.node_def.attr


def function_graph(op, shapes, name, given=None):
    """The Python graph of the function `name` that `op` runs on inputs of these shapes: `given`, or its last.

    A FunctionDef does not say what lies behind the variables and lists that it is given. Without that TensorFlow takes
    a variable for something that has no gradient where it is handed on to a loop or branch inside (while_v2 and cond_v2
    ask `default_gradient.supports_default_grad`), and the gradient is zero without a word.
    """
    graph = get_func_graph(op, shapes, name)
    for outer, inner in zip(given or list(op.inputs)[len(op.inputs) - len(shapes) :], graph.inputs, strict=True):
        copy_handle_data(outer, inner)
    for inner in graph.get_operations():
        hand_on(inner)
    return graph


# Ops whose results are, one by one, the variables and lists that went in.
_HANDING_ON = frozenset({"Identity", "IdentityN", "StatelessWhile", "TensorListPushBack", "TensorListSetItem", "While"})


def hand_on(op):
    """Let the results of an op that hands on variables and lists be known for what went in: TensorFlow says nothing."""
    if op.type in _HANDING_ON:
        for handed, result in zip(op.inputs, op.outputs, strict=False):  # a list comes first, what is put in follows
            copy_handle_data(handed, result)


def traced_graph(graph, name):
    """The Python graph from which the function called `name` was traced, or None (functions of a file have none)."""
    traced = getattr(_function(graph, name), "graph", None)
    return traced if isinstance(traced, FuncGraph) else None


def share_functions(source, target):
    """Let ops of the function body `target` call the functions that ops of the body `source` call."""
    for function in source._functions.values():
        target._add_function_recursive(function)


def share_function(source, name, target):
    """Let ops of `target` have the type `name`, if that is the name of a function that ops of `source` call."""
    graph = source
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            if target is not graph:
                target._add_function_recursive(function)
            return
        graph = getattr(graph, "outer_graph", None)


def results_of_custom_gradient(op):
    """How many of the inputs of an IdentityN made by tf.custom_gradient are what the user's function returned.

    Behind them lies the inside of that function, which the custom gradient replaces; the inputs after them are its
    arguments. TensorFlow keeps the number in the closure of the registered gradient only. 0 for every other op.
    """
    return _custom_gradient(op).get("flat_result_len", 0)


def is_recompute(op):
    """True for the IdentityN that tf.recompute_grad puts behind a function, and for the one behind its gradient."""
    return _recomputes(op).startswith("recompute_grad.")


def is_gradient_of_recompute(op):
    """True for the IdentityN behind the gradient of a tf.recompute_grad, whose own gradient only raises."""
    return is_recompute(op) and _recomputes(op).endswith(".transpose")


def _recomputes(op):
    return getattr(_custom_gradient(op).get("grad_fn"), "__qualname__", "")


def _custom_gradient(op):
    """What the gradient of an IdentityN made by tf.custom_gradient knows; nothing for other ops."""
    if op.type != "IdentityN":
        return {}
    try:
        function = get_gradient_function(op)
        return _closure(_closure(getattr(function, "of_user", function)).get("tape_grad_fn"))
    except LookupError:  # it was registered in another process
        return {}


def _closure(function):
    """The variables that a function closes over, by name."""
    code = getattr(function, "__code__", None)
    if code is None or function.__closure__ is None:
        return {}
    return dict(zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__), strict=True))


def python_function(op):
    """The Python function that an EagerPyFunc calls, None if this process lacks it; and whether it is a gradient."""
    held = script_ops._py_funcs.get(op.get_attr("token").decode())
    return (None, False) if held is None else (held._func, held._is_grad_func)


def register_python_function(function):
    """The token by which a PyFunc node calls `function`, for as long as the caller keeps the function."""
    return script_ops._py_funcs.insert(function)


def active_overrides(graph):
    """The gradient_override_map that is in force in a graph, which has no public name."""
    return dict(graph._gradient_override_map)


def op_being_differentiated(error):
    """The op, innermost first, whose gradient function was at work when `error` was raised; None if none was.

    tf.gradients does not say. It calls every gradient function through `_MaybeCompile`, looks at what came back in
    `_VerifyGeneratedGradients`, and misses a function in `_GradientsHelper` (a LookupError); each holds the op.
    """
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found, trace = None, error.__traceback__
        while trace is not None:
            name, held = trace.tb_frame.f_code.co_name, trace.tb_frame.f_locals
            if name in _CALLERS or (name == "_GradientsHelper" and isinstance(error, LookupError)):
                found = held.get("op") or found
            trace = trace.tb_next
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


_CALLERS = frozenset({"_MaybeCompile", "_VerifyGeneratedGradients"})


def collection_being_imported(error):
    """The key of the collection at which `import_scoped_meta_graph` failed with `error`; None if it failed before."""
    trace, found = error.__traceback__, None
    while trace is not None:
        held = trace.tb_frame.f_locals
        if "sorted_collections" in held and trace.tb_frame.f_code.co_name.startswith("import_scoped_meta_graph"):
            found = held.get("key")
        trace = trace.tb_next
    return found


def is_stateful(op_type):
    """True if TensorFlow declares the op type stateful; False for types it does not know (calls by function name)."""
    definition = op_def_registry.get(op_type)
    return definition is not None and definition.is_stateful


def is_switched_to_v2():
    """True if TensorFlow's switch for control flow stands at version 2."""
    return control_flow_util.ENABLE_CONTROL_FLOW_V2


def has_kernel(op_type, dtype, device=""):
    """True if TensorFlow can run an op of this type, of the dtype `T`, where it is being built.

    That is on the device, or compiled by XLA.
    """
    if control_flow_util.GraphOrParentsInXlaContext(tf.get_default_graph()) and op_type not in _compiled_types():
        return False
    kind = (tf.DeviceSpec.from_string(device or "").device_type or "CPU").upper()
    return dtype.as_datatype_enum in _dtypes_of_kernels(op_type, kind)


@functools.cache
def _compiled_types():
    """The op types that XLA compiles. Asking makes TensorFlow register them, so they are not all in its list before."""
    return frozenset(pywrap_xla_ops.get_cpu_kernel_names())


@functools.cache
def _dtypes_of_kernels(op_type, kind):
    """The dtypes `T` for which kernels of an op type are registered on a kind of device."""
    found = set()
    for kernel in kernels.get_registered_kernels_for_op(op_type).kernel:
        for constraint in kernel.constraint if kernel.device_type == kind else ():
            if constraint.name == "T":
                found.update(constraint.allowed_values.list.type)
    return frozenset(found)


@functools.cache
def kernels_of_xla():
    """For each op type that XLA compiles for a CPU, the dtypes each kernel takes: a dict from attribute to a set."""
    _compiled_types()  # registers them
    found: dict[str, list[dict[str, set[int]]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == "XLA_CPU_JIT":
            constraints = {c.name: set(c.allowed_values.list.type) for c in kernel.constraint}
            found.setdefault(kernel.op, []).append(constraints)
    return found


@functools.cache
def attributes_of_type(op_type):
    """The names of the attributes that ops of a type have, but for those that tell dtypes."""
    definition = op_def_registry.get(op_type)
    return () if definition is None else tuple(a.name for a in definition.attr if a.type not in ("type", "list(type)"))


def in_v1_loop(op):
    """True for an op in the body of a V1 loop."""
    context = op._get_control_flow_context()
    return context is not None and context.GetWhileContext() is not None


def handle_dtype(handle):
    """The dtype of the variable behind a resource handle, or None if TensorFlow does not know."""
    data = handle_data_util.get_resource_handle_data(handle)
    known = data is not None and data.is_set and data.shape_and_type
    return dtypes.as_dtype(data.shape_and_type[0].dtype) if known else None


def copied_by(op):
    """The ids of the tensors of which a compiled call computes copies: its gradient function knows."""
    return getattr(op._gradient_function, "copied", ())


def originals_of(op):
    """Of a compiled call the tensors of which it gives copies, and those that it reads; None of any other op."""
    function = op._gradient_function
    return (function.originals, function.arguments) if hasattr(function, "copied") else None


def copy_handle_data(source, target):
    """Let `target` know what `source` knows about the variable or list behind it."""
    if source.dtype in (dtypes.resource, dtypes.variant):
        handle_data_util.copy_handle_data(source, target)


def callable_of(session, feeds, fetches, targets):
    """A function from arrays for `feeds` to arrays of `fetches`, that runs `targets` too.

    `session.run` and the public `make_callable` spend 0.12 ms a call on checks; this one 0.03 ms.
    """
    options = CallableOptions(
        feed=[t.name for t in feeds], fetch=[t.name for t in fetches], target=[op.name for op in targets]
    )
    return session._make_callable_from_options(options)
