"""Series through an op of which the pushforward is known and nothing else.

Along a curve v' = P(u, v, u'), P being the graph that the op's rule builds, or the double VJP of this op alone. It is
pushed through like any other graph, to an order less by one each time, which ends the recursion:
v_a = [P]_(a - e_i) / a_i for a parameter i of which the term a has some. The gradient function of a user may read
other tensors than the op does: those that move are values of P as the inputs of the op are.
"""

from collections.abc import Iterable, Sequence

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf, _walk, rules
from .._reach import reach
from . import _single_op, _stacked
from ._algebra import Algebra, Index, along
from ._handlers import HANDLERS, OTHERS, WHOLE, kind_of
from ._push import Push, Series, require_rules

Coefficients = Sequence[tf.Tensor | None]


def derived(driver: Push, op: tf.Operation) -> Coefficients:
    """The coefficients of one term of the outputs of an op."""
    series = driver.series
    if series.algebra.stacks:
        return _for_each_direction(driver, op)
    if series.algebra.is_collapsed(driver.term):
        return _collapsed(driver, op)
    index = series.algebra.indices[driver.term]
    return _along(driver, op, next(i for i, n in enumerate(index) if n)).coefficients(index)


def _along(driver: Push, op: tf.Operation, generator: int) -> "_Derivative":
    key = op, "derivative", generator
    if key not in driver.series.memo:
        driver.series.memo[key] = _Derivative(driver, op, generator)
    return driver.series.memo[key]


def _collapsed(driver: Push, op: tf.Operation) -> Coefficients:
    """What the lower terms of each direction give, and the op's pushforward along the collapsed term."""
    algebra = driver.series.algebra
    outputs: list[list[tuple[float, tf.Tensor]]] = [[] for _ in op.outputs]
    for generator, weight in enumerate(algebra.weights):
        if not weight:
            continue
        index = tuple(algebra.order * i for i in algebra.unit(generator))
        found = _along(driver, op, generator).coefficients(index)
        for parts, found_one in zip(outputs, found, strict=True):
            parts.extend([] if found_one is None else [(weight, found_one)])
    return _with_top(driver, op, [combined(parts) for parts in outputs])


def _with_top(driver: Push, op: tf.Operation, lower: Coefficients) -> Coefficients:
    tangents = driver.inputs(op)
    if all(t is None for t in tangents):
        return lower
    linear = _single_op.through(op, tangents, driver.needed(op), instead=driver.series.instead)
    return [combined([(1.0, t) for t in pair if t is not None]) for pair in zip(lower, linear, strict=True)]


def combined(parts: Sequence[tuple[float, tf.Tensor]]) -> tf.Tensor | None:
    """The sum of numbers times tensors, those of one number added up first; None if there are none."""
    groups: dict[float, list[tf.Tensor]] = {}
    for scale, tensor in parts:
        groups.setdefault(scale, []).append(tensor)
    total = None
    for scale, tensors in sorted(groups.items(), key=lambda pair: pair[0] < 0):
        found = _sum(tensors)
        if total is None:
            total = -found if scale == -1 and found.dtype != tf.variant else _multiple(found, scale)
        elif found.dtype == tf.variant:
            total = rules.variant_sum([total, _multiple(found, scale)])
        elif abs(scale) == 1:
            total = total + found if scale > 0 else total - found
        else:
            total = total + (found + found if scale == 2 else found * scale)
    return total


def _multiple(tensor: tf.Tensor, factor: float) -> tf.Tensor:
    if factor == 1:
        return tensor
    return rules.variant_multiple(tensor, factor) if tensor.dtype == tf.variant else tensor * factor


def _sum(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    if tensors[0].dtype == tf.variant:
        return rules.variant_sum(tensors)
    alike = all(t.shape.is_fully_defined() and t.shape == tensors[0].shape for t in tensors)
    if len(tensors) > 2 and alike:
        return tf.add_n(tensors)
    return sum(tensors[1:], tensors[0])


class _Derivative:
    """P of one op along one of the parameters, and the series of what it gives.

    Args:
      driver: of some term of the series.
      op: the op.
      generator: the number of the parameter.
    """

    def __init__(self, driver: Push, op: tf.Operation, generator: int):
        self._outer, self._op, self._generator = driver.series, op, generator
        algebra = self._outer.algebra
        self._lower = algebra.below(generator)
        self._active = {i: op.inputs[i] for i in driver.between.active_inputs(op)}
        first = self._outer.pushes[algebra.number(algebra.unit(generator))]
        self._stand_ins = {i: _stand_in(t, first.of(t)) for i, t in self._active.items()}
        tangents = [self._stand_ins.get(i) for i in range(len(op.inputs))]
        self._found = list(_single_op.through(op, tangents, driver.needed(op), instead=driver.series.instead))
        self._started = 0
        if self._lower.indices:
            self._between = self._walk(driver.needed(op))
            self._series = Series(self._between, self._lower)
            self._at_once = any(kind_of(o) in WHOLE or o.type in HANDLERS for o in self._between.ops)

    def _walk(self, needed: Sequence[bool]) -> _walk.Between:
        """What lies between the values of the op, its results and the stand-ins, and P.

        Where P reads a result that nobody needs, and of which the series is not known, its way leads through the op.
        """
        ends = [t for t in self._found if t is not None]
        results = [t for t in self._op.outputs if _tensors.is_differentiable(t)]
        sources = [*self._active.values(), *self._stand_ins.values()]
        self._read = _read_besides(self._outer, self._op, ends, [*sources, *results])
        sources += self._read
        known = [t for t in results if needed[t.value_index]]
        behind = _behind(ends, [*sources, *known])
        self._known = [] if self._op in behind else known
        sources += self._known
        between = rules.between(ends, sources, within=behind if self._known == known else _behind(ends, sources))
        require_rules(between)
        return between

    def coefficients(self, index: Index) -> Coefficients:
        """The coefficients of a multi-index of the results of the op."""
        count = index[self._generator]
        below = tuple(n - int(i == self._generator) for i, n in enumerate(index))
        if not any(below):
            return self._found
        term = self._lower.number(below)
        if self._at_once:
            self._series = Series(self._between, Algebra(self._lower.indices[: term + 1]))
            self._start(range(term + 1))
            self._series.run()
        else:
            self._advance(term)
        found = [None if t is None else self._series.coefficient(t, term) for t in self._found]
        return [None if t is None else _multiple(t, 1.0 / count) for t in found]

    def _advance(self, term: int) -> None:
        """Push terms through, to the given one; the lower ones of the results are known by now."""
        for n in range(self._started, term + 1):
            self._start([n])
            for op in self._between.ops:
                HANDLERS[OTHERS](self._series.pushes[n], op)
        self._started = max(self._started, term + 1)

    def _start(self, terms: Iterable[int]) -> None:
        """Give the values, the results and the stand-ins their coefficients."""
        outer = self._outer
        for term in terms:
            index = self._lower.indices[term]
            same, above = outer.algebra.number(index), outer.algebra.find(self._above(index))
            values = {id(t): t for t in (*self._active.values(), *self._read, *self._known)}
            given = [(t, outer.coefficient(t, same)) for t in values.values()]
            if above is not None:
                scale = float(index[self._generator] + 1)
                upper = [(self._stand_ins[i], outer.coefficient(t, above)) for i, t in self._active.items()]
                given += [(t, None if u is None else u * scale) for t, u in upper]
            there = [(t, u) for t, u in given if u is not None]
            self._series.start([t for t, _ in there], [{term: u} for _, u in there])

    def _above(self, index: Index) -> Index:
        """The multi-index one further along the parameter."""
        return tuple(n + int(i == self._generator) for i, n in enumerate(index))


def _stand_in(tensor: tf.Tensor, tangent: tf.Tensor | None) -> tf.Tensor:
    """The tangent of an input under a name of its own, zeros if there is none: P is to read nothing else."""
    if tangent is None and tensor.dtype == tf.resource:
        return tf.zeros(tf.raw_ops.VariableShape(input=tensor), _tf.handle_dtype(tensor))
    return tf.identity(tf.zeros_like(tensor) if tangent is None else tangent)


def _behind(ends: Iterable[tf.Tensor], sources: Iterable[tf.Tensor]) -> list[tf.Operation]:
    """The ops that the ends are computed from, none behind a source."""
    stop = {id(t) for t in sources}

    def makers(tensors: Iterable[tf.Tensor]) -> list[tf.Operation]:
        return [t.op for t in tensors if id(t) not in stop]

    return list(reach(makers(ends), lambda op: makers(op.inputs)))


def _read_besides(
    series: Series, op: tf.Operation, ends: Iterable[tf.Tensor], sources: Iterable[tf.Tensor]
) -> list[tf.Tensor]:
    """The tensors that move and that a user's gradient function has read besides the inputs and results of its op.

    Those between them and `ends` need not be on any path of the graph itself.
    """
    if not rules.has_own_gradient(op):
        return []
    captured = series.between.sources.again()
    seen = {id(t) for t in sources}
    found: list[tf.Tensor] = []
    todo = list(ends)
    while todo:
        tensor = captured.outer(todo.pop())
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if series.moves(tensor):
            found.append(tensor)
        elif tensor.op not in series.between.stopped:
            todo.extend(tensor.op.inputs)
    return found


def _for_each_direction(driver: Push, op: tf.Operation) -> Coefficients:
    """Stacked directions through an op, each by itself, and the op's pushforward along the collapsed term."""
    series = driver.series
    key = op, "directions"
    if key not in series.memo:
        series.memo[key] = _directions(series, op)
    algebra = series.algebra
    found = [series.memo[key].get((i, algebra.degrees[driver.term])) for i in range(len(op.outputs))]
    if algebra.counts[driver.term] is not None:
        return found
    return _with_top(driver, op, [None if t is None else algebra.collapsed(t) for t in found])


def _closed_over(series: Series, op: tf.Operation) -> list[tf.Tensor]:
    """What `_read_besides` finds of a user's gradient function that is run in a graph that is thrown away."""
    if not rules.has_own_gradient(op):
        return []
    with _tf.FuncGraph("probe").as_default():
        tangents = [tf.zeros_like(t) if series.moves(t) else None for t in op.inputs]
        needed = [id(t) in series.between.tensors for t in op.outputs]
        found = _single_op.through(op, tangents, needed, instead=series.instead)
        return _read_besides(series, op, [t for t in found if t is not None], [*op.inputs, *op.outputs])


def _directions(series: Series, op: tf.Operation) -> dict[tuple[int, int], tf.Tensor]:
    """The coefficients of the outputs of an op by number and degree; the highest without the collapsed term."""
    active = {id(t): t for t in (*(op.inputs[i] for i in series.between.active_inputs(op)), *_closed_over(series, op))}
    stacks = [d for d in series.pushes if d.count is not None]
    given = [(t, d.term, d.of(t)) for t in active.values() for d in stacks if d.of(t) is not None]
    present: list[tuple[int, int]] = []

    def one(coefficients):
        inner = Series(series.between, along(series.algebra.order))
        inner.start([t for t, _, _ in given], [{k: c} for (_, k, _), c in zip(given, coefficients, strict=True)])
        found = []
        present.clear()
        for push in inner.pushes:
            for i, tangent in enumerate(derived(push, op)):
                if tangent is not None and _tensors.is_floating(op.outputs[i]):
                    push.add(op.outputs[i], tangent)
                    present.append((i, push.term + 1))
                    found.append(push.of(op.outputs[i]))
        return found

    if not given:
        return {}
    found = _stacked.each(one, [c for *_, c in given], [True] * len(given), stacks[0].count)
    return dict(zip(present, found, strict=True))
