"""Over every op that TensorFlow differentiates: no pattern misses an entry, at five points."""

import contextlib
import zlib

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from matrices import Columns
from sessions import AS_BUILT
from sweep import coverage
from sweep.table import Row
from sweep.tables import ROWS
from worlds import control_flow

from symgrad import errors
from symgrad.sparsity import pattern
from symgrad.testing._probe import Probe

VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
# Minutes: their derivatives are loops of hundreds of ops.
SLOW = {"BlockLSTM", "BlockLSTMV2"}
SWEPT = [r for r in ROWS if r.since <= VERSION and r.op not in SLOW]
COLUMNS = 12  # of each matrix, at each point


def built(row: Row, rng, stack):
    """The row in the default graph and a session; None if it cannot be run here."""
    try:
        with control_flow(v2=True):
            ys, xs = row.build(rng)
        session = stack.enter_context(tf.Session(config=AS_BUILT))
        session.run(tf.global_variables_initializer())
        return Probe(ys, xs, session, None)
    except Exception:
        assert row.op in coverage.CANNOT_RUN
        return None


def patterned(row, probe):
    """The pattern as an array; None for what has no derivative, and says so."""
    try:
        return pattern(probe.ys, [x.given for x in probe.xs], session=probe.session).matrix.toarray()
    except (errors.MissingRuleError, errors.NotLinearError):
        return None


def moved(points, rng):
    """Not far from `points`, so that the function is defined there: zeros stay, what is integral does not."""
    return [(p * rng.uniform(0.9, 1.1, p.shape)).astype(p.dtype) for p in points]


@pytest.mark.parametrize("part", range(8))
def test_no_entry_is_missed_at_five_points(part):
    for row in SWEPT[part::8]:
        rng = np.random.default_rng(zlib.crc32(row.label.encode()))
        with tf.Graph().as_default() as graph, contextlib.ExitStack() as stack:
            probe = built(row, rng, stack)
            if probe is None:
                continue
            count = len(graph.get_operations())
            found = patterned(row, probe)
            assert len(graph.get_operations()) == count, row.label
            if found is None:
                continue
            columns, here = Columns(probe), probe.points()
            for point in (here, *(moved(here, rng) for _ in range(4))):
                for k, column in columns.at(point, COLUMNS):
                    missed = np.isfinite(column) & (column != 0) & ~found[:, k]
                    assert not missed.any(), f"{row.label}: {np.argwhere(missed)} of column {k}"
