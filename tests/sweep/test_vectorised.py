"""Every op that the vectoriser converts, many vectors at once against one vector at a time, by rows and by columns."""

import zlib

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

from sweep import coverage
from sweep.tables import ROWS
from sweep.test_sweep import VERSION
from symgrad import _tensors, errors
from symgrad._jacobians._linear_maps import Columns, Rows
from symgrad._jacobians._vectorise import vectorised
from symgrad._problem import Problem

COUNT = 2
# What runs one vector at a time and fails in the session when many are taken: stacks of lists put together.
FAILS = frozenset({"TensorListConcatLists"})
NOT_CONVERTED = (
    errors.SymgradError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)
CHOSEN = [r for r in ROWS if r.since <= VERSION and r.op not in {*coverage.CANNOT_RUN, *FAILS}]
# The same operations on the same numbers, summed in another order.
FINE, COARSE = 1e-9, 1e-3


@pytest.mark.parametrize("row", CHOSEN, ids=lambda r: r.label)
def test_many_vectors_at_once_are_what_they_are_one_at_a_time(row):
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    with tf.Graph().as_default() as graph, tf.Session(config=AS_BUILT) as session:
        ys, xs = row.build(rng)
        ys, xs = tf.nest.flatten(ys), _tensors.inputs(xs, graph)
        pairs = [pair for kind in (Rows, Columns) for pair in _both(kind, ys, xs, rng, session)]
        session.run(tf.global_variables_initializer())
        try:
            found = session.run([[together, apart] for together, apart in pairs])
        except tf.errors.OpError:
            assert not _runs(session, [apart for _, apart in pairs]), "it runs one vector at a time"
            return
        for together, apart in found:
            scale = max(1.0, np.max(np.abs(apart), initial=0))
            np.testing.assert_allclose(together / scale, apart / scale, rtol=0, atol=COARSE if row.coarse else FINE)


def _both(kind, ys, xs, rng, session):
    """What `kind` of maps gives for a few vectors, at once and one after the other; nothing where it is refused."""
    try:
        maps = kind(Problem(ys, xs))
    except errors.SymgradError:
        return
    for k, leaf in enumerate(ys if kind is Rows else xs):
        value = leaf if kind is Rows else leaf.value()
        shape = value.shape.as_list() if value.shape.is_fully_defined() else session.run(tf.shape(value)).tolist()
        vectors = tf.constant(rng.standard_normal([COUNT, *shape]).astype(leaf.dtype.base_dtype.as_numpy_dtype))
        linear = maps.on(k, COUNT, lambda indices, v=vectors: tf.gather(v, indices))
        if linear is None or linear.in_frames:
            continue
        try:
            apart = list(zip(*(linear.apply(vectors[j]) for j in range(COUNT))))
            together = vectorised(linear, tf.range(COUNT), [column[0] is not None for column in apart])
        except NOT_CONVERTED:
            continue  # it goes one vector at a time
        yield from zip(together, (tf.stack(column) for column in apart if column[0] is not None))


def _runs(session, fetches):
    try:
        session.run(fetches)
    except tf.errors.OpError:
        return False
    return True
