"""The numbers of a trial against central differences, against each other, and against the adjoint identity.

Where there are no differences (a kink, single or half precision, an op whose derivative is told to be another one) what
is right is what tf.gradients gives: the same for a Lop, and by the adjoint identity for a Jv. What is left is unjudged:
a y or a derivative of tf.gradients' that is not finite there, numbers other than those of tf.gradients (ours correct
some), and second derivatives at kinks, in single and half precision.
"""

import numpy as np

import symgrad
from random_graphs import baseline
from random_graphs.arrays import adjoint_off, contract, dense, finite, off
from random_graphs.baseline import said
from random_graphs.differences import Differences
from symgrad.errors import SymgradError

LOP, ROP = "symgrad.Lop(ys, xs, u,", "symgrad.Rop(ys, xs, v,"
# Relative to the products of the norms: short sums in double precision, in single, in half.
ADJOINT_FINE, ADJOINT_SINGLE, ADJOINT_HALF = 1e-8, 5e-3, 0.15
# Finite where their slope is not, so that a chain of derivatives through them is 0 times infinity.
NO_SLOPE = {"Sqrt", "Pow", "Acos", "Asin", "Acosh", "EuclideanNorm", "ComplexAbs", "Svd", "SelfAdjointEigV2"}


class Judge:
    """One Outcome for each value of the trial."""

    def __init__(self, trial):
        self.trial = trial
        self.slopes = self._along(trial.v)
        self.want = self.slopes.derivative if self.slopes.good else None
        self.lop = next((c for c in trial.values if c.startswith(LOP)), None)
        self.open = []

    def _along(self, v):
        slopes = Differences(lambda t: self.trial.at(self.trial.ys, t, v))
        slopes.why = slopes.why or self.trial.coarse
        return slopes

    def judge(self):
        """All that differences and the calls themselves tell."""
        for call, value in self.trial.values.items():
            if call.startswith(ROP):
                self._pushed(call, value)
                self._adjoint(call)
            elif "holes" in call:
                self._with_holes(call, value)
            elif call.startswith((LOP, "symgrad.gradients")):
                self._pulled(call, dense(value))
            elif "batch_jacobian" in call:
                self._by_rows(call, value)
            elif "jacobian" in call:
                self._pushed(call, self._times_v(value))
            elif "Lop(symgrad.Rop" in call:
                self._reverse_over_forward(call, value)
            elif "ggnvp" in call:
                self._gauss_newton(call, value)
            elif "hvp(ys[0]" in call and self.trial.before[0].ndim:
                self._say("wrong", call, f"a second derivative of a y of shape {self.trial.before[0].shape}")
        self._second()

    def settle(self, plain):
        """What was left open, by the values of tf.gradients for the cotangents of the trial (None if it has none)."""
        for call, value, pulls, why in self.open:
            if plain is None:
                self._say("unjudged", call, f"{why}, nothing from tf.gradients")
            elif not finite(plain):
                self._not_finite(call, value, why)
            else:
                self._as_plain(call, value, plain, (pulls, why))

    def _not_finite(self, call, value, why):
        steep = self.trial.op_types & NO_SLOPE
        if why == "differences" and not steep:
            return self._say("wrong", call, "not finite, as tf.gradients is, where differences are good")
        what = "nor is" if not finite(value) else "which is not so for"
        return self._say("unjudged", call, f"{why} and {sorted(steep)}, not finite, {what} tf.gradients")

    def _as_plain(self, call, value, plain, how):
        pulls, why = how
        if not finite(value):
            lost = why != "not finite"  # y is not finite there, so J v need not be
            return self._say("wrong" if pulls or lost else "unjudged", call, f"not finite, tf.gradients is ({why})")
        if pulls:
            bad = max(map(off, value, plain), default=0.0)
        else:
            bad = adjoint_off(self.trial.u_values, value, plain, self.trial.v)
        if bad > self._close(value):
            return self._say("unjudged", call, f"{why}, other than tf.gradients by {bad:.0e}")
        return self._say("right", call, f"as tf.gradients, at {why}")

    def _say(self, verdict, call, detail=""):
        self.trial.say(verdict, call, detail)

    def _times_v(self, rows):
        return [sum(contract(block, v) for block, v in zip(row, self.trial.v, strict=True)) for row in rows]

    def _pushed(self, call, value):
        """J v against differences."""
        if not self.slopes.good or not finite(value):
            why = self.slopes.why or "differences"
            return self.open.append((call, value, False, why))
        return self._numbers(call, value, self.slopes)

    def _numbers(self, call, value, slopes):
        if not slopes.good:
            return self._say("unjudged", call, slopes.why)
        for got, want in zip(value, slopes.derivative, strict=True):
            if np.shape(got) != np.shape(want):
                return self._say("wrong", call, f"shape {np.shape(got)}, wanted {np.shape(want)}")
        worst = max(map(off, value, slopes.derivative), default=0.0)
        return self._within(call, worst, slopes.tolerance, "differences")

    def _within(self, call, worst, tolerance, what):
        self._say("right" if worst <= tolerance else "wrong", call, f"off by {worst:.1e} from {what}")

    def _close(self, values):
        if self.trial.double:
            return ADJOINT_FINE
        made = {np.asarray(a).dtype.name for a in values}
        return ADJOINT_HALF if made & {"float16", "bfloat16"} else ADJOINT_SINGLE

    def _adjoint(self, rop):
        """<u, J v> = <J^T u, v> in every precision and at every point where both are finite."""
        if self.lop is None:
            return
        pulled, pushed = self.trial.values[self.lop], self.trial.values[rop]
        if not finite(pulled) or not finite(pushed):
            return
        bad = adjoint_off(self.trial.u_values, pushed, pulled, self.trial.v)
        if bad > self._close([*pulled, *pushed]):
            where = "a point" if self.want else f"a point without differences ({self.slopes.why})"
            self._say("wrong", rop, f"adjoint identity with Lop off by {bad:.1e} at {where}")

    def _pulled(self, call, value):
        """<J^T u, v> against <u, J v> of differences; `gradients` may be wrong as tf.gradients is."""
        for got, v in zip(value, self.trial.v, strict=True):
            if np.shape(got) != np.shape(v):
                return self._say("wrong", call, f"shape {np.shape(got)}, wanted {np.shape(v)}")
        if not self.slopes.good or not finite(value):
            return self.open.append((call, value, True, self.slopes.why or "differences"))
        bad = adjoint_off(self.trial.u_values, self.want, value, self.trial.v)
        if bad > self.slopes.tolerance and call != self.lop:
            plain = baseline.gradients(self.trial.source, self.trial.u_values)
            if plain is not None and max(map(off, value, dense(plain)), default=0.0) <= 1e-9:
                return self._say("right", call, "wrong as tf.gradients is")
        return self._within(call, bad, self.slopes.tolerance, "differences")

    def _with_holes(self, call, value):
        """A None among the vectors is a zero."""
        trial = self.trial
        u, v = ([np.zeros_like(a[0]), *a[1:]] for a in (trial.u_values, trial.v))
        if "Rop" in call:
            return self._numbers(call, value, self._along(v))
        if self.want is None:
            return self._say("unjudged", call, self.slopes.why)
        bad = adjoint_off(u, self.want, value, trial.v)
        return self._within(call, bad, self.slopes.tolerance, "differences")

    def _by_rows(self, call, value):
        """Row by row of x, which must not move other rows of y."""
        x = self.trial.v[0]
        for row in range(len(x)):
            alone = np.zeros_like(x)
            alone[row] = x[row]
            slopes = self._along([alone, *map(np.zeros_like, self.trial.v[1:])])
            if not slopes.good:
                return self._say("unjudged", call, slopes.why)
            if np.any(np.delete(slopes.derivative[0], row, 0)):
                return self._say("unjudged", call, "rows that depend on each other")
            bad = off(contract(value[row], x[row]), slopes.derivative[0][row])
            if bad > slopes.tolerance:
                return self._say("wrong", call, f"off by {bad:.1e} from differences in row {row}")
        return self._say("right", call)

    def _reverse_over_forward(self, call, value):
        """<Lop(Rop(y, v), u), v> is the slope along v of <u, J v>."""
        rop = next((c for c in self.trial.values if c.startswith(ROP)), None)
        if self.want is None or rop is None:
            return self._say("unjudged", call, self.slopes.why or "no Rop")
        slope = Differences(lambda t: self.trial.at(self.trial.results[rop], t))
        if not slope.good or max(map(off, slope.centre, self.want), default=0.0) > slope.tolerance:
            return self._say("unjudged", call, f"of Rop: {slope.why or 'it is wrong'}")
        if not finite(value):
            return self._second_not_finite(call, value)
        bad = adjoint_off(self.trial.u_values, slope.derivative, value, self.trial.v)
        return self._within(call, bad, slope.tolerance, "differences of Rop")

    def _gauss_newton(self, call, value):
        """For half of the squared norm of y, J^T J v."""
        if self.want is None or self.lop is None:
            return self._say("unjudged", call, self.slopes.why or "no Lop")
        u = [self.want[0], *(np.zeros_like(w) for w in self.want[1:])]
        self.trial.at([], 0.0)
        want = self.trial.session.run(self.trial.results[self.lop], dict(zip(self.trial.u, u, strict=True)))
        worst = max((off(g, w) for g, w in zip(value, want, strict=True)), default=0.0)
        return self._within(call, worst, 10 * self.slopes.tolerance, "J^T J v")

    def _second(self):
        """hvp and Hessian against differences of the gradient, where the gradient is right itself."""
        trial = self.trial
        calls = [c for c in trial.values if "hvp(loss" in c or "hessian" in c]
        if not calls:
            return
        try:
            gradient = symgrad.Lop(trial.loss, trial.xs, np.float64(1), disconnected="zero")
        except Exception as error:
            verdict = "refused" if isinstance(error, SymgradError) else "untyped"
            self._say(verdict, "symgrad.Lop(loss, xs, 1.0)", said(error))
            return
        second, why = self._slope_of(gradient)
        for call in calls:
            value = trial.values[call]
            if "hessian" in call:
                value = self._times_v(value)
            if why or ("hessian" in call and any(map(np.iscomplexobj, trial.v))):
                self._say("unjudged", call, why or "a complex Hessian")
            elif not finite(value):
                self._second_not_finite(call, value)
            else:
                self._numbers(call, value, second)

    def _slope_of(self, gradient):
        """The differences of the gradient of the loss, and why they are not to be compared with."""
        trial = self.trial
        slope = Differences(lambda t: trial.at([trial.loss], t))
        second = Differences(lambda t: trial.at(gradient, t))
        why = trial.coarse or slope.why or (second.why and f"of the gradient: {second.why}")
        if not why:
            bad = abs(
                sum(np.vdot(g, v).real for g, v in zip(second.centre, trial.v, strict=True)) - slope.derivative[0]
            )
            if bad > slope.tolerance * max(1, abs(slope.derivative[0])):
                why = "the gradient is wrong itself"
        return second, why

    def _second_not_finite(self, call, value):
        plain = baseline.second(self.trial.source, self.trial.u_values)
        if plain is not None and finite(plain):
            return self._say("wrong", call, "not finite where tf.gradients is")
        return self._not_finite(call, value, "differences")
