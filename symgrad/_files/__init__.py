"""Files and bytes in, checked GraphDefs out; nothing here imports a graph into TensorFlow."""

from ._calls import called_by, calls_itself, functions_of
from ._read import GraphFile, read, read_graph_def
from ._wiring import Wiring, ends, wiring

__all__ = [
    "GraphFile",
    "Wiring",
    "called_by",
    "calls_itself",
    "ends",
    "functions_of",
    "read",
    "read_graph_def",
    "wiring",
]
