"""Elementwise functions by their Taylor coefficients at the value: f(u + h) = f(u) + sum_m F_m h^m.

A row says how the derivatives of a function follow from each other, so that no order is written down. Functions without
a row have the coefficients of their op's own jet.

Reference: A. Griewank, A. Walther (2008), Evaluating Derivatives, section 13.2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import tensorflow.compat.v1 as tf
from numpy.polynomial import polynomial

from .. import rules

Factor = tuple[float, tf.Tensor | None]  # a number times a tensor, or the number alone


@dataclass
class Tower:
    """The coefficients F_m of a function at the values of a tensor.

    Attributes:
      slope: F_1.
      further: from m > 1 to F_m, or where `common` to F_m / F_1; None: it is zero.
      common: whether all F_m are given as multiples of F_1.
    """

    slope: tf.Tensor
    further: Callable[[int], Factor | None]
    common: bool = False
    _known: dict[int, Factor | None] = field(default_factory=dict)

    def factor(self, m: int) -> Factor | None:
        """What `further` gives, made once: of a number and a tensor the number is 1 or -1."""
        if m not in self._known:
            number, tensor = self.further(m) or (0.0, None)
            if tensor is None:
                self._known[m] = (number, None) if number else None
            else:
                tensor = tensor if abs(number) == 1 else tensor * abs(number)
                self._known[m] = math.copysign(1.0, number), tensor
        return self._known[m]


Make = Callable[[tf.Operation], Tower]
TOWERS: dict[str, Make] = {}


def _row(*op_types: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        TOWERS.update(dict.fromkeys(op_types, make))
        return make

    return register


def polynomials(base: tf.Tensor, slope: tf.Tensor, moves: Sequence[float], turns: Sequence[float]) -> Tower:
    """A function with f' = s and a tensor a such that a' = A(a) and s' = s B(a): then F_m = s G_m(a).

    (m + 1) G_(m+1) = A G_m' + B G_m, with G_1 = 1.

    Args:
      base: a.
      slope: s.
      moves: the polynomial A, lowest coefficient first.
      turns: the polynomial B.
    """
    known = [np.ones(1)]
    powers = _Powers(base)

    def further(m: int) -> Factor | None:
        while len(known) < m:
            last = known[-1]
            moved, turned = polynomial.polymul(moves, polynomial.polyder(last)), polynomial.polymul(turns, last)
            found = polynomial.polyadd(moved, turned)
            known.append(found / (len(known) + 1))
        return powers.value(known[m - 1])

    return Tower(slope, further, common=True)


class _Powers:
    """Polynomials of a tensor, by few products."""

    def __init__(self, base: tf.Tensor):
        self._known = {1: base}

    def power(self, n: int) -> tf.Tensor:
        if n not in self._known:
            half = self.power(n // 2)
            self._known[n] = tf.square(half) if n % 2 == 0 else self.power(n - 1) * self._known[1]
        return self._known[n]

    def value(self, coefficients: np.ndarray) -> Factor | None:
        """The polynomial as its highest coefficient times a tensor."""
        there = np.flatnonzero(coefficients)
        if len(there) == 0:
            return None
        low, high = int(there[0]), int(there[-1])
        step = 2 if all((n - low) % 2 == 0 for n in there) else 1
        leading = float(coefficients[high])
        if low == high:
            return leading, (self.power(low) if low else None)
        total = self.power(step)
        for n in range(high - step, low - 1, -step):
            ratio = float(coefficients[n]) / leading
            total = total + ratio if ratio else total
            total = total * self.power(step) if n > low else total
        return leading, (total * self.power(low) if low else total)


def _of_itself(*op_types: str, slope: Callable[[tf.Tensor], tf.Tensor], moves: Sequence[float]) -> None:
    """A row of functions y with y' = S(y), given as a function of tensors and by the coefficients of the polynomial."""
    turns = polynomial.polyder(moves).tolist()

    @_row(*op_types)
    def make(op: tf.Operation) -> Tower:
        y = op.outputs[0]
        return polynomials(y, slope(y), moves, turns)


_of_itself("Exp", slope=lambda y: y, moves=(0, 1))
_of_itself("Expm1", slope=lambda y: y + 1.0, moves=(1, 1))
_of_itself("Tanh", slope=lambda y: 1.0 - tf.square(y), moves=(1, 0, -1))
_of_itself("Tan", slope=lambda y: 1.0 + tf.square(y), moves=(1, 0, 1))
_of_itself("Sigmoid", slope=lambda y: y * (1.0 - y), moves=(0, 1, -1))
_of_itself("Inv", "Reciprocal", slope=lambda y: -tf.square(y), moves=(0, 0, -1))
_of_itself("Rsqrt", slope=lambda y: -0.5 * y * tf.square(y), moves=(0, 0, 0, -0.5))


@_row("Log")
def _log(op):
    inverse = tf.reciprocal(op.inputs[0])
    return polynomials(inverse, inverse, (0, 0, -1), (0, -1))


@_row("Log1p")
def _log1p(op):
    inverse = tf.reciprocal(1.0 + op.inputs[0])
    return polynomials(inverse, inverse, (0, 0, -1), (0, -1))


@_row("Sqrt")
def _sqrt(op):
    return polynomials(tf.reciprocal(op.inputs[0]), 0.5 / op.outputs[0], (0, 0, -1), (0, -0.5))


@_row("Softplus")
def _softplus(op):
    slope = tf.sigmoid(op.inputs[0])
    return polynomials(slope, slope, (0, 1, -1), (1, -1))


@_row("Erf", "Erfc")
def _erf(op):
    u = op.inputs[0]
    scale = 2 / math.pi**0.5
    return polynomials(u, tf.exp(-tf.square(u)) * (scale if op.type == "Erf" else -scale), (1,), (0, -2))


def _vibrating(*op_types: str, slope: Callable[[tf.Tensor], tf.Tensor], sign: float) -> None:
    """A row of functions with f'' = f or -f."""

    @_row(*op_types)
    def make(op: tf.Operation) -> Tower:
        first = slope(op.inputs[0])
        both = (op.outputs[0], first)
        return Tower(first, lambda m: (sign ** (m // 2) / math.factorial(m), both[m % 2]))


_vibrating("Sin", slope=tf.cos, sign=-1.0)
_vibrating("Cos", slope=lambda u: -tf.sin(u), sign=-1.0)
_vibrating("Sinh", slope=tf.cosh, sign=1.0)
_vibrating("Cosh", slope=tf.sinh, sign=1.0)


def power(u: tf.Tensor, exponent: float) -> Tower:
    """u^p: F_m = binomial(p, m) u^(p - m), which for a natural p is right at zero as well."""

    def coefficient(m: int) -> float:
        return math.prod(exponent - i for i in range(m)) / math.factorial(m)

    def further(m: int) -> Factor | None:
        scale, rest = coefficient(m), exponent - m
        if scale == 0:
            return None
        return (scale, None) if rest == 0 else (scale, _to_the(u, rest))

    slope = tf.ones_like(u) if exponent == 1 else _to_the(u, exponent - 1)
    return Tower(slope if exponent == 1 else slope * exponent, further)


def _to_the(u: tf.Tensor, exponent: float) -> tf.Tensor:
    if exponent in (1, 2):
        return u if exponent == 1 else tf.square(u)
    return tf.pow(u, tf.constant(exponent, u.dtype))


@_row("Abs", "LeakyRelu", "Relu", "Relu6")
def _bent(op):
    """Straight by pieces."""
    one = rules.pushforward[op.type](op, tf.ones_like(op.inputs[0]))
    return Tower(one, lambda m: None)
