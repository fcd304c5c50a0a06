"""Make docs/what-it-costs.md from benchmarks/derivatives.json; no figure of that page is typed by hand.

python scripts/bench_page.py
"""

import json
import math
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "what-it-costs.md"
FIGURES = ROOT / "benchmarks" / "derivatives.json"
OURS, BY_SESSION = "symgrad", "symgrad by session.run"
GROUPS = {
    "pfor": ["pfor"],
    "GradientTape in tf.function": ["tape"],
    "the best TensorFlow way": [
        "pfor", "tape", "while_loop rows", "ForwardAccumulator", "double VJP by hand", "by hand", "tf.hessians",
        "reverse over reverse by hand",
    ],
    "the best of torch.func (own process)": [
        "torch jacrev", "torch jacfwd", "torch vmap(jacrev)", "torch vmap(jacfwd)",
    ],
    "the best of JAX": [
        "JAX jacrev", "JAX jacfwd", "JAX vmap(jacrev)", "JAX vmap(jacfwd)", "JAX jvp", "JAX hessian",
        "JAX jacrev(jacrev)", "JAX jvp(grad)", "JAX",
    ],
}  # fmt: skip


def render(report):
    """The page as text."""
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    cores = report["machine"]["cores"]
    return "\n".join([
        "# What it costs",
        "",
        "<!-- made by scripts/bench_page.py from benchmarks/derivatives.json -->",
        "",
        "`make bench` measures derivatives beside TensorFlow's own ways, JAX and torch.func. Candidates take turns in",
        "one process, torch in a process of its own; weights are variables; times are medians of milliseconds",
        "of a call without feeds, and of `session.run` for comparison. Below 1 symgrad is faster. Other",
        "work ran on the machine: compare within a row only.",
        "",
        f"Versions: {versions}. {report['machine']['processor']}, {cores} cores, float32.",
        "",
        "## Ratios: our time over theirs",
        "",
        *_ratios(report["rows"]),
        "",
        "## Milliseconds",
        "",
        *_times(report["rows"]),
        "",
        "## Memory: a Jacobian of 10,000 x 1,000",
        "",
        *_memory(report["memory"]),
        "",
        "## Building 400 rows of a 400 x 400 network",
        "",
        "| way | ops added | seconds |",
        "|---|---:|---:|",
        *(f"| {name} | {b['ops']} | {b['seconds']:.2f} |" for name, b in report["build"].items()),
        "",
    ])  # fmt: skip


def _median(figures):
    """The middle one of the quartiles that were kept."""
    return figures[len(figures) // 2]


def _best(times, names):
    found = [_median(times[n]) for n in names if n in times]
    return min(found) if found else None


def _ratios(rows):
    lines = ["| row | " + " | ".join(GROUPS) + " |", "|---|" + "---:|" * len(GROUPS)]
    columns = {group: [] for group in GROUPS}
    for row, times in rows.items():
        cells = []
        for group, names in GROUPS.items():
            best = _best(times, names)
            cells.append("" if best is None else f"{_median(times[OURS]) / best:.2f}")
            if best is not None and row.startswith("Jacobian") and "RNN" not in row:
                columns[group].append(_median(times[OURS]) / best)
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    means = ["" if not c else f"{math.exp(sum(map(math.log, c)) / len(c)):.2f}" for c in columns.values()]
    return [*lines, "| **geometric mean of the Jacobians but the RNN's** | " + " | ".join(means) + " |"]


def _times(rows):
    lines = ["| row | symgrad | by `session.run` | others |", "|---|---:|---:|---|"]
    for row, times in rows.items():
        others = ", ".join(f"{name} {_median(t):.3g}" for name, t in times.items() if name not in (OURS, BY_SESSION))
        lines.append(f"| {row} | {_median(times[OURS]):.3g} | {_median(times[BY_SESSION]):.3g} | {others} |")
    return lines


def _memory(memory):
    if not memory:
        return ["Not measured in this run."]
    result = next(iter(memory.values()))["result"]
    return [
        f"The result has {result:.1f} MiB. The peak is that above the memory before compilation, each way in a process",
        "of its own.",
        "",
        "| way | peak, MiB | above the result, MiB | ms |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {m['above_baseline']:.0f} | {m['above_baseline'] - result:.0f} | {m['ms']:.0f} |"
            for name, m in memory.items()
        ),
    ]


if __name__ == "__main__":
    PAGE.write_text(render(json.loads(FIGURES.read_text())))
