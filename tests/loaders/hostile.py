"""Small files that ask for much: constants, calls without end, calls that double, chains. Each gives a GraphDef."""

import tensorflow.compat.v1 as tf

FLOAT = tf.float32.as_datatype_enum


def _with_input():
    graph_def = tf.GraphDef()
    graph_def.versions.producer = 1500
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = FLOAT
    node.attr["shape"].shape.dim.add().size = 2
    return graph_def


def constant(size, *, brought=1):
    """x times a constant that claims `size` elements and brings `brought`."""
    graph_def = _with_input()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = FLOAT
    tensor = node.attr["value"].tensor
    tensor.dtype = FLOAT
    tensor.tensor_shape.dim.add().size = size
    tensor.float_val.extend([1.0] * brought)
    graph_def.node.add(name="z", op="Mul", input=["x", "c"]).attr["T"].type = FLOAT
    return graph_def


def _call(to, source, function, *, by_op_type=False):
    """A call named `p<n>`; gives the name of its result within a function."""
    name = f"p{len(to)}"
    if by_op_type:
        to.add(name=name, op=function, input=[source])
        return f"{name}:o:0"
    node = to.add(name=name, op="PartitionedCall", input=[source])
    node.attr["Tin"].list.type.append(FLOAT)
    node.attr["Tout"].list.type.append(FLOAT)
    node.attr["f"].func.name = function
    return f"{name}:output:0"


def _function(graph_def, name):
    function = graph_def.library.function.add()
    function.signature.name = name
    function.signature.input_arg.add(name="a", type=FLOAT)
    function.signature.output_arg.add(name="o", type=FLOAT)
    return function


def calls_itself(*, by_op_type, through=1):
    """A function that calls itself by way of `through` - 1 others."""
    graph_def = _with_input()
    for i in range(through):
        function = _function(graph_def, f"f{i}")
        function.ret["o"] = _call(function.node_def, "a", f"f{(i + 1) % through}", by_op_type=by_op_type)
    _call(graph_def.node, "x", "f0")
    graph_def.node.add(name="z", op="Neg", input=[graph_def.node[-1].name]).attr["T"].type = FLOAT
    return graph_def


def chain(depth, *, times=1):
    """Functions each of which calls the next one `times` times, one call after the other; the last is a tanh."""
    graph_def = _with_input()
    for i in range(depth):
        function = _function(graph_def, f"f{i}")
        at = "a"
        if i == depth - 1:
            function.node_def.add(name="t", op="Tanh", input=["a"]).attr["T"].type = FLOAT
            at = "t:y:0"
        for _ in range(times if i < depth - 1 else 0):
            at = _call(function.node_def, at, f"f{i + 1}")
        function.ret["o"] = at
    _call(graph_def.node, "x", "f0")
    graph_def.node.add(name="z", op="Neg", input=[graph_def.node[-1].name]).attr["T"].type = FLOAT
    return graph_def


def ladder(depth):
    """Pairs of functions, both of which call both of the next pair: ways double, functions do not repeat in a body."""
    graph_def = _with_input()
    for i in range(depth):
        for side in "ab":
            function = _function(graph_def, f"{side}{i}")
            at = "a"
            for other in "ab" if i < depth - 1 else "":
                at = _call(function.node_def, at, f"{other}{i + 1}")
            if i == depth - 1:
                function.node_def.add(name="t", op="Unheard", input=["a"]).attr["T"].type = FLOAT
                at = "t:y:0"
            function.ret["o"] = at
    _call(graph_def.node, "x", "a0")
    graph_def.node.add(name="z", op="Neg", input=[graph_def.node[-1].name]).attr["T"].type = FLOAT
    return graph_def


HOSTILE = {
    "a constant of 10^12 elements": lambda: constant(10**12),
    "a constant of 10^12 elements that brings two": lambda: constant(10**12, brought=2),
    "a constant of 10^9 elements": lambda: constant(10**9),
    "a function that calls itself": lambda: calls_itself(by_op_type=False),
    "a function that calls itself by op type": lambda: calls_itself(by_op_type=True),
    "functions that call each other in a ring": lambda: calls_itself(by_op_type=False, through=5),
    "functions that call each other in a ring by op type": lambda: calls_itself(by_op_type=True, through=5),
    "calls that double at each of 60 levels": lambda: chain(60, times=2),
}
