"""Tangents of a graph, pushed op by op."""

__all__: list[str] = []
