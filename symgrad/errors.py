"""Every exception that symgrad raises on purpose.

`SymgradError` is the base; each also derives from the builtin a caller would expect, so that code written for plain
TensorFlow keeps catching what it caught.
"""

__all__ = [
    "CompileError",
    "ControlFlowError",
    "DeviceError",
    "DisconnectedError",
    "DtypeError",
    "GraphMismatchError",
    "LoadError",
    "MissingRuleError",
    "NotLinearError",
    "OptimizerError",
    "PatternError",
    "ShapeError",
    "SymgradError",
]


class SymgradError(Exception):
    """Base of all errors of this package."""


class DisconnectedError(SymgradError, ValueError):
    """There is no derivative: no path, or every path is cut. The message names the op that cuts."""


class MissingRuleError(SymgradError, LookupError):
    """A derivative exists but neither TensorFlow nor symgrad has a rule for one op on the way."""

    def __str__(self) -> str:
        """The message as it is; LookupError's subclasses would quote it."""
        return str(self.args[0]) if self.args else ""


class ShapeError(SymgradError, ValueError):
    """A tensor or vector has a shape that the operation cannot take."""


class DtypeError(SymgradError, TypeError):
    """A tensor has a dtype that cannot be differentiated, or that does not match."""


class NotLinearError(SymgradError, ValueError):
    """A gradient function is not linear in its incoming gradient, so a double VJP has no meaning."""


class ControlFlowError(SymgradError, NotImplementedError):
    """Control flow that the chosen method cannot pass; the message names the loop and the way out."""


class DeviceError(SymgradError, RuntimeError):
    """A device or a task of a cluster does not exist, did not start or stopped; the message names it."""


class CompileError(SymgradError, ValueError):
    """Nothing, or not all, can be compiled; the message names the ops that stay outside and why."""


class OptimizerError(SymgradError, ValueError):
    """An optimizer was given a value, a list of pairs, a session or a step formula that it cannot train with."""


class PatternError(SymgradError, ValueError):
    """A pattern of a sparse derivative that cannot be had, misses an entry, or does not go with its colouring."""


class GraphMismatchError(SymgradError, ValueError):
    """Tensors of several graphs, an eager tensor, or a graph that can no longer be changed."""


class LoadError(SymgradError, ValueError):
    """A file is not a graph, is damaged, or misses a part; the message says what it is."""
