"""Tangents of a graph, pushed op by op from xs to ys."""

from . import _branches, _frames, _lists, _loops, _shadows
from ._push import HANDLERS, Push, handler, push

__all__ = ["HANDLERS", "Push", "handler", "push"]

_TABLES = (_branches, _frames, _lists, _loops, _shadows)  # importing them registers their handlers
