"""Take every road through a row and say how it ended."""

import contextlib
import zlib
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from sweep.table import ROADS
from symgrad import errors
from symgrad.testing._probe import Probe, inner, random_like

# Central differences: relative to the largest element, and at least 1. Float32 rounds to 1e-7, over a step of 5e-3.
FINE, COARSE = 1e-6, 1e-2
# The adjoint identity holds up to the rounding of short sums.
ADJOINT_FINE, ADJOINT_COARSE = 1e-10, 1e-4


@dataclass(frozen=True)
class Verdict:
    """How one road ended: "right", "zero", "error" (typed), "cannot run", or one of the failures.

    The failures: "wrong" (numbers), "none" (no number), "untyped" (an error that is none of symgrad's).
    """

    status: str
    detail: str = ""

    @property
    def failed(self):
        return self.status in ("wrong", "none", "untyped")


def sweep(row):
    """For each road its Verdict."""
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    with tf.Graph().as_default(), contextlib.ExitStack() as stack:
        try:
            with control_flow(v2=True):  # the rows are op types; those of V1 say so
                ys, xs = row.build(rng)
            session = stack.enter_context(tf.Session(config=AS_BUILT))
            session.run(tf.global_variables_initializer())
            probe = Probe(ys, xs, session, None)
            case = _Case(row, probe, rng)
        except Exception as error:
            return dict.fromkeys(ROADS, Verdict("cannot run", first_line(error)))
        return {road: case.verdict(road) for road in ROADS}


def step(row):
    """The step of a central difference, in which rounding and the cubic term are alike."""
    return float(np.cbrt(np.finfo(np.float32 if row.coarse else np.float64).eps))


def differences(probe, fetches, direction, eps):
    """Central differences of `fetches` along a direction of the xs, from where they are."""
    points = probe.points()
    ahead, behind = (
        probe.run(
            fetches,
            [(x, (p + sign * eps * v).astype(p.dtype)) for x, p, v in zip(probe.xs, points, direction, strict=True)],
        )
        for sign in (1, -1)
    )
    return [(np.asarray(a) - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]


def loss_of(ys, u):
    """Re sum conj(u) y + |y|^2 / 2, a real loss."""
    terms = [tf.math.real(np.conj(v) * y + y * tf.math.conj(y) / 2) for v, y in zip(u, ys, strict=True)]
    return tf.add_n([tf.reduce_sum(term) for term in terms])


def compared(pairs, tolerance):
    """The Verdict on pairs of what came and what was wanted: relative to the largest, and at least to 1."""
    scale = max([1.0, *(float(np.max(np.abs(w), initial=0)) for _, w in pairs)])
    off = max((float(np.max(np.abs(np.asarray(g) - w), initial=0)) for g, w in pairs), default=0.0)
    return judged(off / scale, tolerance)


class _Case:
    def __init__(self, row, probe, rng):
        self.row, self.probe = row, probe
        self.given = [x.given for x in probe.xs]
        points = probe.points()
        self.v = [random_like(p.shape, x.dtype, rng) for p, x in zip(points, probe.xs, strict=True)]
        self.u = [random_like(s, y.dtype, rng) for s, y in zip(probe.shapes(), probe.ys, strict=True)]
        self.want = differences(probe, probe.ys, self.v, step(row))
        self.pulled = None

    def verdict(self, road):
        try:
            built = self._build(road)
        except errors.SymgradError as error:
            if self.row.check == "zero" and isinstance(error, errors.DisconnectedError):
                small = all(np.max(np.abs(w), initial=0) == 0 for w in self.want)
                return Verdict("zero" if small else "wrong", first_line(error))
            return Verdict("error", f"{type(error).__name__}: {first_line(error)}")
        except Exception as error:
            return Verdict("untyped", f"{type(error).__name__}: {first_line(error)}")
        try:
            return self._compare(road, built)
        except tf.errors.OpError as error:
            return Verdict("untyped", f"at run time: {type(error).__name__}: {first_line(error)}")

    def _build(self, road):
        if road == "Lop":
            return symgrad.Lop(self.probe.ys, self.given, self.u)
        return symgrad.Rop(self.probe.ys, self.given, self.v, method=road)

    def _compare(self, road, built):
        if self.row.check == "zero":
            return Verdict("none", "a derivative where there is none")
        if self.row.check == "adjoint":
            return self._adjoint(road, built)
        got = self.probe.run(built)
        if road == "Lop":
            pairs = [(np.float64(inner(got, self.v)), np.float64(inner(self.u, self.want)))]
        else:
            pairs = list(zip(got, self.want, strict=True))
        return compared(pairs, COARSE if self.row.coarse else FINE)

    def _adjoint(self, road, built):
        if road == "Lop":
            self.pulled = built
            got = self.probe.run(built)
            return Verdict("right") if all(np.all(np.isfinite(g)) for g in got) else Verdict("wrong", "not finite")
        pushed, pulled = self.probe.run([built, self.pulled])
        left, right = inner(self.u, pushed), inner(pulled, self.v)
        return judged(abs(left - right) / max(1.0, abs(right)), ADJOINT_COARSE if self.row.coarse else ADJOINT_FINE)


def judged(off, tolerance):
    return Verdict("right") if off <= tolerance else Verdict("wrong", f"off by {off:.1e}")


def first_line(error):
    """The first line that says something; TensorFlow puts a traceback above the messages of a run."""
    lines = [line.strip() for line in str(getattr(error, "message", error)).split("\n") if line.strip()]
    said = [
        line for line in lines if not line.startswith(("Graph execution error", "Detected at node", "File ", "Node: "))
    ]
    return (said or lines or [type(error).__name__])[0][:300]
