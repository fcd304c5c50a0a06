"""Arrays as numbers in double precision, and how far apart they are."""

import numpy as np


def like(value, rng):
    value = np.asarray(value)
    numbers = rng.uniform(-1, 1, value.shape)
    if np.iscomplexobj(value):
        numbers = numbers + 1j * rng.uniform(-1, 1, value.shape)
    return np.asarray(numbers).astype(value.dtype)


def dense(values):
    out = []
    for value in values:
        if hasattr(value, "dense_shape"):
            whole = np.zeros(value.dense_shape, value.values.dtype)
            np.add.at(whole, value.indices, value.values)
            value = whole
        out.append(value)
    return out


def finite(values):
    return all(np.all(np.isfinite(flat(v))) for v in dense(values))


def contract(jacobian, v):
    return np.tensordot(jacobian, v, np.ndim(v)) if np.ndim(v) else np.asarray(jacobian) * v


def wide(a):
    a = np.asarray(a)
    return a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)


def flat(a):
    return np.ravel(wide(a))


def off(got, want):
    """The largest difference, relative to the largest element and 1; infinite for NaN and for another shape."""
    got, want = wide(got), wide(want)
    if got.shape != want.shape:
        return np.inf
    if not got.size:
        return 0.0
    with np.errstate(invalid="ignore"):  # infinity less infinity is NaN, which is no agreement
        worst = np.max(np.abs(got - want)) / max(1.0, np.max(np.abs(want)))
    return float(worst) if np.isfinite(worst) else np.inf


def adjoint_off(u, pushed, pulled, v):
    """|<u, J v> - <J^T u, v>| relative to the sizes of the products."""
    left = sum(np.vdot(wide(a), wide(b)).real for a, b in zip(u, pushed, strict=True))
    right = sum(np.vdot(wide(a), wide(b)).real for a, b in zip(pulled, v, strict=True))
    size = sum(
        np.linalg.norm(flat(a)) * np.linalg.norm(flat(b))
        for a, b in [*zip(u, pushed, strict=True), *zip(pulled, v, strict=True)]
    )
    worst = abs(left - right) / max(1.0, size)
    return float(worst) if np.isfinite(worst) else np.inf
