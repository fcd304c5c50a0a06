"""Time and memory of `symgrad.graph.build` on a deep net with gradients, at 50,000 and 100,000 ops.

Each size runs in a process of its own, since memory that Python has once taken is not given back. The peer in the
same run is networkx itself: the same nodes and edges added without attributes.

    python benchmarks/gradient_graph.py
"""

import json
import resource
import subprocess
import sys
import time

SIZES = (50_000, 100_000)
_OPS_PER_LAYER = 17


def deep_net(ops):
    """A GraphDef as tf.gradients leaves it: MatMul, add, Tanh per layer, and their gradients in reverse."""
    import tensorflow.compat.v1 as tf

    graph_def = tf.GraphDef()

    def add(name, kind, *inputs):
        node = graph_def.node.add(name=name, op=kind, input=inputs)
        node.attr["dtype" if kind in ("Const", "Placeholder", "VariableV2") else "T"].type = 1
        return name

    layers = ops // _OPS_PER_LAYER
    scopes = [f"block_{i // 50}/layer_{i}" for i in range(layers)]
    h = add("x", "Placeholder")
    for s in scopes:
        weights = add(f"{s}/w/read", "Identity", add(f"{s}/w", "VariableV2"))
        bias = add(f"{s}/b/read", "Identity", add(f"{s}/b", "VariableV2"))
        h = add(f"{s}/Tanh", "Tanh", add(f"{s}/add", "AddV2", add(f"{s}/MatMul", "MatMul", h, weights), bias))
    add("loss", "Sum", h)
    g = add("gradients/grad_ys_0", "Fill", add("gradients/Shape", "Const"), add("gradients/Const", "Const"))
    for i in reversed(range(layers)):
        s, p = scopes[i], f"gradients/{scopes[i]}"
        below = f"{scopes[i - 1]}/Tanh" if i else "x"
        tanh = add(f"{p}/Tanh_grad/TanhGrad", "TanhGrad", f"{s}/Tanh", g)
        shapes = add(f"{p}/add_grad/Shape", "Shape", f"{s}/MatMul"), add(f"{p}/add_grad/Shape_1", "Const")
        axes = add(f"{p}/add_grad/BroadcastGradientArgs", "BroadcastGradientArgs", *shapes)
        into = add(f"{p}/add_grad/Reshape", "Reshape", add(f"{p}/add_grad/Sum", "Sum", tanh, axes), shapes[0])
        summed = add(f"{p}/add_grad/Sum_1", "Sum", tanh, f"{axes}:1")
        add(f"{p}/add_grad/Reshape_1", "Reshape", summed, shapes[1])
        g = add(f"{p}/MatMul_grad/MatMul", "MatMul", into, f"{s}/w/read")
        add(f"{p}/MatMul_grad/MatMul_1", "MatMul", below, into)
    return graph_def


def megabytes():
    """Memory that this process holds now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def measure(ops):
    """Build once; print seconds and megabytes of `build` and of bare networkx as JSON."""
    import networkx

    import symgrad

    graph_def = deep_net(ops)
    symgrad.graph.build(deep_net(100))  # loads what is loaded at first use
    before, start, processor = megabytes(), time.perf_counter(), time.process_time()
    graph = symgrad.graph.build(graph_def)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    memory = megabytes() - before
    start = time.perf_counter()
    bare = networkx.MultiDiGraph()
    bare.add_nodes_from(graph.nodes)
    bare.add_edges_from(graph.edges())
    found = {
        "ops": len(graph),
        "edges": graph.number_of_edges(),
        "seconds": seconds,
        "processor": processor,
        "megabytes": memory,
        "bare_seconds": time.perf_counter() - start,
    }
    print(json.dumps(found))


def main():
    rows = []
    for ops in SIZES:
        done = subprocess.run([sys.executable, __file__, str(ops)], check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        row = rows[-1]
        ratio = row["seconds"] / row["bare_seconds"]
        print(
            f"{row['ops']:>8,} ops {row['edges']:>8,} edges: {row['seconds']:.2f} s, "
            f"{row['processor']:.2f} s of them of processor, {row['megabytes']:.0f} MB; "
            f"networkx alone {row['bare_seconds']:.2f} s, ratio {ratio:.1f}"
        )
    print(f"twice the ops cost {rows[1]['seconds'] / rows[0]['seconds']:.2f} times the time")


if __name__ == "__main__":
    measure(int(sys.argv[1])) if len(sys.argv) > 1 else main()
