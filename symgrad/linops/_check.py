"""Whether an operator is what methods take it for: the same at each product, symmetric, positive semidefinite."""

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _where
from .._finding import Finding
from .._op_types import RANDOM
from ._density import lanczos

_STEPS = 20


class Flaw(enum.Enum):
    """What an operator is not."""

    NOT_DETERMINISTIC = "two products with the same vector differ"
    NOT_SYMMETRIC = "u^T A v and v^T A u differ"
    NOT_POSITIVE = "v^T A v is negative for some v"


def check(A: Any, *, seed: int = 0) -> list[Finding]:
    """Look whether A is deterministic, symmetric and positive semidefinite, as CG and Lanczos take it for.

    Args:
      A: a square operator of `symgrad.linops`.
      seed: of the vectors that are tried.

    Returns:
      A list of `symgrad.diagnose.Finding`, empty if nothing is found. `cause` is a `symgrad.linops.Flaw`; where an op
      is to blame, such as a dropout, `op` names it.

    Example:
      >>> x = tf.constant([1., 2.], tf.float64)
      >>> H = symgrad.linops.Hessian(x[0] * x[1], x, session=run.session)
      >>> [finding.cause.name for finding in symgrad.linops.check(H)]
      ['NOT_POSITIVE']
    """
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((2, A.shape[0]))
    first, second = A @ v, A @ v
    size = max(np.max(np.abs(first)), np.finfo(np.float64).tiny)
    gap = np.max(np.abs(first - second)) / size
    if gap > 1e-5:  # another order of summation moves float32 by some 1e-6
        return [_undetermined(A, gap)]
    findings: list[Finding] = []
    left, right = u @ first, v @ (A @ u)
    scale = np.linalg.norm(u) * np.linalg.norm(first)
    if abs(left - right) > 1e-4 * scale:
        findings.append(Finding("A", Flaw.NOT_SYMMETRIC, detail=f"{left:.6g} against {right:.6g}"))
    lowest, largest = _extremes(A, v)
    if lowest < -1e-5 * largest:
        findings.append(_indefinite(lowest))
    return findings


def _extremes(A: Any, start: np.ndarray) -> tuple[float, float]:
    diagonals, sides = lanczos(A, start[:, np.newaxis], min(_STEPS, len(start)))
    values = np.linalg.eigvalsh(np.diag(diagonals[:, 0]) + np.diag(sides[:, 0], 1) + np.diag(sides[:, 0], -1))
    return values[0], np.max(np.abs(values))


def _undetermined(A: Any, gap: float) -> Finding:
    op = next((op for op in _behind(A) if _draws(op)), None)
    detail = f"by {gap:.2g} of the largest element"
    advice = "Feed what is drawn, draw it with tf.random.stateless_*, or switch dropout off"
    if op is None:
        return Finding("A", Flaw.NOT_DETERMINISTIC, detail=detail, advice=advice)
    where = _where.made_at(op)
    return Finding("A", Flaw.NOT_DETERMINISTIC, op.name, op.type, where=where, detail=detail, advice=advice)


def _indefinite(lowest: float) -> Finding:
    detail = f"the smallest eigenvalue is at most {lowest:.6g}"
    advice = "The Hessian of a network is indefinite as a rule: take symgrad.linops.GGN, or add a multiple of 1"
    return Finding("A", Flaw.NOT_POSITIVE, detail=detail, advice=advice)


def _draws(op: tf.Operation) -> bool:
    return op.type in RANDOM


def _behind(A: Any) -> Iterator[tf.Operation]:
    """The ops that the products of an operator are computed from."""
    todo = [t.op for t in getattr(A, "results", [])]
    seen = set(todo)
    while todo:
        op = todo.pop()
        yield op
        new = {t.op for t in op.inputs} - seen
        seen |= new
        todo.extend(new)
