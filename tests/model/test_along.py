"""`symgrad.graph.along`: just the way from x to y and back."""

import pytest
import tensorflow.compat.v1 as tf

from symgrad.errors import GraphMismatchError
from symgrad.graph import along, build, to_svg


def two_branches():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3], name="a")
        b = tf.placeholder(tf.float32, [3], name="b")
        y = tf.add(tf.sin(tf.exp(a, name="exp"), name="sin"), tf.cos(b, name="cos"), name="y")
        tf.square(y, name="behind")
        tf.gradients(y, [a, b], name="back")
    return build(graph)


def test_holds_the_way_there_and_the_way_back():
    found = along(two_branches(), ys="y", xs="a")
    forward = {name for name, role in found.nodes(data="role") if role != "backward"}
    assert forward == {"a", "exp", "sin", "y"}
    backward = set(found) - forward
    assert {"back/sin_grad/mul", "back/sin_grad/Cos", "back/exp_grad/mul"} <= backward
    assert not any("cos_grad" in name for name in found)


def test_leaves_the_graph_as_it_is_and_takes_tensors_and_lists():
    graph = two_branches()
    before = len(graph)
    assert set(along(graph, ys="y:0", xs=["a", "b"])) >= {"a", "b", "exp", "sin", "cos", "y"}
    assert "behind" not in along(graph, ys="y", xs=["a", "b"])
    assert len(graph) == before


def test_is_empty_without_a_way_and_an_error_without_the_op():
    graph = two_branches()
    assert len(along(graph, ys="a", xs="y")) == 0
    with pytest.raises(GraphMismatchError, match="no op named 'nowhere'"):
        along(graph, ys="y", xs="nowhere")


def test_second_order_gradients_belong_to_the_way():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        (first,) = tf.gradients(tf.sin(x, name="y"), x, name="one")
        tf.gradients(first, x, name="two")
    found = along(build(graph), ys="y", xs="x")
    assert {order for _, order in found.nodes(data="order")} == {0, 1, 2}


def test_half_a_way_is_refused():
    with pytest.raises(ValueError, match="wanted both"):
        to_svg(two_branches(), ys="y")
