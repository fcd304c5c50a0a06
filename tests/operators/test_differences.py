"""Lop, Rop and the Jacobian against central differences in float64 over the table of cases."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from cases import CASES

import symgrad
from symgrad.testing import numeric_jacobian, verify_grad
from symgrad.testing._numeric import numeric_rop
from symgrad.testing._probe import Probe, random_like

# Central differences of step 6e-6 leave some 1e-10 of smooth functions of size one; the cases go up to a hundred.
TOLERANCE = 1e-6


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE * max(1, np.max(np.abs(want), initial=0)))


@pytest.mark.core
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_lop(case):
    with tf.Graph().as_default():
        ys, xs = case(np.random.default_rng(0))
        verify_grad(ys, xs, seed=2, tol=TOLERANCE)


BY_METHOD = [(c, m) for c in CASES for m in ("double_vjp", "forward") if not (c.no_rop and m == "double_vjp")]


@pytest.mark.core
@pytest.mark.parametrize(("case", "method"), BY_METHOD, ids=lambda v: getattr(v, "name", v))
def test_rop(case, method):
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        ys, xs = case(rng)
        probe = Probe(ys, xs, None, None)
        points = probe.points()
        v = [random_like(p.shape, x.dtype, rng) for p, x in zip(points, probe.xs, strict=True)]
        want = numeric_rop(probe, points, v)
        got = symgrad.Rop(ys, xs, tf.nest.pack_sequence_as(xs, v), method=method, disconnected="zero")
        for g, w in zip(probe.run(tf.nest.flatten(got)), want, strict=True):
            close(g, w)


@pytest.mark.parametrize("case", [c for c in CASES if not c.no_rop], ids=lambda c: c.name)
def test_jacobian(case):
    with tf.Graph().as_default():
        ys, xs = case(np.random.default_rng(0))
        session = Probe(ys, xs, None, None).session
        want = numeric_jacobian(ys, xs, session=session)
        got = symgrad.jacobian(ys, xs, disconnected="zero")
        for g, w in zip(session.run(tf.nest.flatten(got)), tf.nest.flatten(want), strict=True):
            close(g, w)
