"""The functions that are differentiated, as NumPy weights and as TensorFlow and JAX code."""

import numpy as np
import tensorflow.compat.v1 as tf

MLPS = [
    (10, 100, 128), (256, 100, 128), (1000, 400, 128), (2000, 50, 128), (50, 2000, 128), (2000, 2000, 64),
    (2000, 400, 128), (100, 4000, 128),
]  # fmt: skip
CONV = [(5, 5, 1, 8), (3, 3, 8, 16), (784, 10)]
STEPS, INPUTS, HIDDEN = 10, 8, 16
RNN = [(INPUTS, HIDDEN), (HIDDEN, HIDDEN)]
# (weights, bias, weights, bias) of the networks whose Hessians are taken: 178 and 940 parameters.
HESSIANS = {178: [(13, 11), (11,), (11, 2), (2,)], 940: [(20, 30), (30,), (30, 10), (10,)]}


def weights(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal(s) / np.sqrt(max(1, np.prod(s[:-1])))).astype(np.float32) for s in shapes]


def point(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def mlp_shapes(n, m, h):
    return [(m, h), (h, h), (h, n)]


def variables(arrays):
    return [tf.Variable(a, use_resource=True, trainable=False) for a in arrays]


def tf_mlp(x, w):
    return tf.tanh(tf.tanh(x @ w[0]) @ w[1]) @ w[2]


def tf_conv(x, w):
    h = tf.nn.relu(tf.nn.conv2d(tf.reshape(x, [-1, 28, 28, 1]), w[0], 2, "SAME"))
    h = tf.nn.relu(tf.nn.conv2d(h, w[1], 2, "SAME"))
    return tf.reshape(h, [-1, 784]) @ w[2]


def tf_rnn(x, w, steps=STEPS):
    """All hidden states [steps, HIDDEN] of a recurrent layer over x [steps, INPUTS], by a while_loop."""
    inputs = tf.TensorArray(tf.float32, steps).unstack(x[:, tf.newaxis])
    states = tf.TensorArray(tf.float32, steps)

    def body(t, h, states):
        h = tf.tanh(inputs.read(t) @ w[0] + h @ w[1])
        return t + 1, h, states.write(t, h)

    start = [0, tf.zeros([1, HIDDEN]), states]
    return tf.reshape(tf.while_loop(lambda t, *_: t < steps, body, start)[2].stack(), [steps, HIDDEN])


def tf_rnn_v1(x, w):
    """The same by a loop of V1 control flow."""
    tf.disable_control_flow_v2()
    try:
        return tf_rnn(x, w)
    finally:
        tf.enable_control_flow_v2()


def jax_mlp(x, w):
    import jax.numpy as jnp

    return jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]) @ w[2]


def jax_conv(x, w):
    import jax
    import jax.numpy as jnp

    def conv(h, k):
        return jax.lax.conv_general_dilated(h, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    h = jax.nn.relu(conv(jnp.reshape(x, (-1, 28, 28, 1)), w[0]))
    return jnp.reshape(jax.nn.relu(conv(h, w[1])), (-1, 784)) @ w[2]


def jax_rnn(x, w):
    import jax
    import jax.numpy as jnp

    def step(h, u):
        h = jnp.tanh(u[None] @ w[0] + h @ w[1])
        return h, h[0]

    return jax.lax.scan(step, jnp.zeros((1, HIDDEN)), x)[1]


def split(vector, shapes, library):
    """The pieces of a parameter vector in their shapes."""
    pieces, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        pieces.append(library.reshape(vector[start : start + size], shape))
        start += size
    return pieces


def loss(vector, x, shapes, library):
    """A scalar function of a parameter vector: the sum of squares of a small network."""
    outputs = network(vector, x, shapes, library)
    return library_sum(library, outputs**2)


def network(vector, x, shapes, library):
    p = split(vector, shapes, library)
    h = x
    for w, b in zip(p[0:4:2], p[1:4:2], strict=True):
        h = library.tanh(h @ w + b)
    return h


def library_sum(library, tensor):
    return tf.reduce_sum(tensor) if library is tf else library.sum(tensor)
