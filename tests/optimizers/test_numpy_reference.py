"""The members without a peer in TensorFlow equal their papers' formulas, written in NumPy from the papers."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.optimizers import peers

STEPS = 200


def rosenbrock_gradient(x):
    miss = x[..., 1:] - x[..., :-1] ** 2
    grad = np.zeros_like(x)
    grad[..., :-1] += -40.0 * x[..., :-1] * miss - 2.0 * (1.0 - x[..., :-1])
    grad[..., 1:] += 20.0 * miss
    return grad


def convex_gradient(x):
    return 2.0 * np.array([1.0, 4.0, 0.5]) * (x - np.array([0.5, -0.25, 1.0]))


def scattered(gradient, table, rows):
    """The dense gradient of a lookup: repeated rows add up, other rows have 0."""
    grad = np.zeros_like(table)
    np.add.at(grad, rows, gradient(table[rows]))
    return grad


class AdamW:
    """Loshchilov and Hutter, algorithm 2, with Adam's epsilon in the form of Kingma and Ba, section 2."""

    def __init__(self, learning_rate, weight_decay, beta1, beta2, epsilon=0.0):
        self.rate, self.decay, self.b1, self.b2, self.epsilon = learning_rate, weight_decay, beta1, beta2, epsilon
        self.m = self.v = 0.0
        self.t = 0

    def moments(self, g):
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * g
        self.v = self.b2 * self.v + (1 - self.b2) * g**2

    def __call__(self, x, g):
        self.moments(g)
        rate = self.rate * np.sqrt(1 - self.b2**self.t) / (1 - self.b1**self.t)
        return x - rate * self.m / (np.sqrt(self.v) + self.epsilon) - self.rate * self.decay * x


class LAMB(AdamW):
    """You et al., algorithm 2, with the identity for phi."""

    def __call__(self, x, g):
        self.moments(g)
        m, v = self.m / (1 - self.b1**self.t), self.v / (1 - self.b2**self.t)
        r = m / (np.sqrt(v) + self.epsilon) + self.decay * x
        return x - self.rate * np.linalg.norm(x) / np.linalg.norm(r) * r


class Lion(AdamW):
    """Chen et al., program 1."""

    def __call__(self, x, g):
        update = np.sign(self.b1 * self.m + (1 - self.b1) * g)
        self.m = self.b2 * self.m + (1 - self.b2) * g
        return x - self.rate * (update + self.decay * x)


REFERENCES = {"AdamW": AdamW, "LAMB": LAMB, "Lion": Lion}


def train_in_numpy(name, hypers):
    starts = {"convex": peers.START, "rosenbrock": peers.START}
    starts |= {"convex_table": peers.TABLE, "rosenbrock_table": peers.TABLE}
    ends = {}
    for problem, start in starts.items():
        gradient = convex_gradient if problem.startswith("convex") else rosenbrock_gradient
        update, x = REFERENCES[name](**hypers), start.copy()
        for rows in peers.lookups(every_row=False):
            x = update(x, scattered(gradient, x, rows) if "table" in problem else gradient(x))
        ends[problem] = x
    return ends


@pytest.mark.parametrize("member", [m for m in peers.MEMBERS if m.theirs is None], ids=lambda m: m.name)
def test_two_hundred_steps_equal_the_paper(member):
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.placeholder(tf.int32, [None])
        problem = peers.Problem(np.float64, rows)
        step = member.make(np.float64).apply_gradients(problem.grads_and_vars)
        session.run(tf.global_variables_initializer())
        train = session.make_callable(step, feed_list=[rows])
        for row in peers.lookups(every_row=False):
            train(row)
        ours = session.run(problem.variables)
    for name, value in train_in_numpy(member.name, member.hypers).items():
        # The same formula in float64; the order of sums differs and 200 steps carry that on.
        np.testing.assert_allclose(ours[name], value, rtol=1e-12, atol=1e-12, err_msg=name)
