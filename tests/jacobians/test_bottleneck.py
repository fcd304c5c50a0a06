"""Jacobians through a narrow tensor that all paths cross; the search for it against networkx's dominators."""

import itertools

import networkx as nx
import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad import rules
from symgrad._jacobians._bottleneck import cuts, waist
from symgrad._problem import Problem

ROUNDING = 1e-12  # of sums in float64


def names(tensors):
    return [t.op.name for t in tensors]


def test_a_skip_connection_leaves_no_cut_beside_it():
    x = tf.ones([8])
    a = tf.sin(x, name="a")
    b = tf.exp(a, name="b")
    c = tf.add(a, tf.cos(b, name="d"), name="c")
    y = tf.square(c, name="y")
    assert names(cuts(rules.between([y], [x]), [y], [x])) == [x.op.name, "a", "c", "y"]


def test_several_xs_and_ys():
    p, q = tf.ones([8], name="p"), tf.ones([8], name="q")
    h = tf.add(tf.sin(p), q, name="h")
    ys = [tf.exp(h, name="y"), tf.square(h, name="z")]
    assert names(cuts(rules.between(ys, [p, q]), ys, [p, q])) == ["h"]
    assert not names(cuts(rules.between([*ys, p], [p, q]), [*ys, p], [p, q]))


@pytest.mark.parametrize("seed", range(20))
def test_cuts_are_the_dominators(seed):
    rng = np.random.default_rng(seed)
    tensors = [tf.ones([2], name="x")]
    graph = nx.DiGraph()
    for i in range(12):
        chosen = rng.choice(len(tensors), size=min(len(tensors), rng.integers(1, 3)), replace=False)
        near = sorted({max(0, len(tensors) - 1 - int(c) % 3) for c in chosen})
        tensors.append(tf.add_n([tensors[c] for c in near], name=f"t{i}"))
        graph.add_edges_from((tensors[c].op.name, f"t{i}") for c in near)
    x, y = tensors[0], tensors[-1]
    immediate = nx.immediate_dominators(graph, "x")
    want = [y.op.name]
    while want[-1] != "x":
        want.append(immediate[want[-1]])
    assert names(cuts(rules.between([y], [x]), [y], [x])) == want[::-1]


def chain(rng, *widths):
    x = y = tf.constant(rng.standard_normal((1, widths[0])))
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        y = tf.tanh(tf.matmul(y, tf.constant(rng.standard_normal((a, b)) / np.sqrt(a)), name=f"layer{i}"))
    return y, x


@pytest.mark.parametrize(("widths", "narrowest"), [((9, 8, 3, 8, 10), 3), ((9, 4, 9), None), ((4, 8, 10), None)])
def test_only_a_clearly_narrower_tensor_is_a_waist(rng, widths, narrowest):
    y, x = chain(rng, *widths)
    found = waist(Problem([y], symgrad._tensors.inputs([x], y.graph)))
    assert (None if found is None else found.shape[1]) == narrowest


@pytest.mark.parametrize("size", [1, 2, None])
def test_the_jacobian_through_a_waist(session, rng, size):
    y, x = chain(rng, 9, 8, 3, 8, 10)
    ys, xs = {"y": y, "z": [tf.sin(y)]}, [x]
    before = len(tf.get_default_graph().get_operations())
    through = symgrad.jacobian(ys, xs, block_size=size)
    added = tf.get_default_graph().get_operations()[before:]
    product = [
        op for op in added if op.type == "MatMul" and [t.shape.as_list() for t in op.inputs] == [[3, 10], [3, 9]]
    ]
    assert len(product) == 2
    rows = symgrad.jacobian(ys, xs, mode="rows")
    for a, b in zip(*map(tf.nest.flatten, session.run([through, rows])), strict=True):
        assert a.shape == (1, 10, 1, 9)
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING)


def test_a_stopped_tensor_and_an_unreached_y(session, rng):
    y, x = chain(rng, 9, 3, 10)
    other = tf.ones([20], tf.float64)
    got = symgrad.jacobian([y, tf.ones([30], tf.float64)], [x, other], disconnected="zero")
    want = symgrad.jacobian([y, tf.ones([30], tf.float64)], [x, other], disconnected="zero", mode="rows")
    for a, b in zip(*map(tf.nest.flatten, session.run([got, want])), strict=True):
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING)
