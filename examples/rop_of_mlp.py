"""How a network's output moves when its weights move along a direction: one Rop, without the Jacobian.

J v is compared with the change of the outputs after a small step along v.
"""

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad


def build_network():
    """Two layers in the default graph: the input, the output, the variables."""
    x = tf.placeholder(tf.float64, [None, 8], name="x")
    layer, variables = x, []
    for i, units in enumerate((16, 3)):
        with tf.variable_scope(f"layer{i}"):
            kernel = tf.get_variable("kernel", [layer.shape[1], units], tf.float64)
            bias = tf.get_variable("bias", [units], tf.float64, tf.zeros_initializer())
        layer = tf.tanh(layer @ kernel + bias)
        variables += [kernel, bias]
    return x, layer, variables


def main():
    """Print J v beside the change of the outputs, per step size."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        x, y, variables = build_network()
        direction = [rng.standard_normal(variable.shape) for variable in variables]
        pushed_forward = symgrad.Rop(y, variables, [tf.constant(v) for v in direction])
        step = tf.placeholder(tf.float64, [])
        move = tf.group(*[variable.assign_add(step * v) for variable, v in zip(variables, direction, strict=True)])

        session.run(tf.global_variables_initializer())
        batch = {x: rng.standard_normal((4, 8))}
        before, predicted = session.run([y, pushed_forward], batch)
        print("J v:", np.array2string(predicted[0], precision=6), "for the first of four samples")
        for size in (1e-1, 1e-3, 1e-5):
            session.run(move, {step: size})
            change = (session.run(y, batch) - before) / size
            session.run(move, {step: -size})
            print(f"after a step of {size:.0e}, the change is off by {np.abs(change - predicted).max():.1e}")


if __name__ == "__main__":
    main()
