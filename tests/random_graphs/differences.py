"""Central differences of fourth order along a line, which know how good they are and whether the function is smooth."""

import numpy as np
import tensorflow.compat.v1 as tf

from random_graphs.arrays import flat, off, wide

STEP = 3e-4


class Differences:
    """The derivative of t -> function(t) at 0.

    Attributes:
      why: why there are no differences: the function is not finite or not smooth there, or its differences of two step
        sizes do not agree; "" if they are good.
      derivative: arrays, of the function's outputs.
      centre: the outputs at 0.
      tolerance: relative to the largest element and 1, what another derivative may differ by.
    """

    def __init__(self, function):
        self.derivative, self.tolerance, self.centre = None, 2e-6, ()
        try:
            at = {k: [wide(a) for a in function(k * STEP)] for k in (1, -1, 2, -2, 4, -4, 0)}  # ends where it was
        except tf.errors.OpError:  # whether y runs at the point itself is asked elsewhere
            self.why = "a kernel refuses a point nearby"
        else:
            with np.errstate(all="ignore"):
                self.why = self._measure(at)

    @property
    def good(self):
        return not self.why

    def _measure(self, at):
        self.centre = at[0]
        if not all(np.all(np.isfinite(flat(a))) for outputs in at.values() for a in outputs):
            return "not finite"
        if len({tuple(np.shape(a) for a in outputs) for outputs in at.values()}) != 1:
            return "shapes that change"
        fine, coarse = self._slopes(at, 1), self._slopes(at, 2)
        self.derivative = fine
        doubt = max(map(off, coarse, fine), default=0.0)
        largest = max((np.max(np.abs(flat(a)), initial=0.0) for a in self.centre), default=0.0)
        self.tolerance += 10 * doubt + 1e-11 * largest
        if not self._no_kink(at):
            return "a kink"
        return "" if self.tolerance < 1e-3 else "differences that do not agree"

    def _slopes(self, at, k):
        rows = zip(at[k], at[-k], at[2 * k], at[-2 * k], strict=True)
        return [(8 * (a - b) - (c - d)) / (12 * k * STEP) for a, b, c, d in rows]

    def _no_kink(self, at):
        """The one-sided slopes differ by what shrinks with the step."""
        for centre, a, b, c, d, slope in zip(at[0], at[1], at[-1], at[2], at[-2], self.derivative, strict=True):
            near, far = (a + b - 2 * centre) / STEP, (c + d - 2 * centre) / (2 * STEP)
            kink = flat(2 * near - far)
            if np.max(np.abs(kink), initial=0) > 1e-4 * max(1, np.max(np.abs(flat(slope)), initial=0)):
                return False
        return True
