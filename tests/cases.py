"""One table of differentiable functions; each property of the operators is tested over all of it.

A case builds (ys, xs) in the default graph from a seeded generator, at points where the function is smooth. A row says
itself what does not hold for it, with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.function import Defun
from worlds import control_flow


@dataclass(frozen=True)
class Case:
    """A function to differentiate.

    Attributes:
      name: of the case, for test ids.
      build: from a generator to (ys, xs).
      v1: whether the graph is built with V1 control flow; else with that of V2, in either behaviour of TensorFlow.
      no_rop: why the double VJP does not apply, if it does not.
    """

    name: str
    build: Callable
    v1: bool = False
    no_rop: str = ""

    def __call__(self, rng):
        with control_flow(v2=not self.v1):
            return self.build(rng)


def v1_control_flow():
    """Loops and branches made here are V1 frames and switches."""
    return control_flow(v2=False)


CASES: list[Case] = []


def case(name=None, **options):
    def register(build):
        CASES.append(Case(name or build.__name__.strip("_"), build, **options))
        return build

    return register


def elementwise(name, function, low=-2.0, high=2.0, **options):
    @case(name, **options)
    def build(rng):
        x = tf.constant(rng.uniform(low, high, (2, 3)))
        return function(x), x


for _name, _function, *_range in [
    ("square", tf.square),
    ("sin", tf.sin),
    ("tan", tf.tan, -1, 1),
    ("exp", tf.exp),
    ("log", tf.log, 0.5, 2),
    ("sqrt", tf.sqrt, 0.5, 2),
    ("rsqrt", tf.rsqrt, 0.5, 2),
    ("tanh", tf.tanh),
    ("sigmoid", tf.sigmoid),
    ("softplus", tf.nn.softplus),
    ("relu", tf.nn.relu, 0.5, 2),
    ("relu_off", tf.nn.relu, -2, -0.5),
    ("leaky_relu", tf.nn.leaky_relu, -2, -0.5),
    ("elu", tf.nn.elu, -2, -0.5),
    ("selu", tf.nn.selu, -2, -0.5),
    ("erf", tf.math.erf),
    ("lgamma", tf.math.lgamma, 0.5, 2),
    ("atan2", lambda x: tf.atan2(x, 1.0 + x * x)),
    ("pow", lambda x: x**3 / (1 + x**2)),
    ("pow_by_x", lambda x: tf.pow(x, x), 0.5, 2),
    ("abs", tf.abs, 0.5, 2),
    ("floor_is_zero_but_x_is_not", lambda x: x + tf.floor(x), 0.1, 0.9),
    ("clip", lambda x: tf.clip_by_value(x, -0.1, 5.0), 0.5, 2),
    ("where", lambda x: tf.where(x > 0, tf.sin(x), x * x), 0.5, 2),
]:
    elementwise(_name, _function, *_range)


@case()
def broadcast_two_inputs(rng):
    a, b = tf.constant(rng.standard_normal((2, 1, 3))), tf.constant(rng.standard_normal((4, 1)))
    return a * b + a / (2 + tf.cos(b)), [a, b]


@case()
def several_ys_and_xs(rng):
    a, b = tf.constant(rng.standard_normal(3)), tf.constant(rng.standard_normal(()))
    return {"p": tf.sin(a) * b, "q": [tf.reduce_sum(a), a * a]}, {"a": a, "b": b}


@case()
def x_upstream_of_x(rng):
    a = tf.constant(rng.standard_normal(3))
    b = tf.sin(a)
    return b * a, [a, b]


@case()
def x_is_an_intermediate(rng):
    b = tf.sin(tf.constant(rng.standard_normal(3)))
    return tf.exp(b), b


@case()
def x_is_y(rng):
    a = tf.constant(rng.standard_normal(3))
    return [a, a * a], a


@case()
def reductions(rng):
    x = tf.constant(rng.uniform(0.5, 2, (3, 4)))
    return [
        tf.reduce_sum(x, 0),
        tf.reduce_mean(x),
        tf.reduce_prod(x, 1),
        tf.reduce_max(x, 1),
        tf.reduce_logsumexp(x),
    ], x


@case()
def norms(rng):
    x = tf.constant(rng.standard_normal((3, 4)))
    return [tf.norm(x), tf.norm(x, axis=1), tf.raw_ops.EuclideanNorm(input=x, axis=[1]), tf.nn.l2_normalize(x, 1)], x


@case()
def cumulative(rng):
    x = tf.constant(rng.uniform(0.5, 2, (2, 4)))
    return [tf.cumsum(x, 1), tf.cumprod(x, 1, reverse=True), tf.math.cumulative_logsumexp(x, 1)], x


@case()
def shapes(rng):
    x = tf.constant(rng.standard_normal((2, 3, 4)))
    y = tf.concat([tf.reshape(tf.transpose(x, [2, 0, 1]), [4, 6]), tf.tile(x[0, :, :2], [1, 3])[:2]], 0)
    return tf.pad(tf.stack(tf.unstack(y), 1)[:, ::-1], [[1, 0], [0, 2]]), x


@case()
def gather_repeated(rng):
    x = tf.constant(rng.standard_normal((4, 2)))
    return tf.gather(x, [0, 2, 2, 3, 0]) ** 2, x


@case()
def gather_axis_1_and_nd(rng):
    x = tf.constant(rng.standard_normal((3, 4)))
    return [tf.gather(x, [1, 1, 0], axis=1), tf.gather_nd(x, [[0, 1], [2, 3]])], x


@case()
def scatter_and_segments(rng):
    x = tf.constant(rng.standard_normal((4, 2)))
    return [
        tf.scatter_nd([[1], [0], [1], [5]], x, [6, 2]),
        tf.math.segment_sum(x, [0, 0, 1, 2]),
        tf.math.unsorted_segment_mean(x, [1, 0, 1, 0], 3),
        tf.tensor_scatter_nd_update(tf.ones([5, 2], tf.float64), [[2], [0], [1], [4]], x),
    ], x


@case()
def top_k_and_sort(rng):
    x = tf.constant(rng.permutation(12).reshape(3, 4) * 1.0)
    return [tf.nn.top_k(x, 2).values, tf.sort(x)], x


@case()
def matmul(rng):
    a, b = tf.constant(rng.standard_normal((2, 3))), tf.constant(rng.standard_normal((3, 4)))
    return tf.square(a @ b), [a, b]


@case()
def einsum(rng):
    a, b = tf.constant(rng.standard_normal((2, 3, 4))), tf.constant(rng.standard_normal((4, 3, 2)))
    return tf.einsum("bij,jkb->bik", a, b), [a, b]


@case()
def linear_algebra(rng):
    m = rng.standard_normal((3, 3))
    x = tf.constant(m @ m.T + 3 * np.eye(3))
    b = tf.constant(rng.standard_normal((3, 1)))
    return [
        tf.linalg.inv(x),
        tf.linalg.solve(x, b),
        tf.linalg.logdet(x @ tf.transpose(x)),
        tf.linalg.det(x),
        tf.linalg.trace(x @ x),
    ], [
        x,
        b,
    ]


@case()
def cholesky(rng):
    x = tf.constant(rng.standard_normal((3, 3)))
    return tf.linalg.cholesky(x @ tf.transpose(x) + 3 * tf.eye(3, dtype=tf.float64)), x


@case()
def eigenvalues_and_svd(rng):
    x = tf.constant(rng.standard_normal((3, 3)))
    return [tf.linalg.eigvalsh(x + tf.transpose(x)), tf.linalg.svd(x, compute_uv=False)], x


@case()
def softmax_and_cross_entropy(rng):
    x = tf.constant(rng.standard_normal((3, 4)))
    return [
        tf.nn.softmax(x),
        tf.nn.log_softmax(x),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x * 2), logits=x),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=x),
    ], x


@case()
def conv2d(rng):
    x, k = tf.constant(rng.standard_normal((1, 5, 5, 2))), tf.constant(rng.standard_normal((3, 3, 2, 3)))
    return tf.nn.conv2d(x, k, strides=2, padding="SAME"), [x, k]


@case()
def conv2d_transpose_and_depthwise(rng):
    x, k = tf.constant(rng.standard_normal((1, 3, 3, 2))), tf.constant(rng.standard_normal((2, 2, 2, 2)))
    return [
        tf.nn.conv2d_transpose(x, k, [1, 6, 6, 2], strides=2),
        tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
    ], [x, k]


@case()
def max_and_average_pool(rng):
    x = tf.constant(rng.permutation(32).reshape(1, 4, 4, 2) / 7.0)
    return [tf.nn.max_pool2d(x, 2, 2, "SAME"), tf.nn.avg_pool2d(x, 2, 1, "SAME")], x


@case()
def batch_norm_in_training(rng):
    x, g = tf.constant(rng.standard_normal((6, 3))), tf.constant(rng.uniform(0.5, 2, 3))
    mean, variance = tf.nn.moments(x, [0])
    return tf.nn.batch_normalization(x, mean, variance, tf.zeros(3, tf.float64), g, 1e-3), [x, g]


@case()
def bias_and_dropout_mask_given(rng):
    x, b = tf.constant(rng.standard_normal((3, 4))), tf.constant(rng.standard_normal(4))
    mask = tf.constant(rng.integers(0, 2, (3, 4)) * 2.0)
    return tf.nn.bias_add(x, b) * mask, [x, b]


@case()
def unknown_shapes(rng):
    value = rng.standard_normal((3, 2))
    x = tf.placeholder_with_default(value, [None, None])
    return [tf.square(x @ tf.constant(rng.standard_normal((2, 4)))), tf.reduce_sum(x * x, 1)], x


@case()
def unknown_rank(rng):
    x = tf.placeholder_with_default(rng.standard_normal((3, 2)), None)
    return tf.sin(x) * x, x


@case()
def zero_size(rng):
    x, w = tf.zeros([0, 3], tf.float64), tf.constant(rng.standard_normal((3, 2)))
    return [x @ w, w * 2], [x, w]


@case()
def resource_and_reference_variables(rng):
    a = tf.get_variable("a", initializer=rng.standard_normal((2, 3)), use_resource=True)
    b = tf.get_variable("b", initializer=rng.standard_normal((3, 2)), use_resource=False)
    return tf.sin(a @ b), [a, b]


@case()
def embedding_of_a_variable(rng):
    table = tf.get_variable("table", initializer=rng.standard_normal((5, 2)), use_resource=True)
    return tf.nn.embedding_lookup(table, [1, 4, 1]) ** 2, table


@case()
def custom_gradient(rng):
    @tf.custom_gradient
    def cube(x):
        return x**3, lambda dy: dy * 3 * x**2

    x = tf.constant(rng.standard_normal(3))
    return cube(x), x


@case()
def overridden_gradient(rng):
    """An Identity that is to be differentiated as what it is: the override is the true gradient, by another formula."""
    graph = tf.get_default_graph()
    if not any(name == "SymgradTestTwice" for name in _registered):
        tf.RegisterGradient("SymgradTestTwice")(lambda op, dy: 0.5 * dy + 0.5 * dy)
        _registered.append("SymgradTestTwice")
    x = tf.constant(rng.standard_normal(3))
    with graph.gradient_override_map({"Identity": "SymgradTestTwice"}):
        return tf.identity(x) * x, x


_registered: list[str] = []


@case()
def complex_fft(rng):
    z = tf.constant(rng.standard_normal((2, 4)) + 1j * rng.standard_normal((2, 4)))
    return tf.signal.fft(z) * z, z


@case()
def real_of_complex(rng):
    a, b = tf.constant(rng.standard_normal(4)), tf.constant(rng.standard_normal(4))
    z = tf.signal.ifft(tf.complex(a, b) ** 2)
    return [tf.math.real(z), tf.abs(z), tf.math.imag(z)], [a, b]


@case()
def rfft(rng):
    x = tf.constant(rng.standard_normal((2, 6)))
    return tf.abs(tf.signal.rfft(x)), x


@case("cond_v1", v1=True)
@case("cond_v2")
def cond(rng):
    x = tf.constant(rng.standard_normal(3))
    return tf.cond(tf.reduce_sum(x) > -100, lambda: tf.sin(x) * x, lambda: x), x


@case("nested_cond_v1", v1=True)
@case("nested_cond_v2")
def nested_cond(rng):
    x = tf.constant(rng.uniform(1, 2, 3))
    return tf.cond(x[0] > 0, lambda: x * tf.cond(x[1] < 0, lambda: x, lambda: tf.exp(x)), lambda: tf.zeros_like(x)), x


@case()
def while_loop_v2(rng):
    x = tf.constant(rng.standard_normal(3))
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1], x


@case()
def while_loop_v2_by_data(rng):
    x = tf.constant(rng.uniform(1, 1.4, 3))
    return tf.while_loop(lambda v: tf.reduce_sum(v) < 20.0, lambda v: (v * x * 1.3,), [x])[0], x


@case()
def nested_while_v2(rng):
    x = tf.constant(rng.standard_normal(2))

    def outer(i, v):
        return i + 1, tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, tf.sin(w) + x), [0, v])[1]

    return tf.while_loop(lambda i, v: i < 3, outer, [0, x])[1], x


@case()
def map_fn_and_scan_v2(rng):
    x = tf.constant(rng.standard_normal((3, 2)))
    return [tf.map_fn(lambda r: tf.sin(r) * r, x), tf.scan(lambda a, r: a * r + r, x)], x


@case()
def function_call(rng):
    @tf.function
    def f(a, b):
        return tf.sin(a) * b, a * a

    a, b = tf.constant(rng.standard_normal(3)), tf.constant(rng.standard_normal(3))
    return f(a, b), [a, b]


@case()
def defun(rng):
    inner = Defun(tf.float64, func_name="inner")(lambda a: tf.sin(a) * a)
    outer = Defun(tf.float64, tf.float64, func_name="outer")(lambda a, b: (inner(a) * b, tf.tanh(b)))
    a, b = tf.constant(rng.standard_normal(3)), tf.constant(rng.standard_normal(3))
    return outer(a, b), [a, b]


@case()
def defun_with_a_python_gradient(rng):
    def gradient(op, dy):
        return dy * tf.cos(op.inputs[0]) * op.inputs[1], dy * tf.sin(op.inputs[0])

    f = Defun(tf.float64, tf.float64, python_grad_func=gradient, func_name="f")(lambda a, b: tf.sin(a) * b)
    a, b = tf.constant(rng.standard_normal(3)), tf.constant(rng.standard_normal(3))
    return f(a, b), [a, b]


@case()
def defun_with_a_function_for_gradient(rng):
    types = [tf.float64] * 3
    back = Defun(*types, func_name="back")(lambda a, b, dy: (dy * tf.cos(a) * b, dy * tf.sin(a)))
    f = Defun(*types[:2], grad_func=back, func_name="f")(lambda a, b: tf.sin(a) * b)
    a, b = tf.constant(rng.standard_normal(3)), tf.constant(rng.standard_normal(3))
    return f(a, b), [a, b]


@case()
def recompute_grad(rng):
    x, w = tf.constant(rng.standard_normal((2, 3))), tf.constant(rng.standard_normal((3, 2)))
    return tf.recompute_grad(lambda x, w: tf.tanh(x @ w))(x, w), [x, w]


@case()
def square_of_a_sparse_matrix(rng):
    x = tf.constant(rng.standard_normal((3, 3)))
    m = tf.raw_ops.DenseToCSRSparseMatrix(dense_input=x, indices=[[0, 0], [0, 2], [1, 1], [2, 0]])
    y = tf.raw_ops.SparseMatrixSparseMatMul(a=m, b=m, type=tf.float64)
    y = tf.raw_ops.CSRSparseMatrixToDense(sparse_input=y, type=tf.float64)
    y.set_shape([3, 3])
    return y, x


@case()
def function_with_a_loop_in_a_cond(rng):
    @tf.function
    def f(v):
        return tf.while_loop(lambda i, w: i < 3, lambda i, w: (i + 1, w * tf.cos(v)), [0, v])[1]

    x = tf.constant(rng.standard_normal(3))
    return tf.cond(x[0] > -100, lambda: f(x) + x, lambda: x), x


@case()
def switch_case(rng):
    x = tf.constant(rng.standard_normal(3))
    branches = [lambda: x, lambda: tf.exp(x) * x, lambda: tf.zeros_like(x)]
    return tf.switch_case(tf.constant(1), branches), x


@case()
def softsign(rng):
    x = tf.constant(rng.uniform(0.5, 2, (2, 3)))
    return tf.nn.softsign(x), x


_LOOP = "TensorFlow does not differentiate V1 loops twice"


@case("while_loop_v1", v1=True, no_rop=_LOOP)
def while_loop_v1(rng):
    x = tf.constant(rng.standard_normal(3))
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1], x


@case("scan_v1", v1=True, no_rop=_LOOP)
def scan_v1(rng):
    x = tf.constant(rng.standard_normal((3, 2)))
    return tf.scan(lambda a, r: a * r + r, x), x


@case()
def gradients_of_tanh_and_sigmoid(rng):
    y, dy = tf.constant(rng.uniform(-0.9, 0.9, (2, 3))), tf.constant(rng.standard_normal((2, 3)))
    return [tf.raw_ops.TanhGrad(y=y, dy=dy), tf.raw_ops.SigmoidGrad(y=y, dy=dy)], [y, dy]


@case()
def mlp(rng):
    x = tf.placeholder_with_default(rng.standard_normal((4, 3)), [None, 3])
    w = [
        tf.get_variable(f"w{i}", initializer=rng.standard_normal(s), use_resource=True)
        for i, s in enumerate([(3, 5), (5, 2)])
    ]
    return tf.nn.softmax(tf.tanh(x @ w[0]) @ w[1]), [x, *w]
