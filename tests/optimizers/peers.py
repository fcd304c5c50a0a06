"""The table of the family: each member with TensorFlow's optimizer of the same formula, where there is one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tensorflow.compat.v1 as tf
import tf_keras

from symgrad import optimizers

legacy = tf_keras.optimizers.legacy


@dataclass(frozen=True)
class Member:
    """One member of the family.

    Attributes:
      name: for the test.
      ours: the class.
      hypers: hyperparameters by our names; handed over as tensors of the variable's dtype.
      theirs: TensorFlow's optimizer, a function of those tensors; None if there is no peer.
      options: Python values that we take, and the peer has in `theirs`.
      every_row: the sparse problem touches every row in each step; see `test_sparse_nadam_of_keras`.
      keywords: our name to the peer's, where they differ.
    """

    name: str
    ours: type
    hypers: dict
    theirs: Callable | None = None
    options: dict = field(default_factory=dict)
    every_row: bool = False
    keywords: dict = field(default_factory=dict)

    def make(self, dtype, **changes):
        """Our optimizer, its hyperparameters tensors of `dtype`."""
        return self.ours(**self.tensors(dtype), **self.options, **changes)

    def make_peer(self, dtype):
        """TensorFlow's optimizer, its hyperparameters tensors of `dtype`."""
        return self.theirs(**{self.keywords.get(name, name): value for name, value in self.tensors(dtype).items()})

    def tensors(self, dtype):
        """The hyperparameters as tensors."""
        return {name: tf.constant(value, dtype) for name, value in self.hypers.items()}


KERAS = {"beta1": "beta_1", "beta2": "beta_2"}
DECAYED = {"learning_rate": 0.01, "weight_decay": 0.05, "beta1": 0.8, "beta2": 0.95}
FTRL = {"learning_rate": 0.1}


def _epsilon(make):
    """Keras takes epsilon as a Python number only."""
    return lambda **hypers: make(epsilon=1e-7, **{k: v for k, v in hypers.items() if k != "epsilon"})


def _ftrl(**strengths):
    # Its other hyperparameters are compared with 0 in Python, so they stay numbers.
    return lambda **hypers: tf.train.FtrlOptimizer(**hypers, **strengths)


MEMBERS = [
    Member("SGD", optimizers.SGD, {"learning_rate": 0.002}, tf.train.GradientDescentOptimizer),
    Member("Momentum", optimizers.Momentum, {"learning_rate": 0.0005, "momentum": 0.8}, tf.train.MomentumOptimizer),
    Member(
        "Nesterov",
        optimizers.Momentum,
        {"learning_rate": 0.0005, "momentum": 0.8},
        lambda **h: tf.train.MomentumOptimizer(use_nesterov=True, **h),
        {"nesterov": True},
    ),
    Member("Adagrad", optimizers.Adagrad, {"learning_rate": 0.1}, tf.train.AdagradOptimizer),
    Member(
        "Adadelta",
        optimizers.Adadelta,
        {"learning_rate": 0.5, "rho": 0.9, "epsilon": 1e-4},
        tf.train.AdadeltaOptimizer,
    ),
    Member(
        "RMSProp",
        optimizers.RMSProp,
        {"learning_rate": 0.01, "decay": 0.8, "momentum": 0.5, "epsilon": 1e-6},
        tf.train.RMSPropOptimizer,
    ),
    Member(
        "RMSProp-centered",
        optimizers.RMSProp,
        {"learning_rate": 0.002, "decay": 0.8, "momentum": 0.5, "epsilon": 1e-2},
        lambda **h: tf.train.RMSPropOptimizer(centered=True, **h),
        {"centered": True},
    ),
    Member(
        "Adam",
        optimizers.Adam,
        {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6},
        tf.train.AdamOptimizer,
    ),
    Member(
        "AMSGrad",
        optimizers.AMSGrad,
        {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-7},
        _epsilon(lambda **h: legacy.Adam(amsgrad=True, **h)),
        keywords=KERAS,
    ),
    Member(
        "Adamax",
        optimizers.Adamax,
        {"learning_rate": 0.003, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-7},
        _epsilon(legacy.Adamax),
        keywords=KERAS,
    ),
    Member(
        "Nadam",
        optimizers.Nadam,
        {
            "learning_rate": 0.0005,
            "beta1": 0.8,
            "beta2": 0.95,
            "epsilon": 1e-7,
        },  # at 0.001 Rosenbrock's valley is chaotic
        _epsilon(legacy.Nadam),
        every_row=True,
        keywords=KERAS,
    ),
    Member("Ftrl", optimizers.Ftrl, FTRL, _ftrl(learning_rate_power=-0.4), {"learning_rate_power": -0.4}),
    Member(
        "Ftrl-l1-l2-beta",
        optimizers.Ftrl,
        FTRL,
        _ftrl(l1_regularization_strength=1 / 64, l2_regularization_strength=1 / 128, beta=0.125),
        {"l1_regularization_strength": 1 / 64, "l2_regularization_strength": 1 / 128, "beta": 0.125},
    ),
    Member(
        "Ftrl-shrinkage",
        optimizers.Ftrl,
        FTRL,
        _ftrl(l2_shrinkage_regularization_strength=0.01),
        {"l2_shrinkage_regularization_strength": 0.01},
    ),
    Member("AdamW", optimizers.AdamW, DECAYED | {"epsilon": 1e-8}),
    Member("LAMB", optimizers.LAMB, DECAYED | {"epsilon": 1e-6}),
    Member("Lion", optimizers.Lion, {"learning_rate": 0.001, "weight_decay": 0.05, "beta1": 0.8, "beta2": 0.95}),
]

START = np.array([-1.2, 1.0, 0.7])
TABLE = np.array([[-1.2, 1.0, 0.7], [0.3, 0.2, -0.5], [1.5, -0.4, 0.1], [0.9, 1.1, 0.6]])


class Problem:
    """A convex and a Rosenbrock problem, each on a vector and on rows of a table, for one optimizer.

    Args:
      dtype: of all variables.
      rows: int tensor, the rows that are looked up in this step; repeated ones count twice.
      use_resource: what kind of variables.
    """

    def __init__(self, dtype, rows, use_resource=True):
        starts = {"convex": START, "rosenbrock": START, "convex_table": TABLE, "rosenbrock_table": TABLE}
        self.variables = {
            name: tf.Variable(start.astype(dtype), use_resource=use_resource, name=name)
            for name, start in starts.items()
        }
        self.losses, self.grads_and_vars = [], []
        for name, variable in self.variables.items():
            x = tf.gather(variable, rows) if "table" in name else tf.identity(variable)
            loss, grad = (_convex if name.startswith("convex") else _rosenbrock)(x)
            self.losses.append(loss)
            if "table" in name:
                grad = tf.IndexedSlices(grad, rows, tf.shape(variable))
            self.grads_and_vars.append((grad, variable))


# The gradients are written out: tf.gradients adds the terms of two copies of a problem in two orders, and RMSProp and
# Adadelta make 1e-6 of that last bit in 200 steps of float64 on Rosenbrock's function.


def _convex(x):
    scale, middle = tf.constant([1.0, 4.0, 0.5], x.dtype), tf.constant([0.5, -0.25, 1.0], x.dtype)
    return tf.reduce_sum(scale * tf.square(x - middle)), 2.0 * scale * (x - middle)


def _rosenbrock(x):
    left = x[..., :-1]
    miss = x[..., 1:] - tf.square(left)
    nothing = tf.zeros_like(x[..., :1])
    of_left = tf.concat([-40.0 * left * miss - 2.0 * (1.0 - left), nothing], -1)
    of_right = tf.concat([nothing, 20.0 * miss], -1)
    return tf.reduce_sum(10.0 * tf.square(miss) + tf.square(1.0 - left)), of_left + of_right


def lookups(every_row, steps=200, seed=3):
    """The rows of each step, one of them twice."""
    generator = np.random.default_rng(seed)
    if every_row:
        return np.stack([generator.permutation([0, 1, 2, 3, 3]) for _ in range(steps)])
    return np.stack([[r, (r + k) % 4, r] for r, k in generator.integers([0, 1], [4, 4], (steps, 2))])
