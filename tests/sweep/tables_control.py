"""Loops, branches, function calls, TensorArrays, Python functions, gradients of the user's own."""

import numpy as np
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

from sweep.table import NO_ORDER, ROADS, built


def _x(rng, *shape):
    return tf.constant(rng.standard_normal(shape or (3,)))


@built("If")
@built("StatelessIf")
def _(rng):
    x = _x(rng)
    return tf.cond(tf.abs(x[0]) < 100, lambda: tf.sin(x), lambda: x * 2), x


@built("Case")
@built("StatelessCase")
def _(rng):
    x = _x(rng)
    return tf.switch_case(tf.constant(1), [lambda: x, lambda: x * x]), x


@built("While")
@built("StatelessWhile")
def _(rng):
    x = _x(rng)
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * tf.sin(x)), [0, x])[1], x


@built("While", "map_fn")
def _(rng):
    x = _x(rng, 3, 2)
    return tf.map_fn(lambda r: tf.sin(r) * r, x), x


@built("While", "scan")
def _(rng):
    x = _x(rng, 3, 2)
    return tf.scan(lambda a, r: a * r + r, x), x


@built("PartitionedCall")
def _(rng):
    x = _x(rng)
    return tf.function(lambda v: tf.sin(v) * v)(x), x


@built("PartitionedCall", "an op inside whose gradient op has no gradient", coarse=True)
def _(rng):
    x = tf.constant(rng.standard_normal((1, 3, 3, 1)), tf.float32)
    return tf.function(lambda v: tf.image.resize(v, [4, 5]) ** 2)(x), x


@built("StatelessIf", "an op inside whose gradient op has no gradient", coarse=True)
def _(rng):
    x = tf.constant(rng.standard_normal((1, 3, 3, 1)), tf.float32)
    return tf.cond(x[0, 0, 0, 0] < 100, lambda: tf.image.resize(x, [4, 5]) ** 2, lambda: tf.zeros([1, 4, 5, 1])), x


@built("StatelessWhile", "an op inside whose gradient op has no gradient", coarse=True)
def _(rng):
    x = tf.constant(rng.standard_normal((1, 3, 3, 1)), tf.float32)
    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.image.resize(v, [3, 3]) * tf.sin(x)), [0, x])[1], x


_LOOP = {"double_vjp": "TensorFlow cannot take its gradient in reverse again"}


def _v1(op, *variants, **options):
    """A row built with V1 control flow."""

    def register(build):
        def inside(rng):
            with v1_control_flow():
                return build(rng)

        built(op, *variants, **options)(inside)
        return build

    return register


@_v1("Switch")
@_v1("Merge")
def _(rng):
    x = _x(rng)
    return tf.cond(tf.abs(x[0]) < 100, lambda: tf.sin(x), lambda: x * 2), x


@_v1("Enter", errors=_LOOP)
@_v1("Exit", errors=_LOOP)
@_v1("NextIteration", errors=_LOOP)
@_v1("LoopCond", errors=_LOOP)
def _(rng):
    x = _x(rng)
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * tf.sin(x)), [0, x])[1], x


@_v1("TensorArrayScatterV3", errors=_LOOP)
@_v1("TensorArrayGatherV3", errors=_LOOP)
def _(rng):
    x = _x(rng, 3, 2)
    return tf.TensorArray(x.dtype, 3).unstack(x).stack(), x


@_v1("TensorArrayWriteV3", errors=_LOOP)
@_v1("TensorArrayReadV3", errors=_LOOP)
def _(rng):
    x = _x(rng, 2)
    return tf.TensorArray(x.dtype, 2, clear_after_read=False).write(0, x).write(1, x * x).read(1), x


@_v1("TensorArraySplitV3", errors=_LOOP)
@_v1("TensorArrayConcatV3", errors=_LOOP)
def _(rng):
    x = _x(rng, 5)
    return tf.TensorArray(x.dtype, 2, infer_shape=False).split(x, [2, 3]).concat(), x


@built("EagerPyFunc")
def _(rng):
    x = _x(rng)
    return tf.py_function(lambda v: v * tf.sin(v), [x], x.dtype), x


@built("PyFunc", errors=dict.fromkeys(ROADS, "a Python function has no gradient unless the user gives one"))
def _(rng):
    x = _x(rng)
    return tf.numpy_function(np.sin, [x], x.dtype), x


@built("IdentityN", "tf.custom_gradient")
def _(rng):
    x = _x(rng)
    cube = tf.custom_gradient(lambda v: (v**3, lambda dy: 3 * dy * tf.math.conj(v * v)))
    return cube(x), x


@built("IdentityN", "tf.custom_gradient that clips", check="adjoint",
       complex_errors=NO_ORDER,
       errors=dict.fromkeys(("double_vjp", "forward"), "not linear in the incoming gradient"))  # fmt: skip
def _(rng):
    x = _x(rng)
    clipped = tf.custom_gradient(lambda v: (v * 1.0, lambda dy: tf.clip_by_value(dy, -0.1, 0.1)))
    return clipped(x), x


@built("IdentityN", "tf.recompute_grad")
def _(rng):
    x = _x(rng)
    return tf.recompute_grad(lambda v: tf.sin(v) * v)(x), x


@built("IdentityN", "tf.grad_pass_through", check="adjoint")
def _(rng):
    x = _x(rng)
    return tf.grad_pass_through(tf.round)(x), x
