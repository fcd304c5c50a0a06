"""What a graph costs: operations, bytes, peak memory, the critical path, and what a run has measured."""
