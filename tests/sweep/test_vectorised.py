"""Every op that the vectoriser converts, many vectors at once against one vector at a time, by rows and by columns."""

import re
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
from symgrad._jacobians._sweep import vectorised
from symgrad._problem import Problem

COUNT = 2
# What runs one vector at a time and fails in the session when many are taken: stacks of lists put together.
FAILS = frozenset({"TensorListConcatLists"})
# What draws other numbers in each run, and so has another derivative in each.
DRAWS = frozenset({"RandomGamma"})
# What TensorFlow says of an op that has no converter, or none for vectors at that input; and where its converter joins
# sizes of two integer types (the gradients of SparseFillEmptyRows).
NOT_CONVERTED = re.compile("vectorization|loop invariant|takes elements of a TensorList for vectors|don't all match")
# Variants that differ from another row of the op in nothing that the vectoriser sees, and take long to build.
ALIKE = frozenset(
    {"AdjustHue", "AdjustSaturation"} | {f"BlockLSTM{form} steps)" for form in (" (1 of 2", "V2 (1 of 2", "V2 (2 of 2")}
)
# Of an op with more inputs or outputs the first: TensorFlow takes 10 s and more to convert the loop of BlockLSTM.
LEAVES = 4
CHOSEN = [
    r
    for r in ROWS
    if r.since <= VERSION and r.op not in {*coverage.CANNOT_RUN, *FAILS, *DRAWS} and r.label not in ALIKE
]
# The same operations on the same numbers, summed in another order.
FINE, COARSE = 1e-9, 1e-3


@pytest.mark.parametrize("row", CHOSEN, ids=lambda r: r.label)
def test_many_vectors_at_once_are_what_they_are_one_at_a_time(row):
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    with tf.Graph().as_default() as graph, tf.Session(config=AS_BUILT) as session:
        ys, xs = row.build(rng)
        ys, xs = tf.nest.flatten(ys), _tensors.inputs(xs, graph)
        session.run(tf.global_variables_initializer())
        for kind in (Rows, Columns):
            for one, vectors, single, together in _both(kind, ys, xs, rng, session):
                try:
                    at_once = session.run(together)
                except tf.errors.OpError:
                    assert not _runs(session, single, {one: vectors[0]}), "it runs one vector at a time"
                    continue
                apart = [session.run(single, {one: v}) for v in vectors]
                _compare(
                    at_once, [np.stack(column) for column in zip(*apart, strict=True)], COARSE if row.coarse else FINE
                )


def _compare(at_once, apart, tolerance):
    for got, want in zip(at_once, apart, strict=True):
        scale = max(1.0, np.max(np.abs(want), initial=0))
        np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=tolerance)


def _both(kind, ys, xs, rng, session):
    """For each map of the kind: a vector to feed, some, what comes of the one that is fed, and of all of them at once.

    Nothing for what is refused, and for what goes one vector at a time.
    """
    try:
        maps = kind(Problem(ys, xs))
    except errors.SymgradError:
        return
    leaves = ys if kind is Rows else xs
    for k, leaf in enumerate(leaves if len(leaves) <= LEAVES else leaves[:1]):
        value = leaf if kind is Rows else leaf.value()
        shape = value.shape.as_list() if value.shape.is_fully_defined() else session.run(tf.shape(value)).tolist()
        vectors = rng.standard_normal([COUNT, *shape]).astype(leaf.dtype.base_dtype.as_numpy_dtype)
        linear = maps.on(k, COUNT, lambda indices, v=vectors: tf.gather(v, indices))
        if linear is None or linear.in_frames or not linear.vectorisable:
            continue
        one = tf.placeholder(vectors.dtype, shape)
        try:
            single = linear.apply(one)
            together = vectorised(linear, tf.range(COUNT), [part is not None for part in single])
        except errors.SymgradError:
            continue
        except (ValueError, TypeError) as error:
            if not NOT_CONVERTED.search(str(error)):
                raise
            continue
        yield one, vectors, [part for part in single if part is not None], together


def _runs(session, fetches, feeds):
    try:
        session.run(fetches, feeds)
    except tf.errors.OpError:
        return False
    return True
