"""A Jacobian over 1, 2 and 4 workers of this machine, measured and predicted by the cost model of the documentation.

Writes benchmarks/cluster.json and the table in docs/jacobian-on-many-machines.md. Every worker has one thread, the
weights live on a parameter server. Times are minima of repeated runs, with the client in this process.

    python benchmarks/cluster.py
"""

import itertools
import json
import os
import pathlib
import time

ROOT = pathlib.Path(__file__).parent.parent
FIGURES = ROOT / "benchmarks" / "cluster.json"
PAGE = ROOT / "docs" / "jacobian-on-many-machines.md"
BEGIN, END = "<!-- table: made by benchmarks/cluster.py -->\n", "<!-- end of table -->\n"

WIDTHS = (400, 1000, 1000, 2000)
BLOCK = 125
WORKERS = (1, 2, 4)
REPEATS = 12


def predicted(costs, workers, at_once):
    """The cost model: seconds for the Jacobian on a number of workers, of which some compute at the same time."""
    rows = (costs["all"] - costs["forward"]) / at_once
    copies = costs["forward"] * workers / at_once
    moved = costs["bytes"] / costs["bytes_per_second"]
    return rows + copies + moved + costs["run"]


def best(call):
    """The least seconds of a call that has been made once before."""
    times = []
    call()
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def network(np, tf):
    """y and x, with weights on the parameter server."""
    rng = np.random.default_rng(0)
    x = tf.constant(rng.standard_normal((1, WIDTHS[0])), tf.float32)
    y = x
    for i, shape in enumerate(itertools.pairwise(WIDTHS)):
        with tf.device("/job:ps/task:0"):
            start = tf.constant(rng.standard_normal(shape) / shape[0] ** 0.5, tf.float32)
            w = tf.get_variable(f"w{i}", initializer=start, use_resource=True)
        y = tf.tanh(y @ w)
    return y, x


def whole(symgrad, y, x, devices):
    """The Jacobian by rows in vectorised blocks."""
    return symgrad.jacobian(y, x, mode="rows", block_size=BLOCK, devices=devices)


def calibrate(session, y, x, device):
    """The costs that the model is made of, measured on one worker."""
    import tensorflow.compat.v1 as tf

    import symgrad

    rows = whole(symgrad, y, x, [device])
    forward = symgrad.jacobian(y[:, :1], x, mode="rows", devices=[device])  # one row: little more than the forward pass
    with tf.device(device):
        nothing = tf.identity(tf.constant(0.0))
        compute, small, large = tf.reduce_sum(rows), tf.reduce_sum(forward), tf.zeros([WIDTHS[-1], WIDTHS[0]]) + nothing
    run = best(lambda: session.run(nothing))
    size = WIDTHS[0] * WIDTHS[-1] * 4
    return {
        "all": best(lambda: session.run(compute)),
        "forward": best(lambda: session.run(small)),
        "run": run,
        "bytes": size,
        "bytes_per_second": size / max(1e-9, best(lambda: session.run(large)) - run),
    }


def alternate(session, fetches):
    """The least seconds of each; they take turns, as a busy machine slows all of them."""
    least = dict.fromkeys(fetches, float("inf"))
    for _ in range(1 + REPEATS):
        for key, fetch in fetches.items():
            start = time.perf_counter()
            session.run(fetch)
            least[key] = min(least[key], time.perf_counter() - start)
    return least


def measure():
    """The report: calibrated costs, and for each number of workers the measured and the predicted seconds."""
    import numpy as np
    import tensorflow as tensorflow
    import tensorflow.compat.v1 as tf

    import symgrad
    from symgrad.testing import local_cluster

    processors = len(os.sched_getaffinity(0))
    rows, costs = [], None
    with local_cluster(workers=max(WORKERS), ps=1, threads=1) as cluster, tf.Graph().as_default():
        y, x = network(np, tf)
        with tf.Session(cluster.target("ps", 0)) as session:
            session.run(tf.global_variables_initializer())
            costs = calibrate(session, y, x, cluster.devices()[0])
            shared = {workers: whole(symgrad, y, x, cluster.devices()[:workers]) for workers in WORKERS}
            for workers, seconds in alternate(session, shared).items():
                expected = predicted(costs, workers, min(workers, processors))
                rows.append({"workers": workers, "measured": seconds, "predicted": expected})
    versions = {"tensorflow": tensorflow.__version__, "numpy": np.__version__}
    return {"processors": processors, "versions": versions, "costs": costs, "rows": rows}


def table(report):
    """The report as Markdown."""
    costs, alone = report["costs"], report["rows"][0]
    lines = [
        f"A network of widths {', '.join(map(str, WIDTHS))} in float32, rows in blocks of {BLOCK}, on "
        f"{report['processors']} processors; TensorFlow {report['versions']['tensorflow']}. Measured on one worker: "
        f"{costs['all'] * 1e3:.0f} ms for all rows, {costs['forward'] * 1e3:.1f} ms for the forward pass and the way "
        f"of the weights, {costs['run'] * 1e3:.1f} ms for an empty run, {costs['bytes_per_second'] / 1e6:.0f} MB/s.",
        "",
        "| workers | predicted | measured | predicted speed-up | measured speed-up |",
        "|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        faster = [alone[kind] / row[kind] for kind in ("predicted", "measured")]
        seconds = [f"{row[kind] * 1e3:.0f} ms" for kind in ("predicted", "measured")]
        lines.append(f"| {row['workers']} | {' | '.join(seconds)} | {faster[0]:.2f} | {faster[1]:.2f} |")
    return "\n".join(lines) + "\n"


def with_table(page, report):
    """The text of a page with its table replaced."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(report) + END + rest.split(END)[1]


def main():
    report = measure()
    FIGURES.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")
    print(table(report))


if __name__ == "__main__":
    main()
