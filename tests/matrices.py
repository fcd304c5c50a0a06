"""Derivatives as dense matrices, column by column: what sparse ones are held to."""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad


class Columns:
    """The matrix of J for several ys and xs, flattened in order: a Rop for each unit vector.

    It asks for nothing but one Rop: no vectorised loop, no rule for complex Jacobians. A complex x has two columns for
    each element, the second for the step 1j, side by side.
    """

    def __init__(self, probe):
        self.probe = probe
        with probe.graph.as_default():
            self.tangents = [tf.placeholder(x.dtype, x.shape) for x in probe.xs]
            given = [x.given for x in probe.xs]
            self.pushed = symgrad.Rop(probe.ys, given, self.tangents, disconnected="zero")

    def at(self, point, most=10**9):
        """[(number of the column, the column)] where the xs are at `point`; of more than `most` every so many-th."""
        starts = np.cumsum([0, *(p.size for p in point)])
        every = max(1, -(-int(starts[-1]) // most))
        return [
            (k, self._column(point, k, starts, step))
            for k in range(0, int(starts[-1]), every)
            for step in ((1, 1j) if self._complex(k, starts) else (1,))
        ]

    def _complex(self, k, starts):
        return self.probe.xs[np.searchsorted(starts, k, "right") - 1].dtype.is_complex

    def _column(self, point, k, starts, step):
        units = [np.zeros(p.size, p.dtype) for p in point]
        place = int(np.searchsorted(starts, k, "right")) - 1
        units[place][k - starts[place]] = step
        feeds = [(tangent, unit.reshape(p.shape)) for tangent, unit, p in zip(self.tangents, units, point, strict=True)]
        moved = list(zip(self.probe.xs, point, strict=True))
        self.probe.feeds.update(feeds)
        return np.concatenate([np.ravel(y) for y in self.probe.run(self.pushed, moved)])
