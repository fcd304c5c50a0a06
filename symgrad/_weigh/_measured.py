"""`from_run_metadata`: time and memory that a run of the graph has taken, on its nodes."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx


def from_run_metadata(graph: "networkx.MultiDiGraph", run_metadata: Any) -> dict[str, Any]:
    """Lay the measurements of a run over a graph.

    Args:
      graph: a graph from `build`, of the graph that ran. Its ops that ran get the attributes `time` (microseconds over
        all their runs), `memory` (bytes that they allocated) and `runs`.
      run_metadata: a `tf.RunMetadata` that `session.run` has filled with
        `options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)`.

    Returns:
      A dict: `time` (microseconds, summed over ops), `memory` (bytes allocated), `peak` (bytes that were alive at once,
      from the allocations and deallocations of the trace in the order of their times), `roles` (the same by role),
      `matched` (ops of the graph that ran) and `unmatched` (names that ran and are not in the graph: TensorFlow
      rewrites graphs before it runs them, and gives some ops another name).

    Raises:
      ValueError: the run was not traced.
    """
    rows: dict[str, dict[str, int]] = defaultdict(lambda: {"time": 0, "memory": 0, "runs": 0})
    records: list[tuple[int, int]] = []
    for device in run_metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            row = rows[stats.node_name.partition(":")[0]]
            row["time"] += stats.op_end_rel_micros - stats.op_start_rel_micros
            row["runs"] += 1
            for memory in stats.memory:
                row["memory"] += memory.total_bytes
                records += [(record.alloc_micros, record.alloc_bytes) for record in memory.allocation_records]
    if not rows:
        raise ValueError("the RunMetadata holds no step_stats; run with trace_level=tf.RunOptions.FULL_TRACE")
    for name, row in rows.items():
        if name in graph:
            graph.nodes[name].update(row)
    matched = [name for name in rows if name in graph]
    roles: dict[str, dict[str, int]] = defaultdict(lambda: {"ops": 0, "time": 0, "memory": 0})
    for name in matched:
        total = roles[graph.nodes[name]["role"]]
        total["ops"] += 1
        for key in ("time", "memory"):
            total[key] += rows[name][key]
    return {
        "time": sum(row["time"] for row in rows.values()),
        "memory": sum(row["memory"] for row in rows.values()),
        "peak": _peak(records),
        "roles": dict(roles),
        "matched": matched,
        "unmatched": sorted(name for name in rows if name not in graph),
    }


def _peak(records: list[tuple[int, int]]) -> int:
    """Highest sum of allocations; within one microsecond memory is given back before it is taken."""
    alive = peak = 0
    for _, size in sorted(records):
        alive += size
        peak = max(peak, alive)
    return peak
