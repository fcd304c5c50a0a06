"""A program as the text of plain TensorFlow, and that text run: what is printed of a graph is what was built."""

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.function import Defun
from worlds import WORLD, control_flow

DEFAULT_V2 = WORLD == "v2"


def text(program):
    """The lines that build the graph of the program."""
    lines = [_leaf(leaf) for leaf in program.inputs]
    _write(program.steps, lines, "")
    lines.append(f"ys = [{', '.join(program.ys)}]")
    lines.append(f"xs = [{', '.join(x for x, _ in program.xs)}]")
    return "\n".join(lines)


def _leaf(leaf):
    numbers = f"np.array({leaf.value.tolist()!r})".replace("nan", "np.nan") + f".reshape({leaf.value.shape})"
    value = f"tf.constant({numbers}, tf.{leaf.dtype})"
    if leaf.kind == "placeholder":
        static = None if leaf.static is None else list(leaf.static)
        return f"{leaf.name} = tf.placeholder_with_default({value}, {static})"
    if leaf.kind == "constant":  # TensorFlow forbids to feed constants whose values it used while building
        return f"{leaf.name} = tf.identity({value})"
    return f"{leaf.name} = tf.get_variable('{leaf.name}', initializer={value}, use_resource={leaf.kind == 'variable'})"


def _write(steps, lines, indent):
    for step in steps:
        if step.body:
            lines.append(f"{indent}def {step.body.name}({', '.join(step.body.arguments)}):")
            _write(step.body.steps, lines, indent + "    ")
            results = step.body.results
            lines.append(f"{indent}    return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}")
        lines.append(f"{indent}{step.name} = {step.expression}")


def execute(source, symgrad):
    """The names that the text defines, in the default graph."""
    names = helpers(symgrad)
    exec(compile(source, "<random graph>", "exec"), names)
    return names


class Shapes:
    """In the place of symgrad while a program is drawn: results of the right shapes."""

    Lop = hvp = staticmethod(lambda y, x, *_, **__: tf.zeros_like(x))
    Rop = staticmethod(lambda y, x, *_, **__: tf.zeros_like(y))
    gradients = staticmethod(lambda y, x, *_, **__: [tf.zeros_like(x)])
    jacobian = staticmethod(lambda y, x, **__: tf.tensordot(y, x, 0))


class Plain:
    """In the place of symgrad inside of a function: the same derivatives by tf.gradients alone."""

    @staticmethod
    def gradients(y, x):
        return [_present(tf.gradients(y, x)[0], x)]

    @staticmethod
    def Lop(y, x, u):
        return _present(tf.gradients(y, x, u)[0], x)

    @staticmethod
    def Rop(y, x, v, method=None):
        u = tf.ones_like(y)
        pulled = tf.gradients(y, x, u)[0]
        return _present(tf.gradients(pulled, u, v)[0], y)

    @staticmethod
    def hvp(y, x, v):
        return _present(tf.gradients(tf.gradients(y, x)[0], x, v)[0], x)

    @staticmethod
    def jacobian(y, x, **_):
        return _present(tf.gradients(y, x)[0], x)  # summed by the caller


def _present(gradient, like):
    if gradient is None:
        raise LookupError("no path")
    return tf.convert_to_tensor(gradient)


def flow(kind):
    """Control flow of V1, of V2, or the one that TensorFlow's behaviour brings."""
    return control_flow(v2=DEFAULT_V2 if kind == "default" else kind == "v2")


def _like(result, argument):
    result = tf.convert_to_tensor(result)
    result.set_shape(tf.convert_to_tensor(argument).shape)
    return result


def loop(kind, body, *state_and_times):
    *state, times = state_and_times
    state = [tf.convert_to_tensor(s) for s in state]

    def turn(i, *now):
        made = body(*now)
        made = made if isinstance(made, tuple) else (made,)
        return (i + 1, *map(_like, made, now))

    with flow(kind):
        return tf.while_loop(lambda i, *_: i < times, turn, [0, *state])[1]


def cond(kind, body, a, taken):
    a = tf.convert_to_tensor(a)
    with flow(kind):
        return tf.cond(tf.placeholder_with_default(taken, []), lambda: body(a), lambda: tf.sin(a))


def case(kind, body, a, index):
    a = tf.convert_to_tensor(a)
    with flow(kind):
        return tf.switch_case(tf.placeholder_with_default(index, []), [lambda: tf.sin(a), lambda: body(a)])


def mapped(kind, body, a):
    with flow(kind):
        return tf.map_fn(body, tf.convert_to_tensor(a))


def scanned(kind, body, a):
    with flow(kind):
        return tf.scan(body, tf.convert_to_tensor(a))


def filled(kind, body, a):
    """Rows written to and read from a TensorArray in a loop."""
    a = tf.convert_to_tensor(a)
    n = tf.shape(a)[0]
    with flow(kind):
        rows = tf.TensorArray(a.dtype, n, clear_after_read=False).unstack(a)
        start = tf.TensorArray(a.dtype, n, element_shape=a.shape[1:])

        def turn(i, done):
            return i + 1, done.write(i, _like(body(rows.read(i)), a[0]))

        done = tf.while_loop(lambda i, _: i < n, turn, [0, start])[1]
        return _like(done.stack(), a)


def function(kind, body, a):
    with flow(kind):
        return tf.function(body, autograph=False)(tf.convert_to_tensor(a))


def defun(kind, body, a):
    a = tf.convert_to_tensor(a)
    with flow(kind):
        return _like(Defun(a.dtype)(lambda p: body(_like(p, a)))(a), a)


def custom(kind, body, a):
    """A gradient of the user's own, which is the right one."""

    @tf.custom_gradient
    def call(p):
        y = body(p)
        return y, lambda d: tf.gradients(y, p, d, unconnected_gradients="zero")[0]

    with flow(kind):
        return call(tf.convert_to_tensor(a))


def recomputed(kind, body, a):
    with flow(kind):
        return tf.recompute_grad(body)(tf.convert_to_tensor(a))


def after(what, a):
    """`a`, once `what` ran."""
    with tf.control_dependencies([what] if what is not None else []):
        return tf.identity(a)


def table(key):
    """A look-up in a table of constants."""
    pairs = tf.lookup.KeyValueTensorInitializer([0, 1], [0.5, 1.5], tf.int64, tf.float64)
    return tf.lookup.StaticHashTable(pairs, tf.constant(0.0, tf.float64)).lookup(tf.constant(key, tf.int64))


def sparse(indices, values, shape):
    if not isinstance(values, tf.Tensor):
        values = tf.constant(values, tf.int64)
    return tf.SparseTensor(indices, values, shape)


def csr_product(a, b):
    """The product of two matrices in compressed rows."""
    rows = [[i, j] for i in range(a.shape[0]) for j in range(a.shape[1])]
    a, b = (tf.raw_ops.DenseToCSRSparseMatrix(dense_input=m, indices=rows) for m in (a, b))
    product = tf.raw_ops.SparseMatrixSparseMatMul(a=a, b=b, type=tf.float64)
    return tf.raw_ops.CSRSparseMatrixToDense(sparse_input=product, type=tf.float64)


def helpers(symgrad):
    """The names that a text may use."""
    bodies = (
        loop,
        cond,
        case,
        mapped,
        scanned,
        filled,
        function,
        defun,
        custom,
        recomputed,
        after,
        table,
        sparse,
        csr_product,
    )
    return {"tf": tf, "np": np, "symgrad": symgrad, **{f.__name__: f for f in bodies}}
