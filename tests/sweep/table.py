"""The words in which the sweep's tables are written: an op type, its inputs, and what is expected of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tensorflow.compat.v1 as tf

from symgrad import _tf

ROADS = ("Lop", "double_vjp", "forward")
NO_ORDER = dict.fromkeys((*ROADS, "hvp"), "complex numbers have no order")


@dataclass(frozen=True)
class X:
    """A floating input that the derivative is taken with respect to: how its values are drawn, and its shape."""

    draw: Callable
    shape: tuple[int, ...]

    def __call__(self, rng, dtype, shape=None):
        values = np.asarray(self.draw(rng, self.shape if shape is None else shape(self.shape)))
        values = values if np.iscomplexobj(values) else values.astype(dtype.as_numpy_dtype)
        # of what is fed with other values, TensorFlow must not know the first ones when it infers shapes
        return tf.constant(values) if shape is None else tf.placeholder_with_default(values, values.shape)


class ComplexDraws:
    """A generator like NumPy's whose numbers have an imaginary part: a row built with it takes complex numbers."""

    def __init__(self, rng):
        self._rng = rng

    def standard_normal(self, shape=()):
        """Real and imaginary part standard normal."""
        return self._with_imaginary(self._rng.standard_normal(shape))

    def uniform(self, low, high, shape=()):
        """The real part between the two."""
        return self._with_imaginary(self._rng.uniform(low, high, shape))

    def permutation(self, count):
        """The real parts a permutation."""
        return self._with_imaginary(self._rng.permutation(count))

    def _with_imaginary(self, values):
        return values + 1j * self._rng.uniform(-1, 1, np.shape(values))


def _complex(rng, shape):
    return rng.standard_normal(shape) + 1j * np.real(rng.standard_normal(shape))


def _distinct(rng, shape):
    return rng.permutation(int(np.prod(shape))).reshape(shape) / 4.0 - 1.1


def _definite(rng, shape):
    m = rng.standard_normal(shape)
    return m @ np.swapaxes(m, -1, -2) + shape[-1] * np.eye(shape[-1])


def N(*shape):
    """Standard normal."""
    return X(lambda rng, s: rng.standard_normal(s), shape)


def P(*shape):
    """Positive, between a half and two."""
    return X(lambda rng, s: rng.uniform(0.5, 2, s), shape)


def U(*shape):
    """Between 0.1 and 0.9."""
    return X(lambda rng, s: rng.uniform(0.1, 0.9, s), shape)


def D(*shape):
    """No two elements closer than a quarter: for maxima, which have kinks where two are equal."""
    return X(_distinct, shape)


def Z(*shape):
    """Complex normal."""
    return X(_complex, shape)


def S(*shape):
    """Symmetric positive definite matrices."""
    return X(_definite, shape)


# How the shapes of drawn inputs are changed.
SHAPES = {
    "as drawn": lambda shape: shape,
    "one element": lambda shape: tuple(1 for _ in shape),
    "no rows": lambda shape: (0, *shape[1:]) if shape else shape,
    "no columns": lambda shape: (*shape[:-1], 0) if shape else shape,
}


@dataclass(frozen=True, eq=False)
class Row:
    """One way to use one op type.

    Attributes:
      op: the op type.
      build: from a generator to (ys, xs), in the default graph.
      variant: tells rows of one op type apart.
      check: "differences": J v is compared with central differences; "adjoint": with Lop, for what the op's gradient
        declares to be the derivative (straight-through estimators, samplers); "zero": the derivative is zero.
      coarse: differences are taken in float32 or lower: the op has no float64 kernel.
      errors: for a road ("Lop", "double_vjp", "forward") that is known to end in an error: the reason.
      complex_errors: the same of complex xs, for "hvp" too.
      special: for a special point, or for a beginning of its name, why nothing is asked of the derivative there.
      since: the first TensorFlow with this op or with this behaviour.
      shaped: whether `build` takes how the shapes of its inputs are changed.
    """

    op: str
    build: Callable
    variant: str = ""
    check: str = "differences"
    coarse: bool = False
    errors: dict = field(default_factory=dict)
    complex_errors: dict = field(default_factory=dict)
    since: tuple[int, int] = (2, 15)
    special: dict = field(default_factory=dict)
    shaped: bool = False

    @property
    def label(self):
        return f"{self.op} ({self.variant})" if self.variant else self.op


ROWS: list[Row] = []


def _complex_arguments(op, inputs):
    """The arguments of an op that are as complex as those that are drawn: constants, and the dtype of the result."""
    arguments = {a.name: a.type_attr for a in _tf.op_def_registry.get(op).input_arg}
    drawn = [v[0] if isinstance(v, list) and v else v for v in inputs.values()]
    types = {arguments.get(k) for k, v in zip(inputs, drawn, strict=True) if isinstance(v, X)}
    fixed = any(isinstance(v, X) and v.draw is _complex for v in drawn)
    return {k for k, v in inputs.items() if (v is tf.float64 and not fixed) or arguments.get(k) in types}


def row(op, build, variant="", **options):
    """A row whose graph a function of a generator builds."""
    ROWS.append(Row(op, build, variant, **options))


def built(op, variant="", **options):
    """The same as a decorator."""

    def register(build):
        row(op, build, variant, **options)
        return build

    return register


def raw(op, variant="", *, dtype=tf.float64, of=None, options=None, **inputs):
    """A row that calls `tf.raw_ops.<op>`: inputs drawn by N, P, ... are the xs, everything else is passed on.

    Args:
      op: the op type.
      variant: tells rows of one op type apart.
      dtype: of the xs.
      of: numbers of the outputs to differentiate; by default all floating ones.
      options: more of the row.
      **inputs: what the op takes; a list of drawn ones is a list of tensors, a list of arrays one of constants.
    """

    def build(rng, shape=None):
        xs = []
        drawn = _complex_arguments(op, inputs) if isinstance(rng, ComplexDraws) else ()

        def made(value, name):
            if isinstance(value, X):
                xs.append(value(rng, dtype, shape))
                return xs[-1]
            if isinstance(value, list) and value and isinstance(value[0], X):
                return [made(v, name) for v in value]
            if name in drawn:
                return tf.complex128 if value is tf.float64 else np.asarray(value, np.complex128)
            return value

        found = getattr(tf.raw_ops, op)(**{k: made(v, k) for k, v in inputs.items()})
        found = list(found) if isinstance(found, list | tuple) else [found]
        floating = [y for y in found if isinstance(y, tf.Tensor) and (y.dtype.is_floating or y.dtype.is_complex)]
        return floating if of is None else [found[i] for i in of], xs

    row(op, build, variant, **{"coarse": dtype != tf.float64, "shaped": True, **(options or {})})


def elementwise(ops, draw=N, argument="x", **options):
    """A row for each of the op types, which all take one input."""
    for op in ops.split():
        raw(op, **{argument: draw(2, 3)}, **options)
