"""What XLA would leave outside."""

from typing import Any

from .. import _tensors
from .._collector import collector_paused
from .._compiled import planned
from .._finding import Finding
from .._where import made_at
from ..errors import GraphMismatchError
from ._subject import subjects


def why_not_compiled(tensors: Any, inputs: Any = ()) -> list[Finding]:
    """What of the computation of some tensors `symgrad.compiled` would leave outside, and why; builds nothing.

    Not named is what is fed, variables, large constants, and what stays only because one of the others does.

    Args:
      tensors: tensor or structure of tensors of a graph.
      inputs: tensor or structure of tensors at which the compiled part begins.

    Returns:
      A list of `Finding`, one an op, in the order of the graph; empty if all can be compiled.

    Raises:
      DtypeError: a leaf is no tensor.
      ShapeError: there are none.
      GraphMismatchError: they are eager tensors.

    Example:
      >>> x = tf.placeholder(tf.float32, [3])
      >>> y = tf.exp(tf.py_func(np.sin, [x], tf.float32, name="python"))
      >>> [(f.cause.name, f.op) for f in symgrad.diagnose.why_not_compiled(y)]
      [('STATE', 'python')]
    """
    wanted = subjects(tensors, "tensors")
    if any(y.is_eager for y in wanted):
        raise GraphMismatchError("tensors are eager, and carry no graph; give tensors of a tf.Graph")
    begins = [x.tensor for x in subjects(inputs, "inputs")] if _tensors.flatten(inputs) else []
    with collector_paused():
        hindrances = planned([y.tensor for y in wanted], begins).hindrances
    return [
        Finding(op.name, why, op.name, op.type, where=made_at(op), detail=more)
        for op, (why, more) in hindrances.items()
    ]
