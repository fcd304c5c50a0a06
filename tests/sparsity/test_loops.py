"""Patterns through loops, branches and lists of both versions: nothing missed, and exact where turns can be counted."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from loops import LOOPS
from matrices import Columns
from worlds import control_flow

import symgrad
from symgrad.errors import PatternError
from symgrad.sparsity import hessian_pattern, pattern
from symgrad.testing._probe import Probe

# What is not exact, and need not be: branches and lengths that are looked at while it runs, shapes that change.
WIDER = {"dynamic_rnn_with_lengths", "growing_shape", "partly_inactive_array", "split_array"}
SECOND = ["power", "map_fn", "scan", "nested", "cond_in_loop", "loop_in_cond", "array_read_twice", "matmul"]


def union(ys, x, session, rng):
    """Where the matrix is not zero at one of three points, by a Rop for each column."""
    probe = Probe(ys, x, session, None)
    columns, (here,) = Columns(probe), probe.points()
    points = [[here * rng.uniform(0.9, 1.1, here.shape)] for _ in range(3)]
    return np.any([np.stack([c != 0 for _, c in columns.at(p)], 1) for p in points], 0)


@pytest.mark.core
@pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_a_loop_is_followed_turn_by_turn(loop, v2, rng, graph, run):
    x = tf.constant(loop.point)
    with control_flow(v2=v2):
        y = loop.function(x)
    if loop.name == "growing_shape" and not v2:
        with pytest.raises(PatternError, match="the shape of while/Exit_1:0 is not known"):
            pattern(y, x)
        return
    found, wanted = pattern(y, x).matrix.toarray(), union(y, x, run.session, rng)
    assert not (wanted & ~found).any()
    if loop.name not in WIDER:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
@pytest.mark.parametrize("name", SECOND)
def test_a_hessian_through_a_loop_misses_nothing(name, v2, rng, graph, run):
    loop = next(loop for loop in LOOPS if loop.name == name)
    x = tf.constant(loop.point)
    with control_flow(v2=v2):
        z = tf.reduce_sum(loop.function(x) ** 2)
    found = hessian_pattern(z, x).matrix.toarray()
    assert not (union(symgrad.gradients(z, x), x, run.session, rng) & ~found).any()


@pytest.mark.core
@pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
def test_the_number_of_turns_tells_how_far_a_stencil_reaches(v2, graph):
    x = tf.ones([12], tf.float64)
    with control_flow(v2=v2):
        step = lambda i, u: (i + 2, u[1:] * u[:-1])  # noqa: E731
        grown = lambda i, u: (i + 2, tf.pad(step(i, u)[1], [[0, 1]], constant_values=1))  # noqa: E731
        y = tf.while_loop(lambda i, u: i < 6, grown, [tf.constant(0), x])[1]
    reach = np.sum([np.eye(12, k=k) for k in range(4)], 0) > 0
    reach[[9, 10, 11]] = np.eye(12)[[9, 10, 11]] > 0  # what is known of the end: it is overwritten by ones
    found = pattern(y, x).matrix.toarray()
    assert not found[11].any()
    np.testing.assert_array_equal(found[:9], reach[:9])


@pytest.mark.parametrize("v2", [True, False], ids=["v2", "v1"])
def test_what_ends_by_the_data_is_the_union_of_all_turns(v2, graph):
    x = tf.ones([6], tf.float64)
    with control_flow(v2=v2):
        y = tf.while_loop(lambda u: tf.reduce_sum(u) < 40, lambda u: (u + tf.roll(u, 1, 0),), [x])
    assert pattern(y, x).matrix.nnz == 36
