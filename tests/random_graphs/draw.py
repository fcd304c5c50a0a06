"""Drawing a program: everything follows from a seed and a number."""

import re
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf

from random_graphs import build, points
from random_graphs.ops import BODIES, CALLS, CLOSED, GROUPS, LONG_CALLS, OPERATORS, ROW_CALLS
from random_graphs.programs import Body, Input, Program, Step, needed

SHAPES = ((), (1,), (2,), (3,), (4,), (1, 1), (2, 3), (3, 2), (1, 3), (3, 1), (2, 2), (3, 3), (2, 1, 3), (1, 4, 4, 1))
EMPTY = ((0,), (0, 3), (2, 0), (1, 0, 2))
LARGEST = 48
LEAVES = ("placeholder",) * 3 + ("constant", "variable", "variable", "reference")
# Differences judge float64 and complex128; the others are judged by the adjoint identity.
DTYPES = ("float64",) * 11 + ("complex128",) * 5 + ("float32", "complex64", "float16", "bfloat16")


@dataclass(frozen=True)
class Value:
    """A tensor that a step may take, and what it was computed from."""

    name: str
    shape: tuple
    dtype: str
    origins: frozenset = frozenset()

    @classmethod
    def of(cls, name, tensor, origins):
        return cls(name, tuple(tensor.shape.as_list()), tensor.dtype.base_dtype.name, origins | {name})


def usable(made):
    """Whether later steps can take it: a small tensor of numbers that have derivatives."""
    if not isinstance(made, tf.Tensor) or not (made.dtype.is_floating or made.dtype.is_complex):
        return False
    return made.shape.is_fully_defined() and made.shape.num_elements() <= LARGEST


def draw(seed, number):
    """The graph of that number in the sequence of that seed."""
    with tf.Graph().as_default():
        return _Drawing(seed, number).program()


class _Drawing:
    """Steps are tried on tensors of known shapes as they are drawn, so that most programs build."""

    def __init__(self, seed, number):
        self.seed = (seed, number)
        self.rng = np.random.default_rng(self.seed)
        self.names = build.helpers(build.Shapes)
        self.count = 0
        self.inputs = []
        self.dtype = self.pick(DTYPES)
        self.complex = self.dtype.startswith("complex")

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p):
        return self.rng.random() < p

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def program(self):
        scope = [self.input() for _ in range(int(self.rng.integers(1, 4)))]
        leaves = list(scope)
        moved = [(v.name, v.name) for v in leaves]
        steps = []
        for _ in range(int(self.rng.integers(1, 5))):
            self.extend(steps, scope, 0)
            if self.chance(0.05):
                moved.append(self.shift(steps, scope))
        made = scope[len(leaves) :]
        if not made:
            steps.append(Step("t0", f"tf.sin({leaves[0].name})"))
            made = [Value("t0", leaves[0].shape, leaves[0].dtype)]
        ys = [made[-1]] + ([self.pick(made)] if self.chance(0.25) else [])
        xs = self.moved_by(ys, moved)
        if not self.chance(0.1):  # a few with what nobody needs
            steps, _ = needed(steps, {y.name.split("[")[0] for y in ys} | {x for x, _ in xs})
        names = tuple(y.name for y in ys)
        return Program(self.seed, tuple(self.inputs), tuple(steps), names, tuple(xs), self.calls(steps, ys[0], xs[0]))

    def moved_by(self, ys, moved):
        """One or two xs, mostly of those that ys come from, sometimes one twice."""
        near = [m for m in moved if any(m[0] in y.origins for y in ys)]
        xs = []
        for _ in range(int(self.rng.integers(1, 3))):
            left = [m for m in (near if near and self.chance(0.85) else moved) if m not in xs]
            xs += [self.pick(left)] if left else []
        return xs + (xs[:1] if self.chance(0.08) else [])

    def input(self, shape=None, kind=None, value=None):
        if shape is None:
            shape = self.pick(EMPTY if self.chance(0.12) else SHAPES)
        kind = kind or self.pick(LEAVES)
        static = shape
        if kind == "placeholder":
            static = self.pick((shape, shape, tuple(None for _ in shape), shape[:-1] + (None,) * bool(shape), None))
        if value is None:
            value = points.value(self.pick(points.KINDS), shape, self.dtype, self.rng)
        name = self.fresh("x")
        self.inputs.append(Input(name, kind, static, self.dtype, value))
        self.names[name] = tf.placeholder(self.dtype, shape)
        return Value(name, tuple(shape), self.dtype, frozenset([name]))

    def shift(self, steps, scope):
        """An x between: a tensor to which a leaf of zeros is added, by which differences can move it."""
        near = [v for v in scope if v.dtype == self.dtype and v.name not in {i.name for i in self.inputs}]
        if not near:
            return scope[0].name, scope[0].name
        base = near[-1]
        leaf = self.input(base.shape, "placeholder", np.zeros(base.shape, self.inputs[0].value.dtype))
        step = self.attempt(f"{base.name} + {leaf.name}", scope, base.origins)
        steps.extend(step or [])
        return (step[0].name, leaf.name) if step else (scope[0].name, scope[0].name)

    def extend(self, steps, scope, depth):
        """Draw one step more, of several if an operand has to be brought to a shape first."""
        if self.chance(0.33 if depth == 0 else 0.22) and depth < 3:
            made = self.body(scope, depth)
        elif depth and self.chance(0.1):
            made = self.operator(scope)
        else:
            made = None
        for _ in range(12):
            if made:
                break
            made = self.plain(scope)
        steps.extend(made or [])

    def operand(self, scope):
        """Late tensors are likelier, so that graphs are deep."""
        back = min(int(self.rng.geometric(0.45)), len(scope))
        return scope[-back] if self.chance(0.7) else self.pick(scope)

    def plain(self, scope):
        group = GROUPS[self.pick(tuple(GROUPS))]
        a, b = self.operand(scope), self.operand(scope)
        if group.numbers != "both" and group.numbers != ("complex" if a.dtype.startswith("complex") else "real"):
            return None
        before = []
        brought = self.bring(a, group.want)
        if not brought:
            return None
        if brought != a.name:
            before = self.attempt(brought, scope, a.origins)
            if not before:
                return None
            a = scope[-1]
        text = self.fill(self.pick(group.expressions), a)
        origins = a.origins | b.origins
        made = self.attempt(re.sub(r"\b[ab]\b", lambda m: {"a": a, "b": b}[m[0]].name, text), scope, origins)
        if not made and before:
            scope.remove(a)
        return before + made if made else None

    def bring(self, a, want):
        """The expression that gives `a` the wanted shape."""
        size, name = int(np.prod(a.shape)), a.name
        if want == "full":
            return name if a.shape and size else ""
        if want == "any" or (want == "axes" and a.shape):
            return name
        if want == "axes":
            return f"tf.reshape({name}, [1])"
        if want == "square":
            if len(a.shape) == 2 and a.shape[0] == a.shape[1] > 0:
                return name
            n = {1: 1, 4: 2, 9: 3}.get(size)
            if n:
                return f"tf.reshape({name}, [{n}, {n}])"
            return f"tf.einsum('i,j->ij', tf.reshape({name}, [-1]), tf.reshape({name}, [-1]))" if 0 < size < 4 else ""
        if len(a.shape) == 4:
            return name
        sides = {4: (1, 2, 2, 1), 6: (1, 3, 2, 1), 9: (1, 3, 3, 1)}.get(size)
        return f"tf.reshape({name}, {list(sides)})" if sides else ""

    def fill(self, text, a=None):
        """The expression with its choices made."""

        def choose(match):
            inside = match[1]
            if inside == "axis":
                return str(self.rng.integers(-1, max(1, len(a.shape))))
            if inside in ("n", "m"):
                return str(a.shape[-1 if inside == "m" else 0] if a.shape else 1)
            return self.pick(inside.split("|"))

        return re.sub(r"\{([^{}]*)\}", choose, text)

    def attempt(self, text, scope, origins):
        """The step that computes `text`, its results added to the scope; None if it cannot be built."""
        try:
            made = eval(text, self.names)
        except Exception:
            return None
        name = self.fresh("t")
        several = isinstance(made, (list, tuple))
        parts = {f"{name}[{i}]": part for i, part in enumerate(made)} if several else {name: made}
        values = [Value.of(label, part, origins) for label, part in parts.items() if usable(part)]
        if values:
            self.names[name] = made
            scope.extend(values)
            return [Step(name, text)]
        return None

    def operator(self, scope):
        """A derivative that is part of the function."""
        y = scope[-1]
        if y.dtype.startswith("complex") and self.chance(0.7):
            return None
        x = self.pick(sorted(y.origins))
        names = {v.name: v for v in scope}
        if x not in names or x == y.name or names[x].dtype != y.dtype:
            return None
        return self.attempt(self.pick(OPERATORS).format(y=y.name, x=x), scope, y.origins)

    def body(self, scope, depth):
        place = self.pick(BODIES)
        a = self.operand(scope)
        rows = place in ("mapped", "scanned", "filled")
        if rows and (not a.shape or a.shape[0] > 4):
            return None
        shape = a.shape[1:] if rows else a.shape
        two = place == "scanned" or (place == "loop" and self.chance(0.35))
        inner, steps, arguments = [] if place in CLOSED else list(scope), [], []
        for _ in range(2 if two else 1):
            name = self.fresh("a")
            arguments.append(name)
            self.names[name] = tf.placeholder(a.dtype, shape)
            inner.append(Value(name, shape, a.dtype, frozenset([name])))
        first = len(inner)
        for _ in range(int(self.rng.integers(1, 3))):
            self.extend(steps, inner, depth + 1)
        made = inner[first:] or inner[-1:]
        result = self.fitted(made[-1], Value("", shape, a.dtype))
        results = (result,)
        if two and place == "loop":
            results += (self.fitted(self.pick(inner[first - 1 :]), Value("", shape, a.dtype)),)
        flow = self.pick(("v1", "v2", "default"))
        body = Body(place, flow, self.fresh("body"), tuple(arguments), tuple(steps), results)
        operands = [a.name] * (2 if two and place == "loop" else 1)
        extra = {"loop": self.fill(", {2|2|3|1|0}"), "cond": self.fill(", {True|True|False}"), "case": ", 1"}
        name = self.fresh("t")
        self.names[name] = tf.placeholder(a.dtype, a.shape)
        scope.append(Value(name, a.shape, a.dtype, a.origins | {name}))
        return [Step(name, f"{place}('{flow}', {body.name}, {', '.join(operands)}{extra.get(place, '')})", body)]

    def fitted(self, value, like):
        """The expression that gives a value the shape and dtype of an argument."""
        text = value.name
        if value.dtype.startswith("complex") and not like.dtype.startswith("complex"):
            text = f"tf.math.real({text})"
        if value.dtype != like.dtype:
            text = f"tf.cast({text}, tf.{like.dtype})"
        if value.shape != like.shape:
            text = f"tf.fill({list(like.shape)}, tf.reduce_sum({text}) / {max(2, int(np.prod(value.shape)))})"
        return text

    def calls(self, steps, y, x):
        """Lop and Rop always, and one or two of the others."""
        first, second, *others = CALLS
        if len(re.findall("body=Body", repr(steps))) < 2 or self.chance(0.2):
            others += LONG_CALLS
        shape = self.names[x[0]].shape.as_list() if x[0] in self.names else []
        if shape and y.shape and shape[0] == y.shape[0]:
            others += ROW_CALLS
        chosen = [self.pick(others) for _ in range(1 + self.chance(0.3))]
        return tuple(dict.fromkeys(map(self.fill, [first, second, *chosen])))
