"""A pattern contains every entry that is not zero, and on stencils and the like no other."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES

import symgrad
from symgrad.errors import PatternError
from symgrad.sparsity import hessian_pattern, pattern


def dense(ys, xs, run):
    """The Jacobian as one matrix, leaves flattened in order."""
    ys, xs = tf.nest.flatten(ys), tf.nest.flatten(xs)
    blocks = run(symgrad.jacobian(ys, xs, disconnected="zero"))
    m, n = ([np.size(v) for v in run([tf.convert_to_tensor(t) for t in ts])] for ts in (ys, xs))
    rows = [
        np.concatenate([np.reshape(b, (r, c)) for b, c in zip(row, n, strict=True)], 1)
        for row, r in zip(blocks, m, strict=True)
    ]
    return np.concatenate(rows, 0)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_no_entry_is_missed(case, rng, graph, run):
    ys, xs = case(rng)
    run(tf.no_op())  # initialises variables
    count = len(graph.get_operations())
    found = pattern(ys, xs, session=run.session)
    assert len(graph.get_operations()) == count
    matrix = dense(ys, xs, run)
    if matrix.size:
        assert found.matrix.shape == matrix.shape
        assert not np.any((matrix != 0) & ~found.matrix.toarray())


def _x(rng, *shape):
    return tf.constant(rng.uniform(0.5, 2, shape))


def _laplacian(u):
    return tf.roll(u, 1, 0) + tf.roll(u, -1, 1) - u


def _loop(x, turns):
    def step(i, u):
        return i + 1, u * tf.concat([u[1:], u[:1]], 0)

    return tf.while_loop(lambda i, u: i < turns, step, [0, x])[1]


EXACT = {
    "three-point": lambda x: (x[:, 1:] - x[:, :-1]) ** 2,
    "five-point, periodic": lambda x: _laplacian(x) * x,
    "gather": lambda x: tf.gather(x, [2, 0, 2], axis=1) ** 2,
    "scatter": lambda x: tf.scatter_nd([[1], [3], [1]], x[:3] ** 2, [5, 6]),
    "segments": lambda x: tf.math.unsorted_segment_sum(x**3, [0, 2, 0, 1, 2], 3),
    "reverse": lambda x: tf.reverse(x, [0]) * 2.0,
    "concat": lambda x: tf.concat([x[:2] ** 2, tf.sin(x[4:])], 0),
    "conv 2-D": lambda x: tf.nn.conv2d(x[None, :, :, None] ** 2, tf.ones([3, 2, 1, 2], x.dtype), 1, "SAME"),
    "conv 2-D, strides": lambda x: tf.nn.conv2d(x[None, :, :, None], tf.ones([2, 2, 1, 1], x.dtype), 2, "VALID"),
    "conv 3-D": lambda x: tf.nn.conv3d(
        tf.reshape(x, [1, 5, 3, 2, 1]) ** 2, tf.ones([2, 2, 1, 1, 1], x.dtype), [1, 2, 1, 1, 1], "SAME"
    ),
    "batched matmul": lambda x: tf.matmul(tf.reshape(x, [5, 3, 2]), tf.reshape(x, [5, 2, 3])),
    "conv 3-D, transposed": lambda x: tf.nn.conv3d_transpose(
        tf.reshape(x, [1, 5, 3, 2, 1]) ** 2,
        tf.ones([2, 2, 1, 1, 1], x.dtype),
        [1, 10, 3, 4, 1],
        [1, 2, 1, 2, 1],
        "SAME",
    ),
    "depthwise": lambda x: tf.nn.depthwise_conv2d(
        tf.reshape(x, [1, 5, 3, 2]) ** 2, tf.ones([2, 2, 2, 2], x.dtype), [1, 2, 2, 1], "SAME"
    ),
    "average pooling, 3-D": lambda x: tf.cast(
        tf.nn.avg_pool3d(tf.reshape(tf.cast(x, tf.float32), [1, 5, 3, 2, 1]), [2, 2, 1], 1, "SAME"), x.dtype
    ),
    "average pooling of channels": lambda x: tf.nn.avg_pool2d(tf.reshape(x, [1, 5, 3, 2]), [2, 1], [2, 1], "VALID"),
    "resized": lambda x: tf.cast(tf.image.resize(tf.reshape(x, [1, 5, 3, 2]), [7, 4]), x.dtype),
    "average pooling": lambda x: tf.nn.avg_pool2d(x[None, :, :, None] ** 2, 2, 2, "SAME"),
    "cumulative sums": lambda x: tf.cumsum(x**2, 1, exclusive=True, reverse=True),
    "a loop of known length": lambda x: _loop(x, 2),
    "map_fn": lambda x: tf.map_fn(lambda r: r[1:] * r[:-1], x),
    "a function": lambda x: tf.function(lambda u: u[1:] * u[:-1])(x),
    "stop_gradient": lambda x: x * tf.stop_gradient(tf.reverse(x, [0])),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_exact(name, rng, graph, run):
    x = _x(rng, 5, 6)
    y = EXACT[name](x)
    found = pattern(y, x)
    assert not found.coarse
    np.testing.assert_array_equal(found.matrix.toarray(), dense(y, x, run) != 0)


def test_dilated_convolution(graph, run):
    # The CPU has no gradient for dilations: the matrix of this linear function is made of its values instead.
    def convolved(images):
        return tf.nn.conv2d(images, tf.ones([2, 2, 1, 1], tf.float64), 1, "SAME", dilations=2)

    x = tf.zeros([1, 5, 6, 1], tf.float64)
    units = run(convolved(np.eye(30).reshape(30, 5, 6, 1))).reshape(30, 30)
    np.testing.assert_array_equal(pattern(convolved(x), x).matrix.toarray(), units.T != 0)


def test_any_place_of_a_window_can_be_the_largest(rng, graph, run):
    x = _x(rng, 1, 4, 6, 2)
    found = pattern(tf.nn.max_pool2d(x, 2, 2, "VALID"), x)
    places = np.arange(48).reshape(2, 2, 3, 2, 2).transpose(0, 2, 4, 1, 3).reshape(-1, 4)  # by window: 4 of the image
    wanted = np.zeros((12, 48), bool)
    wanted[np.arange(12)[:, None], places] = True
    assert not found.coarse
    np.testing.assert_array_equal(found.matrix.toarray(), wanted)


def test_an_op_without_a_kernel_in_double_precision_is_run_in_its_own(graph, run):
    a, b = tf.constant(np.eye(3, 4, dtype=np.float32)), tf.constant(np.float32([[0, 1], [2, 0], [0, 0], [0, 3]]))
    y = tf.raw_ops.SparseMatMul(a=a, b=b, a_is_sparse=True)
    found = pattern(y, a)
    assert not found.coarse
    wanted = np.kron(np.eye(3), run(b).T) != 0
    np.testing.assert_array_equal(found.matrix.toarray(), wanted)


def test_both_branches_of_a_cond_count(rng, graph, run):
    x = _x(rng, 6)
    y = tf.cond(x[0] > 1.0, lambda: x[1:] * 2.0, lambda: x[:-1] ** 2)
    wanted = np.eye(5, 6) + np.eye(5, 6, 1) > 0
    np.testing.assert_array_equal(pattern(y, x).matrix.toarray(), wanted)


def test_a_straight_through_estimator_acts_on_the_pattern_as_on_the_value(graph, run):
    @tf.custom_gradient
    def rounded(x):
        return tf.round(x), lambda dy: dy

    x = tf.constant([0.3, 1.2, 2.7])
    assert pattern(rounded(x)[1:] * 2.0, x).matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]


def test_several_ys_and_xs_lie_side_by_side(rng, graph, run):
    a, b = _x(rng, 2, 2), tf.constant(rng.uniform(1, 2, 3).astype(np.float32))
    ys = {"p": tf.cast(b, tf.float64)[:2] * a[0], "q": b[::-1]}
    found = pattern(ys, [a, b])
    assert found.offsets == ([0, 2, 5], [0, 4, 7])
    np.testing.assert_array_equal(found.matrix.toarray(), dense(ys, [a, b], run) != 0)


def test_a_hessian_pattern_is_symmetric_and_exact(rng, graph, run):
    x = _x(rng, 8)
    y = tf.reduce_sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    found = hessian_pattern(y, x).matrix.toarray()
    np.testing.assert_array_equal(found, run(symgrad.hessian(y, x)) != 0)


def test_what_is_dense_is_named_with_its_cause(graph):
    x = tf.constant([3.0, 1.0, 2.0])
    (coarse,) = {c.cause for c in pattern(tf.gather(x, tf.argsort(x)), x).coarse}
    assert "changes with x" in coarse


def test_an_unknown_shape_says_how_to_feed_it_and_is_fed(graph, run):
    x = tf.placeholder(tf.float64, [None])
    y = x[1:] * x[:-1]
    with pytest.raises(PatternError, match="feed_dict"):
        pattern(y, x)
    found = pattern(y, x, session=run.session, feed_dict={x: np.ones(4)})
    assert found.matrix.toarray().tolist() == [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_zeros_that_may_be_other_numbers_hide_nothing(graph, run):
    x, w = tf.zeros([3, 3], tf.float64), tf.get_variable("w", initializer=np.zeros((3, 3)), use_resource=True)
    run(tf.no_op())
    assert pattern(x @ x, x).matrix.nnz == 45  # row i by row i, column j by column j
    assert pattern(x * x, x).matrix.nnz == 9
    assert pattern(x @ w, x, session=run.session).matrix.nnz == 27
    assert pattern(tf.where(w > 0, x, 2 * x), x, session=run.session).matrix.nnz == 9
    assert pattern(tf.map_fn(lambda r: r * x[0], x), x).matrix.nnz == 15
    assert pattern(x * tf.constant(np.eye(3)), x).matrix.nnz == 3  # but these are zero for ever


def test_a_picture(graph):
    x = tf.constant([1.0, 2.0])
    assert pattern(x**2, x).spy().axes
