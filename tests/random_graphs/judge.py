"""The numbers of a trial against central differences, against each other, and against the adjoint identity."""

import numpy as np

import symgrad
from random_graphs import baseline
from random_graphs.arrays import adjoint_off, contract, dense, finite, off
from random_graphs.baseline import said
from random_graphs.differences import Differences
from symgrad.errors import SymgradError

LOP, ROP = "symgrad.Lop(ys", "symgrad.Rop(ys"
# Relative to the products of the norms: short sums in double precision, in single, in half.
ADJOINT_FINE, ADJOINT_SINGLE, ADJOINT_HALF = 1e-8, 5e-3, 0.15


class Judge:
    """One Outcome for each value of the trial."""

    def __init__(self, trial):
        self.trial = trial
        self.slopes = Differences(lambda t: trial.at(trial.ys, t)) if trial.fine else None
        self.want = self.slopes.derivative if self.slopes is not None and self.slopes.good else None
        self.lop = next((c for c in trial.values if c.startswith(LOP)), None)

    def judge(self):
        for call, value in self.trial.values.items():
            if call.startswith(ROP):
                self._numbers(call, value)
                self._adjoint(call)
            elif call.startswith((LOP, "symgrad.gradients")):
                self._pulled(call, dense(value))
            elif "jacobian" in call:
                self._numbers(call, self._times_v(value))
            elif "Lop(symgrad.Rop" in call:
                self._reverse_over_forward(call, value)
            elif "ggnvp" in call:
                self._gauss_newton(call, value)
            elif "hvp(ys[0]" in call and self.trial.before[0].ndim:
                self._say("wrong", call, f"a second derivative of a y of shape {self.trial.before[0].shape}")
        self._second()

    def _say(self, verdict, call, detail=""):
        self.trial.say(verdict, call, detail)

    def _times_v(self, rows):
        return [sum(contract(block, v) for block, v in zip(row, self.trial.v)) for row in rows]

    def _numbers(self, call, value, slopes=None):
        slopes = slopes or self.slopes
        if slopes is None or not slopes.good:
            return self._say("unjudged", call)
        for got, want in zip(value, slopes.derivative):
            if np.shape(got) != np.shape(want):
                return self._say("wrong", call, f"shape {np.shape(got)}, wanted {np.shape(want)}")
        worst = max(map(off, value, slopes.derivative), default=0.0)
        return self._within(call, worst, slopes.tolerance, "differences")

    def _within(self, call, worst, tolerance, what):
        self._say("right" if worst <= tolerance else "wrong", call, f"off by {worst:.1e} from {what}")

    def _adjoint(self, rop):
        """<u, J v> = <J^T u, v> in every precision and at every point where both are finite."""
        if self.lop is None:
            return
        pulled, pushed = self.trial.values[self.lop], self.trial.values[rop]
        if not finite(pulled) or not finite(pushed):
            return
        made = {np.asarray(a).dtype.name for a in [*pulled, *pushed]}
        coarse = ADJOINT_HALF if made & {"float16", "bfloat16"} else ADJOINT_SINGLE
        bad = adjoint_off(self.trial.u_values, pushed, pulled, self.trial.v)
        if bad > (ADJOINT_FINE if self.trial.fine else coarse):
            where = "a point" if self.want else "a point without differences"
            self._say("wrong", rop, f"adjoint identity with Lop off by {bad:.1e} at {where}")

    def _pulled(self, call, value):
        """<J^T u, v> against <u, J v> of differences; `gradients` may be wrong as tf.gradients is."""
        if self.want is None:
            return self._say("unjudged", call)
        for got, v in zip(value, self.trial.v):
            if np.shape(got) != np.shape(v):
                return self._say("wrong", call, f"shape {np.shape(got)}, wanted {np.shape(v)}")
        bad = adjoint_off(self.trial.u_values, self.want, value, self.trial.v)
        if bad > self.slopes.tolerance and call != self.lop:
            plain = baseline.gradients(self.trial.source, self.trial.u_values)
            if plain is not None and max(map(off, value, dense(plain)), default=0.0) <= 1e-9:
                return self._say("right", call, "wrong as tf.gradients is")
        return self._within(call, bad, self.slopes.tolerance, "differences")

    def _reverse_over_forward(self, call, value):
        """<Lop(Rop(y, v), u), v> is the slope along v of <u, J v>."""
        rop = next((c for c in self.trial.values if c.startswith(ROP)), None)
        if self.want is None or rop is None:
            return self._say("unjudged", call)
        slope = Differences(lambda t: self.trial.at(self.trial.results[rop], t))
        if not slope.good or max(map(off, slope.centre, self.want), default=0.0) > slope.tolerance:
            return self._say("unjudged", call)
        bad = adjoint_off(self.trial.u_values, slope.derivative, value, self.trial.v)
        return self._within(call, bad, slope.tolerance, "differences of Rop")

    def _gauss_newton(self, call, value):
        """For half of the squared norm of y, J^T J v."""
        if self.want is None or self.lop is None:
            return self._say("unjudged", call)
        u = [self.want[0], *(np.zeros_like(w) for w in self.want[1:])]
        want = self.trial.session.run(self.trial.results[self.lop], dict(zip(self.trial.u, u)))
        worst = max((off(g, w) for g, w in zip(value, want)), default=0.0)
        return self._within(call, worst, 10 * self.slopes.tolerance, "J^T J v")

    def _second(self):
        """hvp and Hessian against differences of the gradient, where the gradient is right itself."""
        trial = self.trial
        calls = [c for c in trial.values if "hvp(loss" in c or "hessian" in c]
        if not calls or not trial.fine:
            return
        try:
            gradient = symgrad.Lop(trial.loss, trial.xs, np.float64(1), disconnected="zero")
            slope = Differences(lambda t: trial.at([trial.loss], t))
            second = Differences(lambda t: trial.at(gradient, t))
        except Exception as error:
            verdict = "refused" if isinstance(error, SymgradError) else "untyped"
            self._say(verdict, "symgrad.Lop(loss, xs, 1.0)", said(error))
            return
        good = slope.good and second.good
        if good:
            bad = abs(sum(np.vdot(g, v).real for g, v in zip(second.centre, trial.v)) - slope.derivative[0])
            good = bad <= slope.tolerance * max(1, abs(slope.derivative[0]))
        for call in calls:
            if not good or ("hessian" in call and any(map(np.iscomplexobj, trial.v))):
                self._say("unjudged", call)
            else:
                value = trial.values[call]
                self._numbers(call, self._times_v(value) if "hessian" in call else value, second)
