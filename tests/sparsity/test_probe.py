"""Patterns by probing: those of one point, through what structure cannot see."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import PatternError
from symgrad.sparsity import hessian_pattern, pattern


def _stencil(u):
    return u * (1 + tf.roll(u, 1, 0) / 9)


def test_through_a_loop_that_ends_by_its_data(rng, graph, run):
    n = 400
    x = tf.placeholder(tf.float64, [n])
    y = tf.while_loop(lambda u: tf.reduce_max(u) < 2, lambda u: (_stencil(u),), [x])
    point, turns = np.full(n, 1.5), 0
    while point.max() < 2:
        point, turns = point * (1 + np.roll(point, 1) / 9), turns + 1
    count = len(graph.get_operations())
    found = pattern(y, x, method="probe", session=run.session, feed_dict={x: np.full(n, 1.5)})
    assert len(graph.get_operations()) == count
    wanted = sum(np.roll(np.eye(n), -k, 1) for k in range(turns + 1)) != 0
    assert turns > 1
    np.testing.assert_array_equal(found.matrix.toarray(), wanted)
    assert found.local
    assert pattern(y, x, session=run.session).matrix.nnz == n * n


def test_only_one_side_of_a_kink_counts_and_variables_have_the_values_of_the_session(rng, graph, run):
    v = tf.get_variable("v", initializer=np.array([1.0, -2.0, 3.0]), use_resource=True)
    run(tf.no_op())
    y = tf.nn.relu(v) * v[::-1]
    found = pattern(y, v, method="probe", session=run.session)
    np.testing.assert_array_equal(found.matrix.toarray(), run(symgrad.jacobian(y, v)) != 0)
    assert "at one point" in repr(found)
    with pytest.raises(PatternError, match="give session="):
        pattern(y, v, method="probe")


def test_a_hessian(rng, graph, run):
    x = tf.placeholder(tf.float64, [300])
    y = tf.reduce_sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    at = {x: rng.standard_normal(300)}
    found = hessian_pattern(y, x, method="probe", session=run.session, feed_dict=at)
    assert (found.matrix != hessian_pattern(y, x).matrix).nnz == 0
    H = symgrad.sparse_hessian(y, x, pattern=found).run(run.session, at)
    np.testing.assert_allclose(H @ np.ones(300), run(symgrad.hvp(y, x, np.ones(300)), at), rtol=1e-10, atol=1e-9)


def test_what_cannot_be_probed_says_so(graph, run):
    x = tf.placeholder(tf.float64, [5000])
    with pytest.raises(PatternError, match="feed_dict="):
        pattern(x**2, x, method="probe", session=run.session)
    with pytest.raises(PatternError, match="not finite"):
        pattern(tf.sqrt(x), x, method="probe", session=run.session, feed_dict={x: np.zeros(5000)})
    with pytest.raises(PatternError, match="too long"):
        pattern(x * tf.reduce_sum(x), x, method="probe", session=run.session, feed_dict={x: np.ones(5000)})
    z = tf.cast(x, tf.float32)
    with pytest.raises(PatternError, match="float64"):
        pattern(z**2, z, method="probe", session=run.session, feed_dict={x: np.ones(5000)})
    with pytest.raises(ValueError, match="method='guess'"):
        pattern(x**2, x, method="guess")


def test_single_precision_is_probed_column_by_column(rng, graph, run):
    x = tf.constant(rng.standard_normal(300).astype(np.float32))
    y = x[1:] * x[:-1]
    assert (pattern(y, x, method="probe").matrix != pattern(y, x).matrix).nnz == 0
