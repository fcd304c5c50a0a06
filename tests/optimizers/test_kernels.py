"""LAMB, Lion and Nadam by TensorFlow's kernels in a V1 graph, and by their formulas everywhere else."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad import errors, optimizers

MAKERS = {
    "LAMB": lambda: optimizers.LAMB(0.01, weight_decay=0.1),
    "Lion": lambda: optimizers.Lion(0.01, weight_decay=0.1),
    "Nadam": lambda: optimizers.Nadam(0.01),
}
START = np.linspace(-1.0, 1.0, 6).reshape(2, 3)


def in_a_graph(optimizer, use_resource=True):
    """Five steps on sum (x - 2)^4; the variable, and the op types of the step."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variable = tf.Variable(START, use_resource=use_resource)
        step = optimizer.minimize(tf.reduce_sum((variable - 2.0) ** 4))
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step)
        return session.run(variable), [op.type for op in graph.get_operations() if "/update_" in op.name]


def in_eager_code(optimizer, wrap):
    variable = tf.Variable(START)

    def step():
        optimizer.minimize(lambda: tf.reduce_sum((variable - 2.0) ** 4), [variable])

    step = wrap(step)
    for _ in range(5):
        step()
    return variable.numpy()


@pytest.mark.parametrize("name", MAKERS)
def test_kernels_and_formula_give_the_same_everywhere(name):
    by_kernels, types = in_a_graph(MAKERS[name]())
    assert any(kind.startswith("ResourceApply") for kind in types)
    others = {
        "reference variable": in_a_graph(MAKERS[name](), use_resource=False)[0],
        "eager": in_eager_code(MAKERS[name](), lambda step: step),
        "function": in_eager_code(MAKERS[name](), tf.function),
        "XLA": in_eager_code(MAKERS[name](), lambda step: tf.function(step, jit_compile=True)),
    }
    for where, value in others.items():
        np.testing.assert_allclose(value, by_kernels, rtol=1e-14, err_msg=where)  # a few roundings in float64


@pytest.mark.parametrize("name", MAKERS)
def test_the_scratch_variable_ends_with_the_step(name):
    _, types = in_a_graph(MAKERS[name]())
    assert types.count("VarHandleOp") == types.count("DestroyResourceOp") == 1


@pytest.mark.parametrize("make", [optimizers.Lion, optimizers.Nadam], ids=lambda make: make.__name__)
def test_a_share_of_the_momentum_is_needed(make):
    with pytest.raises(errors.OptimizerError, match=r"beta1 is 0\.0; wanted a number above 0"):
        make(beta1=0.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"beta1 at this step: wanted a number above 0"):
        in_a_graph(make(beta1=lambda: 0.0))
