"""Tangents of a graph, pushed op by op from xs to ys."""

from ._push import HANDLERS, Push, handler, push

__all__ = ["HANDLERS", "Push", "handler", "push"]
