"""Take every road through a row at special points: zeros, ties, infinities, one element, none.

Where a derivative exists, which one-sided differences along two directions and their sum tell, it is to be found. Where
there is none, what comes is to be finite if TensorFlow's gradient is. An infinite x whose y is finite does not move it.
"""

import contextlib
import dataclasses
import zlib

import numpy as np
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT
from worlds import control_flow

import symgrad
from sweep.run import Verdict, compared, first_line, loss_of
from sweep.table import ROADS, SHAPES
from symgrad import errors
from symgrad.testing._probe import Probe, inner, random_like

SECOND = "hvp"
STEPS = (1e-4, 1e-6)
# Rounding over the step, 1e-16 / 1e-6, and the second derivative times the step.
TOLERANCE, CLOSE = 1e-5, 1e-3


def points(given):
    """The special points by name: for each x its values, of the shape and dtype of those `given`."""

    def filled(value):
        return [np.full_like(p, value) for p in given]

    def one_place(value, only=None):
        moved = [p.copy() for p in given]
        for k, p in enumerate(moved):
            if p.size and only in (None, k):
                p.flat[p.size // 2] = value
        return moved

    yield "zeros", filled(0.0)
    yield "negative zeros", filled(-0.0)
    yield "a zero", one_place(0.0)
    yield "ties", filled(next((p.flat[0] for p in given if p.size), 0))
    for k in range(min(len(given), 3)):
        yield f"inf in x{k}", one_place(np.inf, k)
        yield f"-inf in x{k}", one_place(-np.inf, k)


def sweep(row):
    """At how many points it was judged, and what failed: {(point, road): Verdict}. None for a row that is not swept."""
    if not row.shaped or row.coarse:
        return None
    judged, failed = 0, {}
    for shape in SHAPES:
        with contextlib.ExitStack() as stack:
            case = _built(row, shape, stack)
            named = () if case is None else points(case.given) if shape == "as drawn" else [(shape, case.given)]
            for name, point in named:
                if not any(name.startswith(point) for point in row.special):
                    found = case.judge(point)
                    judged += found is not None
                    failed.update({(name, road): verdict for road, verdict in (found or {}).items() if verdict.failed})
    return judged, failed


def _built(row, shape, stack):
    """The row in a graph of its own, its inputs in other shapes; None if the op does not take or not compute them."""
    rng = np.random.default_rng(zlib.crc32(row.label.encode()))
    stack.enter_context(tf.Graph().as_default())
    roads = (*ROADS, SECOND) if shape == "as drawn" else ("Lop", "forward")
    try:
        with control_flow(v2=True):
            ys, xs = row.build(rng, SHAPES[shape])
        session = stack.enter_context(tf.Session(config=AS_BUILT))
        return _Case(row, Probe(ys, xs, session, None), rng, roads)
    except (ValueError, TypeError, NotImplementedError, tf.errors.OpError):
        return None


class _Case:
    def __init__(self, row, probe, rng, roads):
        self.row, self.probe = row, probe
        self.given = probe.points()
        self.v, self.w = (
            [random_like(p.shape, x.dtype, rng) for p, x in zip(self.given, probe.xs, strict=True)] for _ in "vw"
        )
        self.u = [random_like(s, y.dtype, rng) for s, y in zip(probe.shapes(), probe.ys, strict=True)]
        self.built = {}
        for road in (*roads, *(["slope"] if SECOND in roads else [])):
            with contextlib.suppress(errors.SymgradError):  # judged where the points are ordinary ones
                self.built[road] = self._build(road)
        self._tf = None

    def _build(self, road):
        ys, xs = self.probe.ys, [x.given for x in self.probe.xs]
        if road == "Lop":
            return symgrad.Lop(ys, xs, self.u)
        if road in ROADS:
            return symgrad.Rop(ys, xs, self.v, method=road)
        loss = loss_of(ys, self.u)
        return symgrad.hvp(loss, xs, self.v) if road == SECOND else symgrad.Lop(loss, xs, np.float64(1))

    def judge(self, point):
        """For each road a Verdict; None where y is not finite."""
        first = self._differences(self.probe.ys, point)
        if first is None:
            return None
        found = {road: self._road(road, point, first) for road in ROADS if road in self.built}
        if SECOND in self.built and self.row.check == "differences" and first.whole:
            second = self._differences(self.built["slope"], point)
            if second is not None:
                found[SECOND] = self._road(SECOND, point, second)
        return found

    def _road(self, road, point, want):
        try:
            got = self._at(self.built[road], point)
        except tf.errors.OpError as error:
            return Verdict("untyped", f"at run time: {type(error).__name__}: {first_line(error)}")
        if self.row.check != "differences" or (road == "Lop" and not want.whole):
            return self._as_tensorflow(got, point)
        if road == "Lop":
            pairs = [(np.float64(inner(got, self.v)), np.float64(inner(self.u, want.slope)))]
            return compared(pairs, TOLERANCE) if _finite(got) else Verdict("wrong", "not finite")
        if not _finite(got) and want.whole:
            return Verdict("wrong", "not finite")
        there = [e & np.isfinite(g) for g, e in zip(got, want.exists, strict=True)]
        found = compared(
            [(np.where(e, g, 0), np.where(e, w, 0)) for g, w, e in zip(got, want.slope, there, strict=True)], TOLERANCE
        )
        return found if found.failed else self._as_tensorflow(got, point)

    def _as_tensorflow(self, got, point):
        """Right if finite, or if TensorFlow's gradient is not finite either."""
        if _finite(got):
            return Verdict("right")
        if self._tf is None:
            xs = [x.tensor for x in self.probe.xs]
            self._tf = [tf.convert_to_tensor(g) for g in tf.gradients(self.probe.ys, xs, self.u) if g is not None]
        finite = _finite(self._at(self._tf, point))
        return Verdict("wrong", "not finite, as tf.gradients is") if finite else Verdict("right")

    def _at(self, fetches, point):
        return self.probe.run(fetches, list(zip(self.probe.xs, point, strict=True)))

    def _differences(self, fetches, point):
        """None where `fetches` are not finite, or not computed."""

        def slopes(direction, step):
            ahead, behind = (
                self._at(fetches, [(p + s * step * d).astype(p.dtype) for p, d in zip(point, direction, strict=True)])
                for s in (1, -1)
            )
            return [((a - h) / step, (h - b) / step) for a, h, b in zip(ahead, here, behind, strict=True)]

        try:
            here = self._at(fetches, point)
            if not _finite(here):
                return None
            both = [v + w for v, w in zip(self.v, self.w, strict=True)]
            with np.errstate(all="ignore"):
                return _Differences.of(slopes(self.v, STEPS[0]), *(slopes(d, STEPS[1]) for d in (self.v, self.w, both)))
        except tf.errors.OpError:
            return None


@dataclasses.dataclass
class _Differences:
    """The slope along a direction, and for each element whether it has a derivative."""

    slope: list
    exists: list

    @classmethod
    def of(cls, coarse, fine, other, both):
        """From one-sided slopes: along a direction with two steps, along another one, and along the sum of the two."""
        slope, exists = [], []
        for far, near, second, added in zip(coarse, fine, other, both, strict=True):
            middle, away, aside, total = ((ahead + behind) / 2 for ahead, behind in (near, far, second, added))
            bound = CLOSE * (1 + np.abs(middle) + np.abs(aside))
            gaps = [near[0] - near[1], second[0] - second[1], middle - away, middle + aside - total]
            slope.append(middle)
            exists.append(np.all([np.abs(gap) < bound for gap in gaps], axis=0))
        return cls(slope, exists)

    @property
    def whole(self):
        """True if all elements have a derivative."""
        return all(np.all(e) for e in self.exists)


def _finite(values):
    return all(np.all(np.isfinite(v)) for v in values)
