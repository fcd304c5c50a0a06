"""Jets of order 3 through single ops, every eighth row of the sweep, are what nested Rops give."""

import contextlib
import zlib

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from symgrad import errors
from symgrad.testing._probe import Probe, random_like

from .tables import ROWS

VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
ORDER = 3
# Of values that are no tensors: their sums and multiples are made otherwise.
VARIANTS = {"OptionalFromValue", "OptionalGetValue", "SparseMatrixSparseMatMul"}
# Half a minute a row: their derivatives are loops of hundreds of ops.
SLOW = {"BlockLSTM", "BlockLSTMV2"}
HERE = [row for row in ROWS if row.since <= VERSION]
CHOSEN = [row for n, row in enumerate(HERE) if (n % 8 == 0 or row.op in VARIANTS) and row.op not in SLOW]


def nested(ys, xs, v):
    found = []
    for _ in range(ORDER):
        ys = symgrad.Rop(ys, xs, v, disconnected="zero")
        found.append(ys)
    return [list(of_one) for of_one in zip(*found, strict=True)]


def difference(row):
    """The largest difference, relative to the largest derivative of that order or to one; None if there are none."""
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    with tf.Graph().as_default(), contextlib.ExitStack() as stack:
        with control_flow(v2=True):
            ys, xs = row.build(rng)
        session = stack.enter_context(tf.Session(config=AS_BUILT))
        session.run(tf.global_variables_initializer())
        probe = Probe(ys, xs, session, None)
        given = [x.given for x in probe.xs]
        v = [random_like(p.shape, x.dtype, rng) for p, x in zip(probe.points(), probe.xs, strict=True)]
        try:
            jets = symgrad.jet(probe.ys, given, [[a, None, None] for a in v])
        except errors.SymgradError:
            return None
        got, want = probe.run([jets, nested(probe.ys, given, v)])
        pairs = [pair for of_one in zip(got, want, strict=True) for pair in zip(*of_one, strict=True)]
        return max(np.max(np.abs(g - w), initial=0) / max(1, np.max(np.abs(w), initial=0)) for g, w in pairs)


@pytest.mark.parametrize("part", range(4))
def test_jets_are_what_nested_rops_give(part):
    compared = 0
    for row in CHOSEN[part::4]:
        try:
            off = difference(row)
        except tf.errors.OpError:  # no kernel on this machine
            continue
        if off is not None:
            compared += 1
            assert off <= (1e-4 if row.coarse else 1e-12), f"{row.label}: off by {off:.1e}"
    assert compared > 8
