"""Every member with every dtype, by dense and sparse gradients, compiled by XLA or not: right, or a typed error."""

import inspect

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from sessions import AS_BUILT

from symgrad import optimizers
from symgrad.errors import OptimizerError
from symgrad.optimizers import Optimizer

MEMBERS = sorted(
    (c for c in vars(optimizers).values() if inspect.isclass(c) and issubclass(c, Optimizer) and c is not Optimizer),
    key=lambda c: c.__name__,
)
# Numbers that no dtype here rounds to 0 or to 1.
KINDER = {"beta1": 0.75, "beta2": 0.75, "rho": 0.75, "decay": 0.75, "momentum": 0.5, "epsilon": 0.0625}
START, GRADIENT, TOUCHED = [[1.0, -2.0], [3.0, 0.5], [-1.0, 1.0]], [[0.5, -1.0], [0.0, 0.0], [2.0, 0.25]], [0, 2]
# One step is a dozen operations on numbers up to 3: so many roundings of 2^-11, 2^-8, 2^-24 each.
CLOSE = {tf.float16: 2.0**-6, tf.bfloat16: 2.0**-3, tf.float32: 2.0**-19}


def made(cls):
    return cls(0.125, **{name: value for name, value in KINDER.items() if hasattr(cls, name)})


def gradient(dtype, sparse):
    dense = tf.constant(GRADIENT, dtype)
    return tf.IndexedSlices(tf.gather(dense, TOUCHED), tf.constant(TOUCHED), tf.constant([3, 2])) if sparse else dense


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_step_in_each_dtype_is_that_of_the_formula_in_float64(resource, sparse):
    with tf.Graph().as_default(), tf.Session(config=AS_BUILT) as session:
        moved, formulas = {}, []
        for cls in MEMBERS:
            formula = type(cls.__name__, (cls,), {"kernel": None})
            for dtype, kind in [*((d, cls) for d in CLOSE), (tf.float64, formula)]:
                x = tf.Variable(tf.constant(START, dtype), use_resource=resource)
                formulas.append(made(kind).apply_gradients([(gradient(dtype, sparse), x)]))
                moved[cls.__name__, dtype] = tf.cast(x, tf.float64)
        session.run(tf.global_variables_initializer())
        session.run(formulas)
        found = session.run(moved)
    for (name, dtype), got in found.items():
        if dtype in CLOSE:
            want = found[name, tf.float64]
            assert np.any(want != START), name
            np.testing.assert_allclose(got, want, rtol=0, atol=CLOSE[dtype], err_msg=f"{name} {dtype}")


def test_steps_that_xla_compiles_are_those_of_the_session(eagerly):
    """Members whose kernels XLA lacks are compiled by their formula: all those of rows, and AMSGrad's."""

    def moved(**options):
        xs = {(cls.__name__, sparse): tf.Variable(START) for cls in MEMBERS for sparse in (False, True)}
        rules = {(cls.__name__, sparse): made(cls) for cls in MEMBERS for sparse in (False, True)}

        @tf.function(autograph=False, **options)
        def step():
            for key, x in xs.items():
                rules[key].apply_gradients([(gradient(tf.float32, key[1]), x)])

        step()
        return {key: x.numpy() for key, x in xs.items()}

    plain, compiled = eagerly(moved), eagerly(lambda: moved(jit_compile=True))
    for key, want in plain.items():
        np.testing.assert_allclose(compiled[key], want, rtol=0, atol=CLOSE[tf.float32], err_msg=str(key))


@pytest.mark.parametrize(
    ("options", "what"),
    [({}, "epsilon is 1e-08"), ({"epsilon": 1e-3, "learning_rate": 1e-9}, "learning_rate is 1e-09")],
)
def test_a_number_that_the_dtype_rounds_to_zero_is_refused(graph, options, what):
    """0 / 0 is the first step of Adam else, and a rate of 0 no step."""
    x = tf.Variable(tf.ones([2], tf.float16))
    rule = optimizers.Adam(**{"learning_rate": 0.01, **options})
    with pytest.raises(OptimizerError, match=f"Adam.{what}, which float16 rounds to 0.*float32"):
        rule.apply_gradients([(tf.constant([0, 1], tf.float16), x)])


def test_zero_itself_is_no_rounding(graph, run):
    x = tf.Variable(tf.ones([2], tf.float16))
    train = optimizers.Adam(0.0, epsilon=0.0).apply_gradients([(tf.constant([1, 1], tf.float16), x)])
    run(train)
    np.testing.assert_array_equal(run(x), [1, 1])
