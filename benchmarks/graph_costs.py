"""Time of `cost` (with the peak by liveness), `critical_path`, `lint` and `diff` at 5,000 and 10,000 ops.

Processor seconds beside the clock's, since other work slows a clock down. The yardstick in the same run is networkx
itself: the same nodes and edges added without attributes.

    python benchmarks/graph_costs.py
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import networkx
import tensorflow.compat.v1 as tf

from symgrad import graph as sg

LAYERS = (142, 285)


def mlp(layers):
    """An MLP of unknown batch size with the gradients of its weights: 35 ops for each layer."""
    with tf.Graph().as_default() as graph:
        h = tf.placeholder(tf.float32, [None, 32], name="x")
        for i in range(layers):
            with tf.variable_scope(f"layer_{i}"):
                h = tf.tanh(tf.matmul(h, tf.get_variable("w", [32, 32])) + tf.get_variable("b", [32]))
        tf.gradients(tf.reduce_mean(h * h), tf.trainable_variables())
    return graph


def bare(graph):
    """networkx without attributes."""
    copy = networkx.MultiDiGraph()
    copy.add_nodes_from(graph.nodes)
    copy.add_edges_from(graph.edges())


def seconds(function, *arguments, **options):
    """Processor and clock seconds that a call takes."""
    begun = time.process_time(), time.perf_counter()
    function(*arguments, **options)
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


def main():
    """Print a table."""
    found = {}
    for layers in LAYERS:
        live = mlp(layers)
        graph, fresh = sg.build(live), sg.build(live)
        unit = min(seconds(bare, graph)[0] for _ in range(3))
        calls = {
            "cost": (sg.cost, (graph,), {}),
            "cost, batch of 8": (sg.cost, (graph,), {"sizes": {"batch": 8}}),
            "critical_path, first call": (sg.critical_path, (fresh,), {}),
            "critical_path, later": (sg.critical_path, (fresh,), {}),
            "lint": (sg.lint, (graph,), {}),
            "diff": (sg.diff, (graph, fresh), {}),
        }
        for name, (function, arguments, options) in calls.items():
            processor, clock = seconds(function, *arguments, **options)
            found[name, layers] = processor
            growth = f", {processor / found[name, LAYERS[0]]:.1f} times" if layers != LAYERS[0] else ""
            print(f"{len(graph):>7,} ops  {name:26} {processor:6.2f} s of processor, {clock:6.2f} s by the clock, "
                  f"{processor / unit:5.0f} x networkx{growth}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
