"""Higher derivatives by Taylor series beside nested tf.gradients and, where they are installed, folx and jax's jet.

A network of four layers of 64 tanh, 1,000 points, float32. A step is the gradient of the mean square of the residual by
all weights. The candidates take turns, single calls, so that a busy machine slows all alike; printed are the medians of
our time over theirs in the same round, the ops that each adds to the graph, and the peak of live memory.

    python benchmarks/taylor.py [--only WORD] [--rounds 15]
"""

import argparse
import itertools
import os
import time
from functools import partial

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

import symgrad

LAYERS, WIDTH, POINTS = 4, 64, 1000


def arrays(d):
    """The weights and biases of the network, and the points."""
    rng = np.random.default_rng(0)
    sizes = [d, *[WIDTH] * LAYERS, 1]
    weights = [rng.standard_normal(s) / np.sqrt(s[0]) for s in itertools.pairwise(sizes)]
    biases = [0.1 * rng.standard_normal(n) for n in sizes[1:]]
    return [w.astype(np.float32) for w in weights], [b.astype(np.float32) for b in biases], points(d)


def points(d):
    return np.random.default_rng(1).uniform(-1, 1, (POINTS, d)).astype(np.float32)


def nested(u, x, *index):
    """The derivative of a multi-index by tf.gradients of tf.gradients."""
    for i in index:
        u = tf.gradients(u, x)[0][:, i : i + 1]
    return u


def nested_laplacian(u, x):
    g = tf.gradients(u, x)[0]
    d = x.shape.as_list()[1]
    return tf.add_n([tf.gradients(g[:, i], x)[0][:, i : i + 1] for i in range(d)])


def burgers(u, x):
    d = symgrad.partials(u, x, ["t", "x", "xx"], axes="xt")
    return d["t"] + u * d["x"] - 0.01 * d["xx"]


def nested_burgers(u, x):
    g = tf.gradients(u, x)[0]
    return g[:, 1:] + u * g[:, :1] - 0.01 * tf.gradients(g[:, 0], x)[0][:, :1]


def beam(u, x):
    d = symgrad.partials(u, x, ["tt", "xxxx"], axes="xt")
    return d["tt"] + d["xxxx"]


# For each task d, our residual and that by tf.gradients.
TASKS = {
    "Burgers": (2, burgers, nested_burgers),
    "beam u_tt + u_xxxx": (2, beam, lambda u, x: nested(u, x, 1, 1) + nested(u, x, 0, 0, 0, 0)),
    **{f"Laplacian d={d}": (d, symgrad.laplacian, nested_laplacian) for d in (2, 3, 10, 100)},
    "Laplacian d=100, blocks of 10": (100, lambda u, x: symgrad.laplacian(u, x, block_size=10), nested_laplacian),
    "biharmonic d=3": (
        3,
        symgrad.biharmonic,
        lambda u, x: nested_laplacian(nested_laplacian(u, x), x),
    ),
}


class Graph:
    """One candidate in TensorFlow: its ops, how long it took to build, and its value and step as functions."""

    def __init__(self, d, residual):
        weights, biases, self._points = arrays(d)
        with tf.Graph().as_default() as graph:
            self._x = tf.placeholder(tf.float32, [None, d])
            variables = [tf.Variable(a, use_resource=True) for a in (*weights, *biases)]
            y = self._x
            for i, (w, b) in enumerate(zip(variables, variables[len(weights) :], strict=False)):
                y = tf.matmul(y, w) + b
                y = y if i == LAYERS else tf.tanh(y)
            before, began = len(graph.get_operations()), time.perf_counter()
            value = residual(y, self._x)
            gradients = tf.gradients(tf.reduce_mean(tf.square(value)), variables[:-1])
            self.ops = len(graph.get_operations()) - before
            self.build = time.perf_counter() - began
            self._fetches = {"value": value, "step": [tf.add_n([tf.reduce_sum(g) for g in gradients if g is not None])]}
            self._session = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2))
            self._session.run([v.initializer for v in variables])

    def run(self, what):
        """The value of the residual, or a number from the gradients of a step."""
        return self._session.run(self._fetches[what], {self._x: self._points})

    def peak(self, what):
        """The peak of live memory in MiB, from the records of TensorFlow's allocator."""
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        self._session.run(self._fetches[what], {self._x: self._points}, options, metadata)
        changes = [
            (record.alloc_micros, record.alloc_bytes)
            for device in metadata.step_stats.dev_stats
            for node in device.node_stats
            for memory in node.memory
            for record in memory.allocation_records
        ]
        live = np.cumsum([size for _, size in sorted(changes)])
        return float(live.max(initial=0)) / 2**20


def jax_steps(d, name):
    """Steps by folx and jax's jet; none where they are not installed or have no way."""
    try:
        import folx
        import jax
        import jax.numpy as jnp
        from jax.experimental import jet
    except ImportError:
        return {}
    weights, biases, at = arrays(d)

    def network(parameters, x):
        ws, bs = parameters
        for w, b in zip(ws[:-1], bs, strict=False):
            x = jnp.tanh(x @ w + b)
        return (x @ ws[-1] + bs[-1])[0]

    def fourth(parameters, x):
        line = lambda i, n: jet.jet(  # noqa: E731
            lambda v: network(parameters, v), (x,), [[jnp.eye(d)[i], *[jnp.zeros(d)] * (n - 1)]]
        )[1][n - 1]
        return line(1, 2) + line(0, 4)

    ways = {}
    if name.startswith("Laplacian") and "blocks" not in name:
        ways["folx"] = lambda p, x: folx.forward_laplacian(lambda v: network(p, v))(x).laplacian
    if name.startswith("beam"):
        ways["jax.jet"] = fourth

    def step(way):
        loss = lambda p: jnp.mean(jax.vmap(lambda x: way(p, x))(at) ** 2)  # noqa: E731
        compiled = jax.jit(jax.grad(loss))
        return lambda: jax.block_until_ready(compiled((weights, biases)))

    return {key: step(way) for key, way in ways.items()}


def times(candidates, rounds):
    """Seconds of each in each round, after one to warm up."""
    for call in candidates.values():
        call()
    found = {key: [] for key in candidates}
    for _ in range(rounds):
        for key, call in candidates.items():
            began = time.perf_counter()
            call()
            found[key].append(time.perf_counter() - began)
    return {key: np.array(values) for key, values in found.items()}


def measured(name, rounds):
    """The cells of one row of the table."""
    d, ours, theirs = TASKS[name]
    mine, other = Graph(d, ours), Graph(d, theirs)
    want = other.run("value")
    error = np.abs(mine.run("value") - want).max() / np.abs(want).max()
    assert error < 1e-4, (name, error)
    for what in ("value", "step"):
        found = times({"ours": partial(mine.run, what), "theirs": partial(other.run, what)}, rounds)
        yield f"{np.median(found['ours'] / found['theirs']):.2f}"
    yield f"{other.ops} -> {mine.ops}"
    yield f"{other.build:.2f} -> {mine.build:.2f} s"
    for what in ("value", "step"):
        yield f"{other.peak(what):.1f} -> {mine.peak(what):.1f}"
    peers = times({"ours": partial(mine.run, "step"), **jax_steps(d, name)}, rounds)
    yield ", ".join(f"{key} {np.median(peers['ours'] / t):.2f}" for key, t in peers.items() if key != "ours")


HEADS = ("task", "value", "step", "ops", "build", "MiB value", "MiB step", "step to JAX")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print("|", " | ".join(HEADS), "|")
    print("|---" * len(HEADS), end="|\n")
    for name in TASKS:
        if options.only in name:
            print("|", " | ".join([name, *measured(name, options.rounds)]), "|", flush=True)


if __name__ == "__main__":
    main()
