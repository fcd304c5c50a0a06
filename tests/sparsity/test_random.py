"""Random graphs with random valid colourings: the matrix explains every product, and an entry that is lost is found."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from matrices import Columns
from random_graphs import build, draw

import symgrad
from symgrad import errors
from symgrad.errors import PatternError
from symgrad.sparsity import Coloring, pattern
from symgrad.testing._probe import Probe

N = 6
STEPS = [
    lambda x, k: x * tf.roll(x, k, 0),
    lambda x, k: tf.sin(x) + tf.gather(x, [k % N, 0, 3, 2, 5, k % 3]),
    lambda x, k: tf.pad(x[:-1] * x[1:], [[k % 2, 1 - k % 2]]),
    lambda x, k: tf.math.unsorted_segment_sum(x**2, [0, 2, 2, 5, k % N, 1], N),
    lambda x, k: tf.cumsum(x, exclusive=True) / 4 if k == 0 else tf.reverse(x, [0]) * 0.5,
    lambda x, k: tf.where(tf.range(N) < k, x**2, x),
    lambda x, k: tf.tensordot(tf.constant(np.eye(N, k=k) + 0.5 * np.eye(N, k=-k)), x, 1),
]
PROGRAMS = st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 3)), min_size=1, max_size=4)


def function(steps, x):
    y = x
    for kind, k in steps:
        y = STEPS[kind](y, k)
    return y


def random_coloring(found, rng):
    """Each column, in an order by chance, in a colour by chance among those that are free, or in a new one."""
    dense = found.matrix.toarray()
    colors = np.full(N, -1)
    for j in rng.permutation(N):
        taken = set(colors[(dense & dense[:, [j]]).any(0) & (colors >= 0)].tolist())
        colors[j] = rng.choice([c for c in range(colors.max() + 2) if c not in taken])
    _, colors = np.unique(colors, return_inverse=True)
    return Coloring.from_colors(found.matrix, columns=colors)


@settings(max_examples=25)
@given(PROGRAMS, st.integers(0, 2**32 - 1))
def test_the_matrix_explains_every_product_whatever_the_colouring(steps, seed):
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default(), tf.Session() as session:
        x, r = tf.constant(rng.uniform(0.5, 1.5, N)), rng.standard_normal(N)
        y = function(steps, x)
        found = pattern(y, x)
        J = symgrad.sparse_jacobian(y, x, coloring=random_coloring(found, rng)).run(session)
        pushed = session.run(symgrad.Rop(y, x, r, disconnected="zero"))
        # Sums of at most N terms, added in another order.
        np.testing.assert_allclose(J @ r, pushed, rtol=1e-12, atol=1e-12 * np.abs(J).dot(np.abs(r)).max())


@settings(max_examples=25)
@given(PROGRAMS, st.integers(0, 2**32 - 1))
def test_an_entry_that_is_lost_is_always_found(steps, seed):
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(rng.uniform(0.5, 1.5, N))
        y = function(steps, x)
        J = symgrad.sparse_jacobian(y, x).run(session).tocoo()
        there = np.flatnonzero(np.abs(J.data) > 1e-6 * np.abs(J.data).max(initial=0))
        if not len(there):
            return
        kept = np.arange(J.nnz) != rng.choice(there)
        wrong = sp.csr_array((np.ones(J.nnz - 1), (J.row[kept], J.col[kept])), J.shape)
        with pytest.raises(PatternError, match="misses an entry"):
            symgrad.sparse_jacobian(y, x, pattern=wrong, check=True).run(session)


SEED, GRAPHS, SHOWN = 2026, 40, 20


@pytest.mark.parametrize("part", range(4))
def test_no_random_graph_has_an_entry_that_is_missed(part):
    """Of those that TensorFlow and Rop can do."""
    rng = np.random.default_rng(part)
    for number in range(part * GRAPHS // 4, (part + 1) * GRAPHS // 4):
        program = draw.draw(SEED, number)
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                names = build.execute(build.text(program), symgrad)
                session.run([tf.global_variables_initializer(), tf.tables_initializer()])
                probe = Probe(names["ys"], names["xs"], session, None)
                columns, here = Columns(probe), probe.points()
                points = [here, *([(p * rng.uniform(0.9, 1.1, p.shape)).astype(p.dtype) for p in here] for _ in "ab")]
                at = [pair for point in points for pair in columns.at(point, SHOWN)]
            except Exception:  # TensorFlow cannot run it, or it has no Rop: nothing to hold a pattern to
                continue
            feeds = {names[leaf.name]: leaf.value for leaf in program.inputs if leaf.kind == "placeholder"}
            try:
                found = pattern(probe.ys, [x.given for x in probe.xs], session=session, feed_dict=feeds)
            except errors.SymgradError:
                continue
            for k, column in at:
                missed = np.isfinite(column) & (column != 0) & ~found.matrix[:, [k]].toarray()[:, 0]
                assert not missed.any(), f"{missed.nonzero()[0]} of column {k}\n{build.text(program)}"
