"""Situations in which a gradient is None, built with plain TensorFlow: one row each, with what a diagnosis must say."""

from collections.abc import Callable
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from symgrad.rules import Cut


@dataclass(frozen=True)
class Situation:
    """One graph, and the findings for it.

    Attributes:
      name: for the test.
      build: makes the graph in the default graph and returns (ys, xs).
      found: (cause, op, path) of each finding.
      within: names of the loops, branches and calls around the op.
      not_from_file: why the situation cannot come from a file.
      v2: build with control flow V2.
      zeros: TensorFlow answers zeros instead of None.
      raises: TensorFlow answers with this error instead of None.
    """

    name: str
    build: Callable
    found: tuple
    within: tuple[str, ...] = ()
    not_from_file: str = ""
    v2: bool = False
    zeros: bool = False
    raises: type[Exception] | None = None


SITUATIONS: list[Situation] = []


def situation(*found, **options):
    """Decorator: a row of the table, named like the function that builds the graph."""

    def add(build):
        SITUATIONS.append(Situation(build.__name__, build, found, **options))
        return build

    return add


def _x():
    return tf.placeholder(tf.float32, [3], name="x")


@situation((Cut.STOP_GRADIENT, "stop", ("x", "stop", "y")))
def stop_gradient():
    x = _x()
    return tf.multiply(tf.stop_gradient(x, name="stop"), 2.0, name="y"), x


@situation((Cut.STOP_GRADIENT, "target", ("w", "w/read", "target", "y")))
def stop_gradient_after_a_reference_variable():
    w = tf.get_variable("w", [3], use_resource=False)
    return tf.square(tf.stop_gradient(w.value(), name="target"), name="y"), w


@situation((Cut.STOP_GRADIENT, "target", ("w", "read", "target", "y")))
def stop_gradient_after_a_resource_variable():
    w = tf.get_variable("w", [3], use_resource=True)
    with tf.name_scope(None):
        read = tf.raw_ops.ReadVariableOp(resource=w.handle, dtype=tf.float32, name="read")
    return tf.square(tf.stop_gradient(read, name="target"), name="y"), w


@situation((Cut.INTEGER, "round", ("x", "round", "back")))
def cast_to_integers():
    x = _x()
    return tf.cast(tf.cast(x, tf.int32, name="round"), tf.float32, name="back"), x


@situation((Cut.INTEGER, "best", ("x", "best", "y")))
def argmax():
    x = _x()
    return tf.cast(tf.argmax(x, name="best"), tf.float32, name="y"), x


@situation((Cut.INTEGER, "positive", ("x", "positive", "y")))
def comparison():
    x = _x()
    return tf.cast(tf.greater(x, 0.0, name="positive"), tf.float32, name="y"), x


@situation((Cut.INTEGER, "mask", ("x", "mask", "y")))
def condition_of_a_where():
    x = _x()
    return tf.where(tf.less(x, 1.0, name="mask"), tf.ones(3), tf.zeros(3), name="y"), x


@situation((Cut.INTEGER, "top", ("x", "top", "y")))
def indices_of_top_k():
    x = _x()
    return tf.cast(tf.math.top_k(x, 2, name="top").indices, tf.float32, name="y"), x


@situation((Cut.INTEGER, "index", ("x", "index", "plus", "y")))
def index_of_a_gather():
    x = _x()
    index = tf.add(tf.cast(x, tf.int32, name="index"), 1, name="plus")
    return tf.gather(tf.constant([1.0, 2.0, 3.0]), index, name="y"), x


@situation((Cut.INTEGER, "integers", ("x", "integers")))
def integer_y():
    x = _x()
    return tf.cast(x, tf.int32, name="integers"), x


@situation((Cut.SHAPE, "shape", ("x", "shape", "y")))
def only_the_shape():
    x = tf.placeholder(tf.float32, [None], name="x")
    return tf.cast(tf.shape(x, name="shape"), tf.float32, name="y"), x


@situation((Cut.STOP_GRADIENT, "stop", ("x", "stop", "y")))
def stop_gradient_beside_a_shape():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    return tf.reshape(tf.stop_gradient(x, name="stop"), tf.shape(x), name="y"), x


@situation((Cut.ZERO, "floor", ("x", "floor", "y")))
def floor():
    x = _x()
    return tf.square(tf.floor(x, name="floor"), name="y"), x


@situation((Cut.ZERO, "sign", ("x", "sign", "y")), zeros=True)
def sign():
    x = _x()
    return tf.square(tf.sign(x, name="sign"), name="y"), x


@situation((Cut.ZERO, "zeros", ("x", "zeros", "y")))
def zeros_like():
    x = tf.placeholder(tf.float32, [None], name="x")
    return tf.exp(tf.zeros_like(x, name="zeros", optimize=False), name="y"), x


@situation((Cut.NOT_DIFFERENTIABLE, "glimpse", ("x", "glimpse", "y")))
def not_differentiable_op():
    x = tf.placeholder(tf.float32, [1, 4, 4, 1], name="x")
    glimpse = tf.raw_ops.ExtractGlimpse(input=x, size=[2, 2], offsets=[[0.0, 0.0]], name="glimpse")
    return tf.square(glimpse, name="y"), x


@situation((Cut.NOT_DIFFERENTIABLE, "python", ("x", "python", "y")))
def python_function():
    x = _x()
    y = tf.py_func(lambda v: 2 * v, [x], tf.float32, name="python")
    return tf.square(y, name="y"), x


@situation((Cut.UNREGISTERED, "slope", ("x", "slope", "y")), raises=LookupError)
def op_without_a_gradient():
    x = _x()
    return tf.square(tf.raw_ops.IgammaGradA(a=x, x=tf.ones(3), name="slope"), name="y"), x


@situation((Cut.FUNCTION_CALL, "batch/BatchFunction", ("x", "batch/BatchFunction", "y")), raises=LookupError)
def call_of_a_function_without_a_gradient():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    batched = tf.nondifferentiable_batch_function(1, 1, 0)(lambda v: 2.0 * v)
    return tf.square(batched(x), name="y"), x


@situation((Cut.UNANSWERED, "zeta", ("x", "zeta")))
def gradient_function_that_leaves_an_input_out():
    x = _x()
    return tf.math.zeta(x, tf.constant([1.0, 2.0, 3.0]), name="zeta"), x


@situation((Cut.CUSTOM_NONE, "twice", ("x", "twice", "y")))
def overridden_gradient_that_answers_none():
    x = _x()
    with x.graph.gradient_override_map({"Mul": "SymgradTestsAnswerNone"}):
        twice = tf.multiply(x, 2.0, name="twice")
    return tf.square(twice, name="y"), x


@tf.RegisterGradient("SymgradTestsAnswerNone")
def _answer_none(op, grad):
    return None, None


@situation((Cut.CUSTOM_NONE, "IdentityN", ("x", "IdentityN", "y")))
def custom_gradient_that_answers_none():
    @tf.custom_gradient
    def clipped(x):
        return tf.minimum(x, 1.0), lambda dy: None

    x = _x()
    return tf.square(clipped(x), name="y"), x


@situation((Cut.ASSIGNED, "write", ("x", "write", "y")))
def value_assigned_to_a_reference_variable():
    x = _x()
    v = tf.get_variable("v", [3], use_resource=False)
    return tf.square(tf.assign(v, x, name="write"), name="y"), x


@situation((Cut.ASSIGNED, "v/Assign", ()))
def variable_that_was_copied():
    w = tf.get_variable("w", [3], use_resource=True)
    with tf.control_dependencies(None):
        v = tf.get_variable("v", initializer=w.read_value(), use_resource=True)
    return tf.square(v.read_value(), name="y"), w


@situation((Cut.NO_PATH, None, ()))
def variable_replaced_by_its_value():
    w = tf.get_variable("w", [3], use_resource=True)
    return tf.square(tf.constant([1.0, 2.0, 3.0], name="copy"), name="y"), w


@situation((Cut.NO_PATH, None, ()))
def no_path():
    x = _x()
    return tf.square(tf.placeholder(tf.float32, [3], name="z"), name="y"), x


@situation((Cut.BYPASSED, "split", ()))
def another_output_of_the_same_op():
    first, second = tf.split(tf.placeholder(tf.float32, [4], name="z"), 2)
    return tf.square(second, name="y"), first


@situation((Cut.BYPASSED, "w", ()))
def another_read_of_a_variable():
    w = tf.get_variable("w", [3], use_resource=True)
    return tf.square(w.read_value(), name="y"), w.read_value()


@situation((Cut.REVERSED, "x", ()))
def ys_and_xs_the_other_way_round():
    x = _x()
    y = tf.square(x, name="y")
    return x, y * 2.0


@situation((Cut.INTEGER_X, None, ()))
def integer_x():
    x = tf.placeholder(tf.int32, [3], name="x")
    return tf.square(tf.cast(x, tf.float32), name="y"), x


@situation((Cut.OTHER_GRAPH, "x", ()), not_from_file="two graphs")
def another_graph():
    with tf.Graph().as_default():
        other = _x()
    return tf.square(_x(), name="y"), other


@situation((Cut.ENCLOSED, "inner", ()), not_from_file="a tensor of a body has no name in the file", v2=True)
def tensor_of_a_branch():
    x, inside = _x(), []

    def then():
        inside.append(tf.sin(x, name="inner"))
        return inside[0]

    return tf.cond(x[0] > 0, then, lambda: x), inside[0]


@situation(
    (Cut.STOP_GRADIENT, "stop", ("x", "stop", "y", "sum")),
    (Cut.INTEGER, "best", ("x", "best", "float", "strided_slice", "y", "sum")),
    (Cut.ZERO, "floor", ("x", "floor", "y", "sum")),
)
def several_cuts_on_several_paths():
    x = _x()
    cut = [
        tf.stop_gradient(x, name="stop"),
        tf.cast(tf.argmax(x, name="best"), tf.float32, name="float"),
        tf.floor(x, name="floor"),
    ]
    return tf.reduce_sum(tf.concat([cut[0], cut[1][None], cut[2]], 0, name="y"), name="sum"), x


@situation(
    (Cut.STOP_GRADIENT, "stop", ("x", "stop", "floor", "y")),
    (Cut.ZERO, "floor", ("x", "stop", "floor", "y")),
)
def two_cuts_on_one_path():
    x = _x()
    return tf.square(tf.floor(tf.stop_gradient(x, name="stop"), name="floor"), name="y"), x


def _loop(x):
    """Three times h <- h / 2 + stop_gradient(x), from h = 1."""

    def turn(i, h):
        return i + 1, tf.add(h / 2.0, tf.stop_gradient(x, name="stop"), name="sum")

    _, h = tf.while_loop(lambda i, h: i < 3, turn, [tf.constant(0), tf.ones(3)], name="loop")
    return tf.square(h, name="y"), x


@situation((Cut.STOP_GRADIENT, "loop/stop", ()))
def inside_a_loop_of_v1():
    return _loop(_x())


@situation(
    (Cut.STOP_GRADIENT, "stop", ("x", "loop", "stop", "sum", "loop", "loop/Identity_3", "y")),
    within=("loop",),
    v2=True,
    zeros=True,
)
def inside_a_loop_of_v2():
    return _loop(_x())


def _branches(x):
    """Cut in one branch by stop_gradient and in the other by a floor."""
    y = tf.cond(
        tf.reduce_sum(tf.placeholder(tf.float32, [3], name="z")) > 0.0,
        lambda: tf.stop_gradient(x, name="stop"),
        lambda: tf.floor(x, name="floor"),
        name="branch",
    )
    return tf.square(y, name="y"), x


@situation((Cut.STOP_GRADIENT, "branch/stop", ()), (Cut.ZERO, "branch/floor", ()))
def inside_the_branches_of_v1():
    return _branches(_x())


@situation(
    (Cut.STOP_GRADIENT, "stop", ("x", "branch", "stop", "branch", "branch/Identity", "y")),
    (Cut.ZERO, "floor", ("x", "branch", "floor", "branch", "branch/Identity", "y")),
    within=("branch",),
    v2=True,
)
def inside_the_branches_of_v2():
    return _branches(_x())


@situation((Cut.INTEGER, "positive", ()))
def predicate_of_a_branch():
    x = _x()
    y = tf.cond(tf.greater(x[0], 0.0, name="positive"), lambda: tf.ones(3), lambda: tf.zeros(3), name="branch")
    return tf.square(y, name="y"), x


@situation((Cut.STOP_GRADIENT, "stop", ()), within=("PartitionedCall",))
def inside_a_function():
    x = _x()
    return tf.square(tf.function(lambda v: tf.stop_gradient(v, name="stop"))(x), name="y"), x


@situation((Cut.INTEGER, "best", ()), within=("PartitionedCall", "PartitionedCall"))
def inside_a_function_inside_a_function():
    x = _x()
    inner = tf.function(lambda v: tf.cast(tf.argmax(v, name="best"), tf.float32))
    return tf.square(tf.function(lambda v: 2.0 * inner(v))(x), name="y"), x
