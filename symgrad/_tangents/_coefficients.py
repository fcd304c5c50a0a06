"""Series through an op that is a function of its inputs.

A coefficient enters linearly, as a tangent does; to that comes what the lower ones give. The row of the op type tells
what that is: nothing for a linear op; products of the op itself for a multilinear one; powers, with the Taylor
coefficients of the function, for an elementwise one. Of every other op the pushforward is pushed through.
"""

from collections.abc import Callable, Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, rules
from . import _derived, _single_op, _stacked
from ._algebra import along
from ._derived import Coefficients, combined
from ._handlers import OTHERS, handler
from ._push import Push, Series
from ._towers import TOWERS, Tower, power

_ADDING = {"Add": 1.0, "AddV2": 1.0, "Sub": -1.0}
_QUOTIENTS = ("Div", "RealDiv")
_POWERS = ("Mul", "Pow", "Square")
_BIASES = ("BiasAdd", "BiasAddV1")
# Linear ops that take a tensor of size one along some dimensions, or a stack, as it is.
_ANY_SHAPE = ("Cast", "Neg")


@handler(OTHERS)
def through(driver: Push, op: tf.Operation) -> None:
    """Push a term through an op that is a function of its inputs."""
    if not any(driver.series.moves(op.inputs[i]) for i in driver.between.active_inputs(op)):
        return
    with driver.where_outputs_lie(op), tf.name_scope(f"{op.name.rsplit('/', 1)[-1]}_tangent"):
        rule = _first_order if driver.series.algebra.order == 1 else _rule(op, driver.between.active_inputs(op))
        for tensor, tangent in zip(op.outputs, rule(driver, op), strict=True):
            if tangent is not None and _tensors.is_differentiable(tensor):
                loose = driver.series.loose or driver.series.algebra.order == 1
                driver.add(tensor, tangent if loose else driver.widened(tensor, tangent))


Rule = Callable[[Push, tf.Operation], Coefficients]


def is_by_formula(op: tf.Operation, active: Sequence[int]) -> bool:
    """True if the rows for these inputs say how series of any order go on, without running anything else."""
    rule = _rule(op, active)
    if rule is _elementwise:
        return _exponent(op) is not None if op.type in _POWERS else op.type in TOWERS
    return rule is not _derived.derived


def _rule(op: tf.Operation, active: Sequence[int]) -> Rule:
    """How a term of order two or more, or the first one beside such, goes through an op."""
    if rules.has_own_gradient(op):
        return _derived.derived
    row = rules.pushforward.find(op.type)
    if op.type in _ADDING and op.outputs[0].shape.rank is not None:
        return _sum
    if op.type in _QUOTIENTS and op.outputs[0].shape.rank is not None:
        return _quotient
    if op.type in _BIASES and list(active) == [0]:
        return _identity
    if (op.type == "Mul" and op.inputs[0] is op.inputs[1]) or op.type == "Square":
        return _elementwise
    if op.type == "Pow" and list(active) == [0] and _exponent(op) is not None:
        return _elementwise
    if not isinstance(row, rules.Row) or not set(active) <= set(row.inputs(op)):
        return _derived.derived
    if row.elementwise:
        return _elementwise
    return _KINDS.get(row.kind, _derived.derived)


def _first_order(driver: Push, op: tf.Operation) -> Coefficients:
    """The op's own pushforward, along this term."""
    tangents = driver.inputs(op)
    if all(t is None for t in tangents):
        return [None] * len(op.outputs)
    if driver.count is None:
        return _single_op.through(op, tangents, driver.needed(op), instead=driver.series.instead)
    return _stacked.through(op, tangents, driver.needed(op), count=driver.count, instead=driver.series.instead)


def _identity(driver: Push, op: tf.Operation) -> Coefficients:
    return [driver.raw(t) for t in op.inputs[: len(op.outputs)]]


def _linear(driver: Push, op: tf.Operation) -> Coefficients:
    if op.type in _ANY_SHAPE:
        tangent = driver.raw(op.inputs[0])
        return [None] if tangent is None else rules.reapply(op, [tangent], shaped=False)
    if op.type == "AddN":
        there = [t for t in map(driver.of, op.inputs) if t is not None]
        return [combined([(1.0, t) for t in there])]
    return _first_order(driver, op)


def _aligned(driver: Push, tensor: tf.Tensor, term: int | None, op: tf.Operation) -> tf.Tensor | None:
    """A coefficient of a tensor, such that it broadcasts with others as the tensors of the op do."""
    found = driver.series.coefficient(tensor, term)
    if found is None or term is None:
        return found
    return _stacked.aligned(found, op.outputs[0].shape.rank, driver.series.algebra.counts[term])


def _sum(driver: Push, op: tf.Operation) -> Coefficients:
    a, b = (_aligned(driver, t, driver.term, op) for t in op.inputs)
    return [combined([(s, t) for s, t in ((1.0, a), (_ADDING[op.type], b)) if t is not None])]


Part = tuple[float, tf.Tensor, Sequence[int | None]]  # a weight, a product, the terms of its factors


def _collapses(driver: Push, terms: Sequence[int | None]) -> bool:
    """True if a product of these terms is a stack and the driver's term is not."""
    counts = driver.series.algebra.counts
    return driver.count is None and any(t is not None and counts[t] is not None for t in terms)


def _gathered(driver: Push, parts: Sequence[Part]) -> tf.Tensor | None:
    """The sum of weights times products; what is stacked is collapsed."""
    whole = [(w, p) for w, p, terms in parts if not _collapses(driver, terms)]
    stacked = combined([(w, p) for w, p, terms in parts if _collapses(driver, terms)])
    if stacked is not None:
        whole.append((1.0, driver.series.algebra.collapsed(stacked)))
    return combined(whole)


def _multilinear(driver: Push, op: tf.Operation) -> Coefficients:
    active = driver.between.active_inputs(op)
    product = _product if op.type == "Mul" and op.outputs[0].shape.rank is not None else _applied
    parts = []
    for terms, weight in driver.series.algebra.assignments(driver.term, len(active)):
        found = product(driver, op, dict(zip(active, terms, strict=True)))
        if found is not None:
            parts.append((weight, found, terms))
    return [_gathered(driver, parts)]


def _product(driver: Push, op: tf.Operation, terms: dict[int, int | None]) -> tf.Tensor | None:
    a, b = (_aligned(driver, t, terms.get(i), op) for i, t in enumerate(op.inputs))
    return None if a is None or b is None else a * b


def _applied(driver: Push, op: tf.Operation, terms: dict[int, int | None]) -> tf.Tensor | None:
    """The op on coefficients, for each direction where they are stacked."""
    series = driver.series
    rows = op.type == "MatMul" and not op.get_attr("transpose_a")  # the first operand may be one row for all
    inputs = list(op.inputs)
    for i, term in terms.items():
        if term is not None:
            known = series.pushes[term]
            inputs[i] = known.raw(op.inputs[i]) if rows and i == 0 else known.of(op.inputs[i])
    if any(t is None for t in inputs):
        return None
    counts = {i: series.algebra.counts[t] for i, t in terms.items() if t is not None}
    flags = [counts.get(i) is not None for i in range(len(inputs))]
    if not any(flags):
        return rules.reapply(op, inputs, shaped=False)[0]
    count = next(c for c in counts.values() if c is not None)
    return _stacked.each(lambda given: rules.reapply(op, given, shaped=False), inputs, flags, count)[0]


def _quotient(driver: Push, op: tf.Operation) -> Coefficients:
    """w v = u, so v_a = (u_a - sum w_b v_c) / w."""
    u, w = op.inputs
    (v,) = op.outputs
    active = driver.between.active_inputs(op)
    terms = [*driver.series.algebra.pairs(driver.term), (driver.term, None, 1.0)] if 1 in active else []
    parts: list[Part] = []
    for b, c, weight in terms:
        left, right = _aligned(driver, w, b, op), _aligned(driver, v, c, op)
        if left is not None and right is not None:
            parts.append((-weight, left * right, (b, c)))
    top = _aligned(driver, u, driver.term, op) if 0 in active else None
    parts = parts if top is None else [(1.0, top, ()), *parts]
    found = _gathered(driver, parts)
    return [None if found is None else found / w]


def _elementwise(driver: Push, op: tf.Operation) -> Coefficients:
    """sum_m F_m (h^m)_a, h being what is added to the value."""
    series, tower = driver.series, _tower(driver, op)
    u = op.inputs[0]
    first = driver.raw(u)
    total = None if first is None else first if tower.common else first * tower.slope
    for m in range(2, series.algebra.degrees[driver.term] + 1):
        powers = _power(series, u, m, driver.term)
        factor = None if powers is None else tower.factor(m)
        if factor is None:
            continue
        number, tensor = factor
        part = powers if tensor is None else powers * tensor
        total = combined([*([] if total is None else [(1.0, total)]), (number, part)])
    return [total * tower.slope if tower.common and total is not None else total]


def _power(series: Series, u: tf.Tensor, m: int, term: int) -> tf.Tensor | None:
    """The coefficient of a power of what is added to the value of u."""
    key = id(u), "power", m, term
    if m == 1:
        return series.coefficient(u, term)
    if key not in series.memo:
        half = m // 2 if m % 2 == 0 else m - 1
        parts: list[Part] = []
        for a, b, weight in series.algebra.pairs(term):
            if 2 * half == m and a > b:
                continue  # as b a
            left, right = _power(series, u, half, a), _power(series, u, m - half, b)
            if left is not None and right is not None:
                twice = 2.0 if 2 * half == m and a < b else 1.0
                parts.append((twice * weight, tf.square(left) if left is right else left * right, (a, b)))
        series.memo[key] = _gathered(series.pushes[term], parts)
    return series.memo[key]


def _exponent(op: tf.Operation) -> float | None:
    """The exponent of a power where it is one real number known by now."""
    if op.type != "Pow":
        return 2.0
    value = None if op.outputs[0].dtype.is_complex else tf.get_static_value(op.inputs[1])
    return float(value) if value is not None and value.ndim == 0 else None


def _tower(driver: Push, op: tf.Operation) -> Tower:
    key = op, "tower"
    memo = driver.series.memo
    if key not in memo:
        exponent = _exponent(op) if op.type in _POWERS else None
        if exponent is not None:
            memo[key] = power(op.inputs[0], exponent)
        else:
            memo[key] = TOWERS[op.type](op) if op.type in TOWERS else _of_the_jet(driver, op)
    return memo[key]


def _of_the_jet(driver: Push, op: tf.Operation) -> Tower:
    """The Taylor coefficients of an elementwise op without a row: its jet along ones."""
    series = Series(driver.between, along(driver.series.algebra.order))
    series.start([op.inputs[0]], [{0: tf.ones_like(op.inputs[0])}])
    known: list[tf.Tensor | None] = []

    def coefficient(m):
        for push in series.pushes[len(known) : m]:
            (found,) = _derived.derived(push, op)
            known.append(found)
            if found is not None:
                push.add(op.outputs[0], found)
        return known[m - 1]

    def further(m):
        found = coefficient(m)
        return None if found is None else (1.0, found)

    return Tower(coefficient(1), further)


_KINDS = {"identity": _identity, "linear": _linear, "multilinear": _multilinear}
