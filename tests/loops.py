"""One table of V1 loops and branches: what old code is made of; every property of control flow is tested over it.

Each row is y as a function of one tensor x, in float64, smooth around the point that the row gives. The values were
drawn once from a seeded generator, so that every build of a row is the same function.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf
from cases import v1_control_flow

RNG = np.random.default_rng(1905)
W = RNG.standard_normal((6, 3)) / 2
LSTM = RNG.standard_normal((5, 12)) / 2
SQUARE = RNG.standard_normal((3, 3)) / 2


@dataclass(frozen=True)
class Loop:
    """A function that crosses V1 control flow.

    Attributes:
      name: of the row, for test ids.
      function: from the tensor x to the tensor y.
      point: the value of x.
    """

    name: str
    function: Callable
    point: np.ndarray

    def build(self):
        """The graph, with the placeholder x and the result y under these names."""
        with tf.Graph().as_default() as graph, v1_control_flow():
            x = tf.placeholder(tf.float64, self.point.shape, name="x")
            tf.identity(self.function(x), name="y")
        return graph


LOOPS: list[Loop] = []


def loop(*shape):
    def register(function):
        LOOPS.append(Loop(function.__name__.strip("_"), function, RNG.uniform(0.5, 1.3, shape)))
        return function

    return register


def repeat(times, body, start, name=None):
    """`body` applied `times` times to the loop variables `start`."""
    start = (tf.constant(0), *start)
    return tf.while_loop(lambda i, *_: i < times, lambda i, *v: (i + 1, *body(i, *v)), start, name=name)[1:]


@loop(3)
def power(x):
    return repeat(5, lambda i, a: [a * x], [x])[0]


@loop(3)
def active_only_by_the_back_edge(x):
    one = tf.ones_like(x)
    return repeat(4, lambda i, a, b: [b, tf.sin(b) * x], [one, one])[0]


@loop(3)
def no_loop_variable_from_x(x):
    return repeat(4, lambda i, a: [a * x + tf.sin(x)], [tf.ones([3], tf.float64)])[0]


@loop(3)
def inactive_variables(x):
    still = tf.constant([1.0, 2.0, 3.0], tf.float64)
    return repeat(3, lambda i, s, a, n: [s * 1.5, tf.tanh(a * s) * x, n + 2], [still, x, 1])[1]


@loop(4, 2)
def map_fn(x):
    return tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x)


@loop(4, 2)
def scan(x):
    return tf.scan(lambda a, row: a * row + tf.sin(a), x)


@loop(4, 2)
def foldl(x):
    return tf.foldl(lambda a, row: tf.tanh(a * row) + row, x)


@loop(2, 4, 3)
def dynamic_rnn_with_lengths(x):
    cell = Cell(3, lambda v, h: 2 * (tf.tanh(tf.concat([v, h], 1) @ W),))
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=[4, 2], dtype=tf.float64)
    return tf.reduce_sum(outputs**2, 2) + tf.reduce_sum(state)


@loop(2, 3, 2)
def lstm(x):
    def step(v, state):
        memory, hidden = tf.split(state, 2, axis=1)
        i, f, o, g = tf.split(tf.concat([v, hidden], 1) @ LSTM, 4, axis=1)
        memory = tf.sigmoid(f + 1) * memory + tf.sigmoid(i) * tf.tanh(g)
        hidden = tf.sigmoid(o) * tf.tanh(memory)
        return hidden, tf.concat([memory, hidden], 1)

    return tf.nn.dynamic_rnn(Cell(6, step, 3), x, dtype=tf.float64)[0]


class Cell:
    """What `dynamic_rnn` asks of a cell; the cells of TensorFlow 1 are no longer there in all releases."""

    def __init__(self, state_size, step, output_size=None):
        self.state_size, self.output_size, self.step = state_size, output_size or state_size, step

    def zero_state(self, batch, dtype):
        return tf.zeros([batch, self.state_size], dtype)

    def __call__(self, inputs, state, scope=None):
        return self.step(inputs, state)


@loop(3)
def nested(x):
    return repeat(3, lambda i, a: repeat(2, lambda j, b: [tf.sin(b) + x * a], [a]), [x])[0]


@loop(2)
def triple_nested(x):
    def innermost(k, c):
        return [tf.sin(c) * x]

    return repeat(2, lambda i, a: repeat(2, lambda j, b: repeat(2, innermost, [b + a]), [a]), [x])[0]


@loop(3)
def map_fn_in_loop(x):
    return repeat(3, lambda i, a: [tf.map_fn(lambda e: tf.sin(e) * x[0], a)], [x])[0]


@loop(3)
def scan_in_loop(x):
    return repeat(3, lambda i, a: [tf.scan(lambda s, e: s / 2 + tf.sin(e) * x[1], a)], [x])[0]


@loop(3)
def cond_in_loop(x):
    def body(i, a):
        return [tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(a) * x, lambda: a * a + x)]

    return repeat(4, body, [x])[0]


@loop(3)
def cond_in_loop_constant_branch(x):
    def body(i, a):
        return [a * x + tf.cond(i < 2, lambda: tf.ones([3], tf.float64), lambda: a * a)]

    return repeat(3, body, [x])[0]


@loop(3)
def nested_cond_in_loop(x):
    def body(i, a):
        inner = tf.cond(i < 2, lambda: tf.sin(a), lambda: a * x)
        return [tf.cond(i < 3, lambda: inner * tf.cond(i < 1, lambda: x, lambda: a), lambda: tf.cos(a))]

    return repeat(4, body, [x])[0]


@loop(3)
def loop_in_cond(x):
    def taken():
        return repeat(3, lambda i, a: [tf.sin(a) * x], [x])[0]

    return tf.cond(tf.reduce_sum(x) > 0, taken, lambda: x * x)


@loop(3)
def loop_in_branch_not_taken(x):
    def skipped():
        return repeat(3, lambda i, a: [tf.sin(a) * x], [x])[0]

    return tf.cond(tf.reduce_sum(x) < 0, skipped, lambda: x * x)


@loop(3)
def cond_and_case(x):
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * x, lambda: tf.ones([3], tf.float64))
    branches = [(tf.reduce_sum(x) < 0, lambda: y), (tf.reduce_sum(x) < 99, lambda: y * tf.exp(x))]
    return tf.case(branches, default=lambda: x)


@loop(4, 2)
def gather(x):
    return repeat(4, lambda i, a: [tf.sin(a) + tf.gather(x, [i, 1]) * a], [x[:2]])[0]


@loop(2, 2)
def growing_shape(x):
    shapes = (tf.TensorShape([]), tf.TensorShape([None, 2]))
    body = lambda i, a: (i + 1, tf.concat([a, tf.sin(a[:1]) * x], 0))  # noqa: E731
    return tf.while_loop(lambda i, a: i < 3, body, (tf.constant(0), x), shape_invariants=shapes)[1]


@loop(3)
def trips_by_data(x):
    return tf.while_loop(lambda a: tf.reduce_sum(a) < 40.0, lambda a: (a * (1.3 + x / 5),), [x])


@loop(3)
def zero_trips(x):
    return repeat(0, lambda i, a: [tf.sin(a) * x], [x * x])[0]


@loop(3)
def maximum_iterations(x):
    body = lambda i, a: (i + 1, tf.sin(a) * x)  # noqa: E731
    return tf.while_loop(lambda i, a: i < 9, body, (tf.constant(0), x), maximum_iterations=3)[1]


@loop(3, 3)
def matmul(x):
    return repeat(3, lambda i, a: [tf.tanh(a @ SQUARE) @ x], [x])[0]


@loop(3)
def partly_inactive_array(x):
    def body(i, array):
        return [array.write(i, tf.cond(i < 2, lambda: x * x, lambda: tf.ones([3], tf.float64)))]

    return tf.sin(repeat(4, body, [tf.TensorArray(tf.float64, 4)])[0].stack())


@loop(3)
def dynamic_array(x):
    array = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=[3])

    def body(i, a, array):
        a = tf.sin(a) * x
        return [a, array.write(i, a * a)]

    return repeat(3, body, [x, array])[1].stack()


@loop(5, 2)
def split_array(x):
    array = tf.TensorArray(tf.float64, 2, infer_shape=False, clear_after_read=False).split(x * x, [2, 3])
    read = lambda i: tf.ensure_shape(array.read(i), [None, 2])  # noqa: E731
    rows = repeat(2, lambda i, a: [a + tf.reduce_sum(tf.sin(read(i)), 0)], [x[0]])[0]
    return tf.concat([rows[None], array.concat()], 0)


@loop(4, 2)
def array_read_twice(x):
    array = tf.TensorArray(tf.float64, 4, clear_after_read=False).unstack(tf.sin(x))
    a = repeat(4, lambda i, a: [a * array.read(i)], [x[0]])[0]
    return repeat(4, lambda i, b: [b + a * array.read(3 - i)], [x[1]])[0]


@loop(3)
def slices_in_loop(x):
    y = repeat(3, lambda i, a: [a * tf.gather(x, [0, 2, 2])], [x])[0]
    return y * tf.gather(y, [1, 1, 0])


@loop(2)
def loop_in_cond_in_loop(x):
    def body(i, a):
        return [tf.cond(i < 1, lambda: repeat(2, lambda j, b: [tf.sin(b) * x], [a])[0], lambda: a * x)]

    return repeat(2, body, [x])[0]
