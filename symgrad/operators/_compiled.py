"""Tensors once more, from one call that XLA compiles."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors
from .._compiled import Plan, call, fetched, planned
from .._keywords import operator
from ..errors import CompileError, GraphMismatchError

# How many ops a message names.
_SHOWN = 5


@operator
def compiled(fetches: Any, inputs: Any = (), *, strict: bool = False, name: str = "compiled") -> Any:
    """The same tensors as `fetches`, computed by one call that XLA compiles, on copies of their ops.

    What is fed, variables, random ops, effects, V1 loops and branches, arrays and whatever XLA has no kernel for or
    computes differently stay outside, and so does all that their derivatives need. The ops of the graph stay as they
    are. The first run compiles, and so does each new shape of what is fed.

    Args:
      fetches: tensor or structure of tensors of a graph, derivatives among them, any shapes and dtypes.
      inputs: tensor or structure of tensors at which the compiled part begins, so that it can be differentiated with
        respect to them.
      strict: refuse, with the names of the ops, instead of leaving outside what could not be compiled.
      name: scope of the new ops.

    Returns:
      Structure like `fetches`. A fetch that would stay outside itself is given back as it is. Derivatives of the others
      are those of the originals.

    Raises:
      CompileError: nothing is left to compile; or `strict`, and something stays outside.
      DtypeError, GraphMismatchError, ShapeError: as for `Lop`; or the tensors are in a function body or a V1 loop.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 2])
      >>> y = symgrad.compiled(tf.gradients(tf.reduce_sum(tf.tanh(x) ** 2), x)[0])
      >>> run(y, {x: [[0., 1.]]}).round(3)
      array([[0.  , 0.64]], dtype=float32)
    """
    graph = _tensors.symbolic(fetches)[0].graph
    if graph.finalized:
        raise GraphMismatchError("the graph is finalized; call compiled() before a session finalizes it")
    tensors, begins = fetched(fetches, inputs)
    plan = planned(tensors, begins)
    _require_something(plan, strict)
    inside, stops = set(plan.ops), {id(t) for t in begins}
    wanted = [t for t in tensors if t.op in inside and id(t) not in stops]
    with graph.as_default(), tf.control_dependencies(None), tf.name_scope(name):
        made = {id(t): new for t, new in zip(wanted, call(plan, wanted), strict=True)}
    return _tensors.pack(fetches, [made.get(id(t), t) for t in tensors])


def _require_something(plan: Plan, strict: bool) -> None:
    found = plan.hindrances()
    named = [
        f"{op.type} {op.name!r}: {why.value}" + (f" ({more})" if more else "") for op, (why, more) in found.items()
    ]
    said = "; ".join(named[:_SHOWN]) + (f"; and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
    if strict and found:
        raise CompileError(f"not all can be compiled: {said}. strict=False leaves it outside")
    if not any(op.type not in ("Const", "Identity") for op in plan.ops):
        raise CompileError(f"nothing is left to compile: {said or 'nothing is computed'}. Run the tensors as they are")
