"""What Rop costs beside tf.autodiff.ForwardAccumulator: nodes and matrix products that run, and the time to build.

Nodes are counted in the partition graphs of a session, which is exact. The time to build is that of a chain of 50,000
and of 100,000 ops, whose ratio is 2 if the work is linear in the graph.
"""

import json
import time

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

import symgrad

LAYERS = 6


def counted(build, activation, batch):
    """Nodes and matrix products that a session runs for y and its tangent."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [batch, 64])
        ws = [tf.constant(np.full((64, 64), 0.01, np.float32)) for _ in range(LAYERS)]

        def mlp(x):
            for w in ws:
                x = activation(x @ w)
            return x

        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        session.run(build(mlp, x), {x: np.ones((32, 64), np.float32)}, options, metadata)
        nodes = [node.op for graph in metadata.partition_graphs for node in graph.node]
    return {"nodes": len(nodes), "matmuls": sum("MatMul" in op for op in nodes)}


def primal(mlp, x):
    """Y alone."""
    return mlp(x)


def by_method(method):
    """Y and its Rop."""

    def build(mlp, x):
        y = mlp(x)
        return y, symgrad.Rop(y, x, tf.ones_like(x), method=method)

    return build


def accumulator(mlp, x):
    """Y and its tangent by TensorFlow's forward mode."""
    with tf2.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = mlp(x)
    return y, forward.jvp(y)


def seconds(ops):
    """The time to build the Rop of a chain."""
    with tf.Graph().as_default():
        x = y = tf.constant([0.5])
        for _ in range(ops // 2):
            y = tf.tanh(y) * 1.01
        begin = time.process_time()  # of this process alone, whatever else the machine does
        symgrad.Rop(y, x, [1.0])
        return time.process_time() - begin


def main():
    """Print one line a case, and the figures as JSON."""
    rows = []
    roads = {"primal": primal, "forward": by_method("forward"), "double_vjp": by_method("double_vjp"),
             "ForwardAccumulator": accumulator}  # fmt: skip
    for name, activation in {"tanh": tf.tanh, "square": tf.square}.items():
        for batch in (32, None):
            for road, build in roads.items():
                row = {"activation": name, "batch": batch, "road": road, **counted(build, activation, batch)}
                rows.append(row)
                print("{activation:8} batch {batch!s:5} {road:20} {nodes:4} nodes {matmuls:3} matmuls".format(**row))
    half, whole = seconds(50_000), seconds(100_000)
    rows.append({"ops": 100_000, "seconds": whole, "ratio to 50,000 ops": whole / half})
    print(f"building the Rop of 100,000 ops: {whole:.1f} s, {whole / half:.2f} times that of 50,000")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
