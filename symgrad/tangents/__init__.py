"""Tangents of a graph, pushed op by op from xs to ys."""

from . import _frames, _shadows
from ._push import HANDLERS, Push, handler, push

__all__ = ["HANDLERS", "Push", "handler", "push"]

_TABLES = (_frames, _shadows)  # importing them registers their handlers
