"""Files and bytes in, checked GraphDefs out; nothing here imports a graph into TensorFlow."""

from ._read import GraphFile, read, read_graph_def
from ._wiring import Wiring, ends, wiring

__all__ = ["GraphFile", "Wiring", "ends", "read", "read_graph_def", "wiring"]
