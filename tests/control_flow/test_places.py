"""Where ops of V1 control flow run, and more loop variables for loops that exist."""

import numpy as np
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

import symgrad
from symgrad import rules
from symgrad._control_flow import add_variable, inside
from symgrad._control_flow._places import Guard, Place, Places
from symgrad._op_types import STACK_POPS


def branch_in_loop_in_branch():
    """The graph, its outer predicate and the frame."""
    with v1_control_flow():
        x = tf.placeholder(tf.float64, [], name="x")
        positive = tf.greater(x, 0, name="positive")

        def body(i, a):
            even = tf.equal(i % 2, 0, name="even")
            return i + 1, tf.cond(even, lambda: tf.sin(a, name="sine"), lambda: tf.cos(a, name="cosine"), name="inner")

        def looped():
            return tf.while_loop(lambda i, a: i < 3, body, (0, x), name="loop")[1]

        tf.identity(tf.cond(positive, looped, lambda: x, name="outer"), name="y")


def test_places_by_the_dataflow_alone():
    with tf.Graph().as_default() as graph:
        branch_in_loop_in_branch()
    places = Places(graph.get_operations())
    of = lambda name: places.of(graph.get_operation_by_name(f"outer/{name}"))  # noqa: E731
    frame = ("outer/loop/while_context",)
    even = "outer/loop/even:0"
    assert of("loop/Merge") == Place(frame)
    assert of("loop/inner/sine") == Place(frame, (Guard(even, 1),))
    assert of("loop/inner/cosine") == Place(frame, (Guard(even, 0),))
    assert of("loop/inner/Merge") == Place(frame)
    assert places.around == {frame: (Guard("positive:0", 1),)}
    leaving = graph.get_tensor_by_name("outer/loop/Exit_1:0")
    assert places.of(leaving.op) == Place(frame)
    assert places.behind(leaving) == Place((), (Guard("positive:0", 1),))
    assert places.of(graph.get_operation_by_name("outer/Merge")) == Place()


def test_a_new_variable_turns_with_the_loop():
    with tf.Graph().as_default() as graph, v1_control_flow(), tf.Session() as session:
        tf.while_loop(lambda i: i < 5, lambda i: (i + 1,), (tf.constant(0),))
        enter = next(op for op in graph.get_operations() if op.type == "Enter")
        merge, leaving, staying = add_variable(enter, tf.constant(1.0))
        with inside(graph, enter._get_control_flow_context()):
            merge._update_input(1, tf.raw_ops.NextIteration(data=staying * 2.0))
        assert session.run(leaving) == 32.0


def test_a_path_leads_through_a_stack():
    """In the gradient of a <- a * x the values of a, which depend on x, come from a stack; and x itself by an Enter."""
    with tf.Graph().as_default(), v1_control_flow(), tf.Session() as session:
        x = tf.constant(2.0, tf.float64)
        start = tf.constant(3.0, tf.float64)
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, start))[1]
        gradient = tf.gradients(y, x)[0]
        between = rules.between([gradient], [start])
        (pop,) = (op for op in between.ops if op.type in STACK_POPS)
        (pushed,) = between.sources.pushed(pop)
        assert between.connected == [True]
        assert between.active_inputs(pop) == [1]
        assert pushed.op.type == "Identity"  # a at the head of the body
        # y = 3 x^3 start / 3: d2y / dx dstart = 3 x^2
        assert session.run(symgrad.Rop(gradient, start, 1.0)) == np.float64(12.0)
