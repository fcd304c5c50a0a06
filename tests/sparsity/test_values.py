"""The values of sparse Jacobians and Hessians, and patterns that are wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow.compat.v1 as tf

import symgrad
from symgrad.errors import DisconnectedError, PatternError, ShapeError, SymgradError
from symgrad.sparsity import Coloring, pattern


def _broyden(x):
    padded = tf.pad(x, [[1, 1]])
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


def test_broyden_by_its_formula(rng, graph, run):
    x = tf.constant(rng.standard_normal(7))
    J = symgrad.sparse_jacobian(_broyden(x), x)
    n = 7
    wanted = np.diag(3 - 4 * run(x)) - np.eye(n, k=-1) - 2 * np.eye(n, k=1)
    np.testing.assert_allclose(J.run(run.session).toarray(), wanted, rtol=1e-14)
    assert J.coloring.colors == 3
    in_graph = run(tf.sparse.to_dense(J.tensor()))
    np.testing.assert_allclose(in_graph, wanted, rtol=1e-14)


@pytest.mark.parametrize("mode", ["columns", "rows", "both"])
@pytest.mark.parametrize("block_size", [None, 2])
def test_every_mode_and_block_size_gives_the_same(mode, block_size, rng, graph, run):
    a, b = tf.constant(rng.standard_normal((2, 3))), tf.constant(rng.standard_normal(3).astype(np.float32))
    ys = [a[:, 1:] * a[:, :-1], tf.cast(b, tf.float64) * tf.reduce_sum(a), b[::-1] ** 2]
    coloring = Coloring(pattern(ys, [a, b]), mode=mode)
    found = symgrad.sparse_jacobian(ys, [a, b], coloring=coloring, block_size=block_size).run(run.session).toarray()
    blocks = run(symgrad.jacobian(ys, [a, b], disconnected="zero"))
    wanted = np.concatenate(
        [np.concatenate([d.reshape(-1, n) for d, n in zip(row, (6, 3), strict=True)], 1) for row in blocks]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)  # b is float32


def test_a_hessian_and_the_derivative_of_its_values(rng, graph, run):
    x = tf.constant(rng.standard_normal(6))
    y = tf.reduce_sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    H = symgrad.sparse_hessian(y, x, check=True)
    dense = symgrad.hessian(y, x)
    np.testing.assert_allclose(H.run(run.session).toarray(), run(dense), rtol=1e-12, atol=1e-12)
    third = symgrad.gradients(tf.reduce_sum(H.values**2), x)[0]
    np.testing.assert_allclose(run(third), run(symgrad.gradients(tf.reduce_sum(dense**2), x)[0]), rtol=1e-10)


def test_complex_values_are_those_of_the_holomorphic_derivative(rng, graph, run):
    z = tf.constant(rng.standard_normal(5) + 1j * rng.standard_normal(5))
    for mode in ("columns", "rows"):
        y = z[1:] ** 2 * z[:-1]
        found = symgrad.sparse_jacobian(y, z, coloring=Coloring(pattern(y, z), mode=mode)).run(run.session)
        v = run(z)
        wanted = np.eye(4, 5) * v[1:, None] ** 2 + np.eye(4, 5, 1) * (2 * v[1:] * v[:-1])[:, None]
        np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-14)


def test_unknown_sizes_are_built_when_fed(graph, run):
    x = tf.placeholder(tf.float64, [None])
    J = symgrad.sparse_jacobian(_broyden(x), x)
    with pytest.raises(PatternError, match="not all known"):
        J.values  # noqa: B018
    for n in (3, 6, 3):
        found = J.run(run.session, {x: np.zeros(n)}).toarray()
        np.testing.assert_allclose(found, 3 * np.eye(n) - np.eye(n, k=-1) - 2 * np.eye(n, k=1))


def test_empty_tensors(graph, run):
    x = tf.zeros([0], tf.float64)
    assert symgrad.sparse_jacobian(x * 2, x).run(run.session).shape == (0, 0)


def test_a_missed_entry_is_found(rng, graph, run):
    x = tf.constant(rng.standard_normal(9))
    y = _broyden(x)
    right = pattern(y, x).matrix
    for lost in (0, 4, 12):
        kept = np.ones(right.nnz, bool)
        kept[lost] = False
        rows = np.repeat(np.arange(9), np.diff(right.indptr))
        wrong = sp.csr_array((np.ones(right.nnz - 1), (rows[kept], right.indices[kept])), (9, 9))
        J = symgrad.sparse_jacobian(y, x, pattern=wrong)
        with pytest.raises(PatternError, match=rf"row {rows[lost]}, that is add.*\[{rows[lost]}\]"):
            J.run(run.session)
        if lost == 4:
            with pytest.raises(tf.errors.InvalidArgumentError, match="misses an entry"):
                run(symgrad.sparse_jacobian(y, x, pattern=wrong, check=True).values)


def test_a_pattern_with_more_entries_gives_the_same(rng, graph, run):
    x = tf.constant(rng.standard_normal(5))
    full = symgrad.sparse_jacobian(_broyden(x), x, pattern=sp.csr_array(np.ones((5, 5))))
    exact = symgrad.sparse_jacobian(_broyden(x), x)
    np.testing.assert_allclose(full.run(run.session).toarray(), exact.run(run.session).toarray(), atol=1e-14)


def test_what_is_refused_leaves_no_op(graph):
    x = tf.constant([1.0, 2.0])
    y = x**2
    count = len(graph.get_operations())
    with pytest.raises(PatternError, match="has 2 rows"):
        symgrad.sparse_jacobian(y, x, pattern=sp.eye_array(3))
    with pytest.raises(ValueError, match="both given"):
        symgrad.sparse_jacobian(y, x, pattern=sp.eye_array(2), coloring=Coloring(sp.eye_array(2)))
    with pytest.raises(DisconnectedError):
        symgrad.sparse_jacobian(tf.get_default_graph().get_tensor_by_name(x.name), y)
    assert len(graph.get_operations()) == count


REFUSED = {
    "no rule": lambda x: tf.reduce_sum(tf.raw_ops.ExtractGlimpse(input=x * x, size=[2, 2], offsets=[[0.0, 0.0]])),
    "no path": lambda x: tf.constant(1.0),
    "no gradient on purpose": lambda x: tf.reduce_sum(tf.raw_ops.PreventGradient(input=x * x, message="on purpose")),
}


@pytest.mark.parametrize("given", [False, True], ids=["found", "given"])
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("operator", [symgrad.sparse_jacobian, symgrad.sparse_hessian])
def test_a_refused_derivative_leaves_no_op(operator, name, given, graph):
    x = tf.ones([1, 3, 3, 1])
    y = REFUSED[name](x)
    pattern_ = sp.csr_array(np.ones((9 if operator is symgrad.sparse_hessian else 1, 9))) if given else None
    count = len(graph.get_operations())
    with pytest.raises(SymgradError):
        operator(y, x, pattern=pattern_)
    assert len(graph.get_operations()) == count


def test_a_refused_hessian_leaves_no_op(graph):
    x = tf.ones([4])
    squares = x**2
    y = tf.reduce_sum(squares)
    count = len(graph.get_operations())
    with pytest.raises(PatternError, match="has 4 rows"):
        symgrad.sparse_hessian(y, x, pattern=sp.eye_array(3))
    with pytest.raises(ShapeError):
        symgrad.sparse_hessian(squares, x)
    with pytest.raises(PatternError, match="not symmetric"):
        symgrad.sparse_hessian(y, x, pattern=sp.eye_array(4, k=1))
    assert len(graph.get_operations()) == count
