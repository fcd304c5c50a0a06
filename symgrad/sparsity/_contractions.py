"""Local patterns of products that add up along some axes: which elements of the output an operand reaches."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import tensorflow.compat.v1 as tf

from ._probe import shape_of
from ._reach import MAX_ENTRIES, Reach

# From the op, the number of the moving input, its reach, and what gives constants, to the reach of the output or None.
Rule = Callable[[tf.Operation, int, Reach, Callable[[int], np.ndarray | None]], Reach | None]
CONTRACTIONS: dict[str, Rule] = {}

# Dense along so many of the last axes, apart along the others.
_DENSE_AXES = {
    "CholeskyGrad": 2, "FFT": 1, "FFT2D": 2, "FFT3D": 3, "IFFT": 1, "IFFT2D": 2, "IFFT3D": 3, "MatrixSolve": 2,
    "MatrixTriangularSolve": 2,
}  # fmt: skip


def contraction(*op_types: str, table: dict[str, Rule] = CONTRACTIONS) -> Callable[[Rule], Rule]:
    """The decorator that makes a function the rule of these op types."""

    def register(rule: Rule) -> Rule:
        table.update(dict.fromkeys(op_types, rule))
        return rule

    return register


def numbers(shape: Sequence[int]) -> np.ndarray:
    """The numbers of the elements of a tensor, in its shape."""
    return np.arange(math.prod(shape)).reshape(shape)


def kron(*parts: Any) -> sp.csr_array:
    """The Kronecker product of sparse matrices; without a format SciPy would store zeros of nearly full ones."""
    return functools.reduce(functools.partial(sp.kron, format="csr"), parts)


def _contracted(reach: Reach, labels: str, out: str, dims: dict[str, int]) -> Reach:
    """Behind a product that sums over the labels that `out` has not, with an operand that is dense."""
    kept = [c for c in out if c in labels]
    place = numbers([dims[c] for c in kept])
    across = np.transpose(place, [kept.index(c) for c in labels if c in kept])
    groups = np.broadcast_to(across.reshape([dims[c] if c in kept else 1 for c in labels]), [dims[c] for c in labels])
    index = np.broadcast_to(place.reshape([dims[c] if c in kept else 1 for c in out]), [dims[c] for c in out])
    return reach.grouped(groups.ravel(), place.size).take(index.ravel())


@contraction("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul")
def _matmul(op, i, reach, constant):
    names = ("transpose_a", "transpose_b") if op.type == "MatMul" else ("adj_x", "adj_y")
    flipped = [op.get_attr(n) for n in names]
    shapes, out = [shape_of(t) for t in op.inputs], shape_of(op.outputs[0])
    other = constant(1 - i)
    if len(out) == 2 and other is not None and np.count_nonzero(other) < other.size / 2:
        return _sparse_product(i, reach, sp.csr_array((other.T if flipped[1 - i] else other) != 0), (flipped[i], out))
    batch = "abcdefgh"[: len(out) - 2]
    kinds = ("yx" if flipped[0] else "xy"), ("zy" if flipped[1] else "yz")
    labels = [batch[len(batch) - len(s) + 2 :] + kind for s, kind in zip(shapes, kinds, strict=True)]
    dims = dict(zip(batch + "xz", out, strict=True))
    dims.update((c, n) for c, n in zip(labels[0], shapes[0], strict=True) if c in "xy")
    full = [dims[c] for c in labels[i]]
    if full != shapes[i]:  # a batch of one, broadcast
        reach = reach.take(np.broadcast_to(numbers(shapes[i]), full).ravel())
    return _contracted(reach, labels[i], batch + "xz", dims)


def _sparse_product(i, reach, other, how):
    """Behind a product with a matrix of constants most of which are zero."""
    flipped, (rows, columns) = how
    local = kron(sp.eye_array(rows), other.T) if i == 0 else kron(other, sp.eye_array(columns))
    if flipped:
        inner = other.shape[0] if i == 0 else other.shape[1]
        given = (inner, rows) if i == 0 else (columns, inner)
        reach = reach.take(numbers(given).T.ravel())
    return reach.through(local)


@contraction("Einsum")
def _einsum(op, i, reach, constant):
    equation = op.get_attr("equation").decode()
    given, out = equation.split("->")
    labels = given.split(",")
    if "." in equation or any(len(set(part)) < len(part) for part in labels):
        return None
    dims = {c: n for t, part in zip(op.inputs, labels, strict=True) for c, n in zip(part, shape_of(t), strict=True)}
    return _contracted(reach, labels[i], out, dims)


@contraction("Cumsum")
def _cumulative(op, i, reach, constant):
    axis = constant(1)
    if i != 0 or axis is None:
        return None
    shape = shape_of(op.inputs[0])
    axis = int(axis) % len(shape)
    n = shape[axis]
    if n * n > MAX_ENTRIES:
        return None
    past = np.tri(n, k=-1 if op.get_attr("exclusive") else 0, dtype=bool)
    past = sp.csr_array(past.T if op.get_attr("reverse") else past)
    before, behind = sp.eye_array(math.prod(shape[:axis])), sp.eye_array(math.prod(shape[axis + 1 :]))
    return reach.through(kron(before, past, behind))


@contraction(*_DENSE_AXES)
def _dense_axes(op, i, reach, constant):
    """Behind an op that mixes its input i along the last axes; the others are apart, and the same in the output."""
    shape, out = shape_of(op.inputs[i]), shape_of(op.outputs[0])
    apart = len(shape) - _DENSE_AXES[op.type]
    if len(out) != len(shape) or out[:apart] != shape[:apart]:
        return None
    place = numbers(shape[:apart] + [1] * (len(shape) - apart))
    return reach.grouped(np.broadcast_to(place, shape).ravel(), place.size).take(np.broadcast_to(place, out).ravel())
