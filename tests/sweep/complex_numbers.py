"""Take every road through a row whose xs are complex: derivatives along real and along imaginary directions."""

import contextlib
import re
import zlib

import numpy as np
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from sweep.run import (
    ADJOINT_COARSE,
    ADJOINT_FINE,
    COARSE,
    FINE,
    Verdict,
    compared,
    differences,
    first_line,
    loss_of,
    step,
)
from sweep.table import ComplexDraws
from symgrad import errors
from symgrad.testing._probe import Probe, inner, random_like

ROADS = ("Lop", "double_vjp", "forward", "hvp")
# What TensorFlow says of an op whose dtypes are real.
_NOT_COMPLEX = re.compile("complex128 not in list of allowed values|complex128 that does not match expected type")


def sweep(row):
    """For each road its Verdict; "real only" or "no kernel" for a row that takes no complex numbers."""
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    with tf.Graph().as_default(), contextlib.ExitStack() as stack:
        with control_flow(v2=True):
            try:
                ys, xs = row.build(ComplexDraws(rng))
            except NotImplementedError:
                return "no kernel"
            except (TypeError, ValueError) as error:
                if not _NOT_COMPLEX.search(str(error)):
                    raise
                return "real only"
        session = stack.enter_context(tf.Session(config=AS_BUILT))
        probe = Probe(ys, xs, session, None)
        if not any(x.dtype.base_dtype == tf.complex128 for x in probe.xs):
            return "real only"
        try:
            session.run(tf.global_variables_initializer())
            case = _Case(row, probe, rng)
        except tf.errors.OpError as error:
            if "No OpKernel was registered" not in str(error):
                raise
            return "no kernel"
        return {road: case.verdict(road) for road in ROADS}


class _Case:
    def __init__(self, row, probe, rng):
        self.row, self.probe, self.rng = row, probe, rng
        self.given = [x.given for x in probe.xs]
        self.points = probe.points()
        self.tolerance = COARSE if row.coarse else FINE
        self.directions = [self._directions(turn) for turn in (1, 1j)]
        self.u = [random_like(s, y.dtype, rng) for s, y in zip(probe.shapes(), probe.ys, strict=True)]
        self.want = [differences(probe, probe.ys, d, step(row)) for d in self.directions]
        self.pulled = None
        self.v = [tf.placeholder(x.dtype.base_dtype, p.shape) for x, p in zip(probe.xs, self.points, strict=True)]

    def _directions(self, turn):
        """Random numbers, real or imaginary where x is complex."""
        return [
            self.rng.standard_normal(p.shape) * (turn if x.dtype.is_complex else 1)
            for p, x in zip(self.points, self.probe.xs, strict=True)
        ]

    def verdict(self, road):
        try:
            return self._judged(road)
        except errors.SymgradError as error:
            if self.row.check == "zero" and isinstance(error, errors.DisconnectedError):
                small = all(np.max(np.abs(w), initial=0) == 0 for d in self.want for w in d)
                return Verdict("zero" if small else "wrong", first_line(error))
            return Verdict("error", f"{type(error).__name__}: {first_line(error)}")
        except tf.errors.OpError as error:
            return Verdict("untyped", f"at run time: {type(error).__name__}: {first_line(error)}")
        except Exception as error:
            return Verdict("untyped", f"{type(error).__name__}: {first_line(error)}")

    def _judged(self, road):
        if road == "Lop":
            self.pulled = self.probe.run(symgrad.Lop(self.probe.ys, self.given, self.u))
            pairs = [
                (np.float64(inner(self.pulled, v)), np.float64(inner(self.u, w)))
                for v, w in zip(self.directions, self.want, strict=True)
            ]
            return compared(pairs, self.tolerance)
        if road == "hvp":
            return self._second()
        pushed = symgrad.Rop(self.probe.ys, self.given, self.v, method=road)
        pairs, adjoint = [], []
        for direction, want in zip(self.directions, self.want, strict=True):
            got = self.probe.session.run(pushed, dict(zip(self.v, direction, strict=True)))
            pairs += zip(got, want, strict=True)
            if self.pulled is not None:
                adjoint.append((np.float64(inner(self.u, got)), np.float64(inner(self.pulled, direction))))
        found = compared(pairs if self.row.check == "differences" else [], self.tolerance)
        return found if found.failed else compared(adjoint, ADJOINT_COARSE if self.row.coarse else ADJOINT_FINE)

    def _second(self):
        """Of a real loss, against differences of its gradient."""
        loss = loss_of(self.probe.ys, self.u)
        slope = symgrad.Lop(loss, self.given, np.float64(1))
        product = symgrad.hvp(loss, self.given, self.v)
        pairs = []
        for direction in self.directions:
            got = self.probe.session.run(product, dict(zip(self.v, direction, strict=True)))
            pairs += zip(got, differences(self.probe, slope, direction, step(self.row)), strict=True)
        return compared(pairs, self.tolerance)
