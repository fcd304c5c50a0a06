"""Special points: what values an input takes."""

import numpy as np

KINDS = ("plain", "plain", "plain", "a zero", "zeros", "ties", "negative zero", "whole", "equal rows")


def value(kind, shape, dtype, rng):
    """An array of values of about one; `kind` is one of KINDS."""
    x = rng.uniform(-1.2, 1.2, shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-1.2, 1.2, shape)
    flat = np.atleast_1d(x).reshape(-1).copy()
    if kind == "a zero" and flat.size:
        flat[rng.integers(flat.size)] = 0
    elif kind == "zeros":
        flat[rng.random(flat.size) < 0.6] = 0
    elif kind == "ties":
        flat = rng.choice(flat[:2], flat.size) if flat.size else flat
    elif kind == "negative zero" and flat.size:
        flat[rng.integers(flat.size)] = -0.0
    elif kind == "whole":
        flat = np.round(flat * 2)
    x = flat.reshape(shape)
    if kind == "equal rows" and x.ndim and x.shape[0]:
        x = np.broadcast_to(x[:1], shape)
    return np.round(x, 3).astype(np.dtype(dtype) if dtype != "bfloat16" else np.float32)
