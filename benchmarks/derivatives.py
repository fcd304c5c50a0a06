"""Rop, Jacobians, Hessians and products beside TensorFlow's ways, JAX and torch.func: time, memory, build.

TensorFlow, JAX and symgrad take turns in one process; torch runs in a process of its own. Weights are variables, not
constants that an optimiser folds. Times are of `Session._make_callable_from_options` (of what symgrad builds also of
`session.run`). Turns are single calls, so that a busy machine slows all alike; kept are the quartiles of each
candidate's time, and of our time over its time in the same round. The figures go to benchmarks/derivatives.json, from
which scripts/bench_page.py makes the page of the documentation.

    python benchmarks/derivatives.py [--only WORD] [--seconds 2] [--out FILE]
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

HERE = Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=HERE / "derivatives.json")
    parser.add_argument("--part", choices=["torch", "memory"])
    parser.add_argument("--candidate")
    options = parser.parse_args()
    if options.part == "torch":
        from peers import torch_rows

        print(json.dumps(torch_rows(options)))
    elif options.part == "memory":
        from peers import memory_of

        print(json.dumps(memory_of(options.candidate)))
    else:
        everything(options)


def everything(options):
    from peers import MEMORY, builds, tensorflow_rows

    rows = tensorflow_rows(options)
    for name, times in again("--part", "torch", options=options).items():
        rows.setdefault(name, {}).update(times)
    memory = {}
    if options.only in "memory 10000x1000":
        memory = {c: again("--part", "memory", "--candidate", c, options=options) for c in MEMORY}
    report = {
        "versions": versions(),
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "commit": commit(),
        "rows": rows,
        "memory": memory,
        "build": builds(),
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    show(report)


def again(*arguments, options):
    """This script in a process of its own."""
    common = ["--only", options.only, "--seconds", str(options.seconds)]
    found = subprocess.run(
        [sys.executable, __file__, *arguments, *common], stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def versions():
    found = {"python": platform.python_version()}
    for name in ("symgrad", "tensorflow", "jax", "torch", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name == "symgrad":
                import symgrad

                found[name] = symgrad.__version__
    return found


def commit():
    found = subprocess.run(["git", "-C", str(HERE), "rev-parse", "HEAD"], capture_output=True, check=False, text=True)
    return found.stdout.strip()


def alternate(candidates, seconds):
    """Of each candidate the quartiles of its milliseconds, and of our time over its time in the same round.

    The order is another in each round: what ran before leaves its marks in the caches.
    """
    taken = {name: [] for name in candidates}
    for call in candidates.values():
        call(), call()
    names, rng = list(candidates), np.random.default_rng(0)
    end = time.perf_counter() + seconds * len(candidates)
    while time.perf_counter() < end or min(map(len, taken.values())) < 7:
        for name in rng.permutation(names):
            begin = time.perf_counter()
            candidates[name]()
            taken[name].append(1e3 * (time.perf_counter() - begin))
    found = {name: {"ms": quartiles(t)} for name, t in taken.items()}
    for name in candidates if "symgrad" in candidates else ():
        found[name]["ours/theirs"] = quartiles(np.divide(taken["symgrad"], taken[name]))
    return found


def quartiles(values):
    return [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]


def show(report):
    for name, times in report["rows"].items():
        ours = times["symgrad"]["ms"][1]
        ratios = {k: f"{t.get('ours/theirs', [0, ours / t['ms'][1]])[1]:.2f}" for k, t in times.items()}
        print(f"{name:28} symgrad {ours:9.3f} ms; ours / theirs: {ratios}")
    print(json.dumps({"memory": report["memory"], "build": report["build"]}, indent=1))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
