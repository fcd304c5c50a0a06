"""Legacy model files: a .pb, .pbtxt, .meta with its checkpoint, or a SavedModel, back into a graph that runs."""

from .._control_flow import rebuild
from ._load import load
from ._model import Model

__all__ = ["Model", "load", "rebuild"]
