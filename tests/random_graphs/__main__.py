"""`python -m random_graphs --count N --seed S --world v1|v2`: run many random graphs and print those that fail.

Graphs run in child processes of some hundreds each: a graph that ends its process is a failure like another, and the
memory that TensorFlow keeps is given back.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
CHUNK = 250


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=("v1", "v2"), default=os.environ.get("SYMGRAD_WORLD", "v2"))
    parser.add_argument("--shrink", type=int, default=1, help="how many failures that look alike to make small")
    parser.add_argument("--report", help="a file of JSON lines to append the failures to")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    raise SystemExit(child(options) if options.child else parent(options))


def parent(options):
    """Run the graphs in child processes; 1 if any of them failed."""
    verdicts, began, number = collections.Counter(), time.time(), options.first
    last = options.first + options.count
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.json"
        while number < last:
            command = [sys.executable, "-m", "random_graphs", "--child", str(state), "--first", str(number)]
            command += [
                "--count",
                str(min(CHUNK, last - number)),
                "--seed",
                str(options.seed),
                "--world",
                options.world,
            ]
            command += ["--shrink", str(options.shrink)] + (["--report", options.report] if options.report else [])
            status = subprocess.run(command, check=False).returncode
            found = json.loads(state.read_text())
            verdicts.update(found["verdicts"])
            number = found["at"] + 1
            if status < 0:
                verdicts["crashed"] += 1
                print(f"CRASHED {options.world} {options.seed} {found['at']} | signal {-status}", flush=True)
            print(
                f"-- {number - options.first} graphs in {options.world}: {dict(verdicts)}, {time.time() - began:.0f} s",
                flush=True,
            )
    return int(bool(verdicts["failed graphs"] or verdicts["crashed"]))


def child(options):
    """Run the graphs in this process, noting in a file how far it came."""
    os.environ["SYMGRAD_WORLD"] = options.world
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity("FATAL")
    tf.autograph.set_verbosity(0)
    from random_graphs import check, draw

    verdicts = collections.Counter()
    seen = collections.Counter()
    for number in range(options.first, options.first + options.count):
        Path(options.child).write_text(json.dumps({"at": number, "verdicts": verdicts}))
        program = draw.draw(options.seed, number)
        found = check.outcomes(program, needless=bool(options.report))
        verdicts.update(o.verdict for o in found)
        bad = [o for o in found if o.failed]
        verdicts["failed graphs"] += bool(bad)
        for outcome in bad:
            report(program, outcome, options, seen)
        if options.report:
            for outcome in found:
                if outcome.verdict == "needless":
                    report(program, outcome, options, seen)
    Path(options.child).write_text(json.dumps({"at": number, "verdicts": verdicts}))
    return 0


def report(program, outcome, options, seen):
    """Print a failure, made small if it is the first of its look."""
    from random_graphs import build, shrink

    print(f"{outcome.verdict.upper()} {options.world} {program.seed} | {outcome.call} | {outcome.detail}", flush=True)
    look = shrink.signature(outcome)
    seen[look] += 1
    small = None
    if outcome.failed and seen[look] <= options.shrink and "ops left" not in outcome.detail:
        small = shrink.shrink(program, outcome)
        if small:
            print(f"{build.text(small[0])}\n{small[1].call}\n{small[1].detail}\n", flush=True)
    if options.report:
        entry = {"world": options.world, "seed": program.seed, "verdict": outcome.verdict, "call": outcome.call}
        entry |= {"detail": outcome.detail, "text": build.text(program)}
        if small:
            entry |= {"small": build.text(small[0]), "small_call": small[1].call, "small_detail": small[1].detail}
        with open(options.report, "a") as file:
            file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main()
