"""What XLA compiles gives what a session gives, op by op; what it does not compile, or otherwise, stays outside."""

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from sweep.coverage import CANNOT_RUN
from sweep.tables import ROWS
from symgrad.errors import SymgradError

VERSION = tuple(int(part) for part in tf2.__version__.split(".")[:2])
# Short sums in another order: of numbers of size 1 in double precision, in single, in half.
TOLERANCE = {8: 1e-12, 4: 1e-5, 2: 1e-2}
# They fail in the run, and say why.
FAILS = {
    "TensorArrayConcatV3": "lengths must be equal",
    "TensorArraySplitV3": "lengths must be equal",
}
# Rows that are compiled together: a function has a price of its own.
TOGETHER = 24
SWEPT = [row for row in ROWS if row.since <= VERSION and row.op not in {*FAILS, *CANNOT_RUN}]
CHUNKS = [SWEPT[i : i + TOGETHER] for i in range(0, len(SWEPT), TOGETHER)]


def _fetches(row, session):
    """What is compared, and the xs of which it is computed."""
    with control_flow(v2=True), tf.variable_scope(None, "row"):
        ys, xs = (tf.nest.flatten(t) for t in row.build(np.random.default_rng(0)))
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    try:
        found = ys + symgrad.Lop(ys, xs, [tf.ones_like(y) for y in ys], disconnected="zero")
    except SymgradError:
        found = ys
    fetches = [tf.identity(t) for t in found if isinstance(t, tf.Tensor) and t.dtype != tf.variant]
    return fetches, [x for x in xs if isinstance(x, tf.Tensor)]


@pytest.mark.parametrize("chunk", range(len(CHUNKS)), ids=lambda i: CHUNKS[i][0].label)
def test_compiled_is_as_plain(chunk):
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session:
        rows, fetches, fed = [], [], []
        for row in CHUNKS[chunk]:
            found, xs = _fetches(row, session)
            rows += [row.label] * len(found)
            fetches += found
            fed += xs
        fast = symgrad.compiled(fetches, fed)
        want, got = session.run((fetches, fast), dict(zip(fed, session.run(fed), strict=True)))
    off = {row: bad for row, a, b in zip(rows, want, got, strict=True) if (bad := _off(a, b))}
    assert off == {}


def _off(want, got):
    """How far it is off, relative to the largest element and 1, if that is too far."""
    want, got = np.asarray(want), np.asarray(got)
    if want.dtype.kind not in "fc" or not want.size:
        return 0 if np.array_equal(want, got) else np.inf
    part = np.real(want).dtype.itemsize
    if want.shape != got.shape or not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return np.inf
    there = np.isfinite(want)
    bad = np.max(np.abs(got - want)[there], initial=0) / max(1, np.max(np.abs(want)[there], initial=0))
    return bad if bad > TOLERANCE[part] else 0
