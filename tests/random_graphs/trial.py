"""One random graph, built and run: the calls on it, their values, and the state in which they leave it."""

from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad
from random_graphs import baseline, build
from random_graphs.arrays import like, off
from random_graphs.baseline import said
from random_graphs.ops import CUTS
from symgrad import errors

# What a kernel refuses at a point: which of two ways of computing it meets an exact zero is a matter of rounding; the
# arrays of V1 have no gradient where they are empty and their elements have no static shape.
AT_THE_POINT = ("Input is not invertible", "TensorArray has size zero, but element shape")
COARSE = {d.as_datatype_enum for d in (tf.float16, tf.bfloat16, tf.float32, tf.complex64)}


@dataclass(frozen=True)
class Outcome:
    """How one call on one graph ended; `check` says what the verdicts mean."""

    verdict: str
    call: str
    detail: str = ""

    @property
    def failed(self):
        return self.verdict in ("wrong", "untyped", "harmed")


class Trial:
    """A program in the default graph and one session.

    Attributes:
      found: the outcomes so far.
      values: of each call that gave one.
      double: whether all is float64 or complex128.
      coarse: why differences are not to be compared with: another precision, or an op that is told to have another
        derivative; "" where they are.
      op_types: of the graph and its functions.
    """

    def __init__(self, program, session, needless):
        self.program, self.session, self.graph, self.needless = program, session, session.graph, needless
        self.source = build.text(program)
        self.found, self.results, self.values = [], {}, {}

    def say(self, verdict, call, detail=""):
        self.found.append(Outcome(verdict, call, detail))

    def prepare(self):
        """Build and run the user's graph; whether that went well."""
        try:
            self._build()
            self.before = self._twice()
        except Exception as error:
            self.say(self._blame(error), "y", said(error))
            return False
        self._vectors()
        if "symgrad." in self.source:
            self._compare_inside()
        return True

    def _build(self):
        self.names = build.execute(self.source, symgrad)
        self.ys, self.xs = self.names["ys"], self.names["xs"]
        self.moves = {}
        for leaf in self.program.inputs:
            if leaf.kind in ("variable", "reference"):
                holder = tf.placeholder(leaf.dtype, leaf.value.shape)
                self.moves[leaf.name] = holder, tf.assign(self.names[leaf.name], holder).op
        self.initial = [tf.global_variables_initializer(), tf.tables_initializer()]
        made = self.graph.as_graph_def()
        nodes = [*made.node, *(node for function in made.library.function for node in function.node_def)]
        self.op_types = {node.op for node in nodes}
        self.double = not any(value.type in COARSE for node in nodes for value in node.attr.values())
        cut = next((cut for cut in CUTS if cut in self.source), None)
        self.coarse = f"the derivative that {cut} has" if cut else "" if self.double else "another precision"

    def _twice(self):
        """The values of ys, copied, as a reference variable's are a view; kernels that read beyond a tensor differ."""
        self.session.run(self.initial)
        first = [np.array(y) for y in self.session.run(self.ys)]
        again = self.session.run(self.ys)
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, again, strict=True)):
            raise ArithmeticError("not the same twice")
        return first

    def _blame(self, error):
        """Whose fault it is that a graph, maybe with derivatives inside, does not build or run."""
        if "symgrad." not in self.source:
            return "primal"
        if isinstance(error, errors.SymgradError):
            return "refused"
        return "primal" if baseline.values(self.source) is None else "untyped"

    def _compare_inside(self):
        """Derivatives inside of a function are those of tf.gradients."""
        want = baseline.values(self.source)
        if want is None or not self.double or not all(np.isrealobj(w) and np.all(np.isfinite(w)) for w in want):
            return self.say("unjudged", "y", "a derivative inside that tf.gradients does not give, or complex")
        worst = max(off(g, w) for g, w in zip(self.before, want, strict=True))
        return self.say("right" if worst <= 1e-6 else "wrong", "y", f"off by {worst:.1e} from tf.gradients inside")

    def _vectors(self):
        rng = np.random.default_rng(self.program.seed)
        values = {leaf.name: leaf.value for leaf in self.program.inputs}
        self.points = {leaf: values[leaf] for _, leaf in self.program.xs}
        self.v = [like(values[leaf], rng) for _, leaf in self.program.xs]
        self.u_values = [like(y, rng) for y in self.before]
        self.u = [tf.placeholder_with_default(u, y.shape) for u, y in zip(self.u_values, self.ys, strict=True)]
        real = [tf.math.real(y) if y.dtype.is_complex else y for y in self.ys]
        first = self.ys[0]
        squares = tf.math.real(first * tf.math.conj(first)) if first.dtype.is_complex else tf.square(first)
        size = tf.reduce_sum(squares)
        self.loss = tf.add_n([tf.reduce_sum(tf.cast(r, size.dtype)) for r in real])
        if self.ys[0].dtype.is_complex:
            self.loss += size
        self.half = size / 2

    def call(self, call):
        """Build what the call asks for; what it refuses must leave no op."""
        before = len(self.graph.get_operations())
        names = {n: getattr(self, n) for n in ("ys", "xs", "u", "v", "loss", "half")}
        names |= {"holes_u": [None, *self.u[1:]], "holes_v": [None, *self.v[1:]]}
        try:
            result = eval(call, {"symgrad": symgrad, **names})
        except errors.SymgradError as error:
            left = len(self.graph.get_operations()) - before
            if left:
                return self.say("harmed", call, f"{left} ops left by a refused call: {said(error)}")
            return self.say("needless" if self._needless(call, error) else "refused", call, said(error))
        except Exception as error:
            return self.say("refused" if self._as_tensorflow(call, said(error)) else "untyped", call, said(error))
        if "why_none" in call:
            return self.say("right", call)
        self.results[call] = result

    def _needless(self, call, error):
        """Whether tf.gradients has what was refused; what it sums up over a y of several elements does not count."""
        summed = isinstance(error, errors.ShapeError) or (isinstance(error, errors.DtypeError) and "jacobian" in call)
        return self.needless and not summed and baseline.error(self.source, call) is None

    def run(self):
        """The values of all results in one run; one by one if that fails."""
        try:
            self.values = self.session.run(self.results)
        except Exception:
            for call, result in self.results.items():
                try:
                    self.values[call] = self.session.run(result)
                except Exception as error:
                    self.say(self._at_run_time(call, said(error)), call, f"at run time: {said(error)}")

    def _at_run_time(self, call, message):
        """The verdict on a kernel that refuses: TensorFlow's does, too, or it is the point's fault."""
        if any(refusal in message for refusal in AT_THE_POINT):
            return "unjudged"
        as_tensorflow = baseline.kernel(baseline.error(self.source, call)) == baseline.kernel(message)
        return "refused" if as_tensorflow else "untyped"

    def _as_tensorflow(self, call, message):
        """`gradients` is a drop-in: it may raise what tf.gradients raises."""
        return call.startswith("symgrad.gradients") and baseline.error(self.source, call) == message

    def at(self, fetches, t, v=None):
        """The fetches where each x is moved by t v; what several xs add to one leaf adds up."""
        moved, feeds = dict(self.points), {}
        for (_, leaf), direction in zip(self.program.xs, self.v if v is None else v, strict=True):
            moved[leaf] = moved[leaf] + t * direction
        for leaf, value in moved.items():
            if leaf in self.moves:
                holder, assign = self.moves[leaf]
                self.session.run(assign, {holder: value})
            else:
                feeds[self.names[leaf]] = value
        return self.session.run(fetches, feeds)

    def harm(self):
        """y still gives what it gave; gradients built now run in a new session, if they do without the calls before.

        Returns:
          The values of these gradients for the cotangents of the trial, None if there are none.
        """
        try:
            self.at([], 0.0)
            again = self.session.run(self.ys)
        except Exception as error:
            self.say("harmed", "y in its session", said(error))
        else:
            if self.double and any(
                off(a, b) > 1e-6 and np.all(np.isfinite(b)) for a, b in zip(again, self.before, strict=True)
            ):
                self.say("harmed", "y in its session", "another value")
        plain, error = baseline.later(self.ys, self.xs, self.u, self.initial)
        if error and baseline.later_alone(self.source) is None:
            self.say("harmed", "tf.gradients later", error)
        return plain
