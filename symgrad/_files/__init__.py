"""Files and bytes in, checked GraphDefs out; nothing here imports a graph into TensorFlow."""

from ._calls import called_by, functions_of
from ._claims import brought_elements, claimed_elements, excess, ops_in_functions
from ._read import GraphFile, read, read_graph_def
from ._wiring import Wiring, ends, wiring

__all__ = [
    "GraphFile",
    "Wiring",
    "brought_elements",
    "called_by",
    "claimed_elements",
    "ends",
    "excess",
    "functions_of",
    "ops_in_functions",
    "read",
    "read_graph_def",
    "wiring",
]
