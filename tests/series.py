"""Taylor series of tests: along a line, by nested Rops, and how close two of them are to be."""

import numpy as np

import symgrad


def line(v, order):
    """The series of x + t v: the first derivative is v, those above are zero."""
    return [v] + [None] * (order - 1)


def nested(y, x, v, order):
    """The derivatives of y along v up to an order, one Rop of the other."""
    found = []
    for _ in range(order):
        y = symgrad.Rop(y, x, v, disconnected="zero")
        found.append(y)
    return found


def close(got, want, tolerance=1e-12):
    """Relative to the largest element and at least to one: some tens of products of numbers of that size."""
    scale = max(1, np.max(np.abs(want), initial=0))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)
