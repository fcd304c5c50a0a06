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
    "GradientTape in tf.function, called": ["tape"],
    "the same in the graph": ["tape in the graph"],
    "the best TensorFlow way": [
        "pfor", "tape", "tape in the graph", "while_loop rows", "ForwardAccumulator", "double VJP by hand", "by hand",
        "tf.hessians", "reverse over reverse by hand",
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
        "one process, call by call, torch in a process of its own; weights are variables; times are medians of",
        "milliseconds of a call without feeds, and of `session.run` for comparison. A ratio is the median, over the",
        "rounds, of our time by theirs in the same round; below 1 symgrad is faster. `GradientTape` is shown twice: as",
        "eager code calls a `tf.function`, which includes what the call costs, and with that function in our graph.",
        "Compare within a row only.",
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


def _ms(figures):
    """The median of milliseconds."""
    return figures["ms"][1]


def _ratio(times, name):
    """Our time over that of `name`: the median over the rounds, or of another process the ratio of the medians."""
    paired = times[name].get("ours/theirs")
    return paired[1] if paired else _ms(times[OURS]) / _ms(times[name])


def _against(times, names):
    """Our time over that of the best of `names`; None if none of them was measured."""
    return max((_ratio(times, n) for n in names if n in times), default=None)


def _ratios(rows):
    lines = ["| row | " + " | ".join(GROUPS) + " |", "|---|" + "---:|" * len(GROUPS)]
    for row, times in rows.items():
        lines.append(f"| {row} | " + " | ".join(map(_cell, (_against(times, n) for n in GROUPS.values()))) + " |")
    jacobians = {row: t for row, t in rows.items() if row.startswith("Jacobian") and "RNN" not in row}
    slow = {row: t for row, t in rows.items() if "RNN" not in row and _best(t, GROUPS["the best of JAX"]) > 1}
    for what, some in {"Jacobians but the RNN's": jacobians, "rows where JAX takes over 1 ms": slow}.items():
        lines.append(f"| **geometric mean: {what}** | " + " | ".join(_mean(some, n) for n in GROUPS.values()) + " |")
    return lines


def _best(times, names):
    return min((_ms(times[n]) for n in names if n in times), default=0)


def _mean(rows, names):
    found = [r for r in (_against(times, names) for times in rows.values()) if r is not None]
    return _cell(math.exp(sum(map(math.log, found)) / len(found)) if found else None)


def _cell(ratio):
    return "" if ratio is None else f"{ratio:.2f}"


def _times(rows):
    lines = ["| row | symgrad | by `session.run` | others |", "|---|---:|---:|---|"]
    for row, times in rows.items():
        others = ", ".join(f"{name} {_ms(t):.3g}" for name, t in times.items() if name not in (OURS, BY_SESSION))
        lines.append(f"| {row} | {_ms(times[OURS]):.3g} | {_ms(times[BY_SESSION]):.3g} | {others} |")
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
