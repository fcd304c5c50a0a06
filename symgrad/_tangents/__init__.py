"""Tangents of a graph, pushed op by op from xs to ys."""

from . import _tensor_lists, _v1_frames, _v1_storage, _v2_branches, _v2_loops
from ._push import HANDLERS, Push, handler, push

__all__ = ["HANDLERS", "Push", "handler", "push"]

_TABLES = (_tensor_lists, _v1_frames, _v1_storage, _v2_branches, _v2_loops)  # importing them registers their handlers
