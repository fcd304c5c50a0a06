"""Tensors once more, from one call that XLA compiles."""

from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._compiled import Plan, call, planned
from .._keywords import operator
from .._op_types import EXITS
from ..errors import CompileError, ControlFlowError, GraphMismatchError

# How many ops a message names.
_SHOWN = 5
_TRIVIAL = ("Const", "Identity", "NoOp")


@operator
def compiled(fetches: Any, inputs: Any = (), *, strict: bool = False, name: str = "compiled") -> Any:
    """The same tensors as `fetches`, computed by one call that XLA compiles, on copies of their ops.

    What is fed, reads of variables, random ops, effects and whatever XLA has no kernel for or computes differently stay
    outside, and so does all that their derivatives need. A V1 loop or branch goes in or stays as a whole. The ops of
    the graph stay as they are. The first run compiles, and so does each new shape of what goes in.

    Args:
      fetches: tensor or structure of tensors of a graph, derivatives among them, any shapes and dtypes.
      inputs: tensor or structure of tensors at which the compiled part begins, so that the fetches can be
        differentiated with respect to them.
      strict: refuse, with the names of the ops, instead of leaving outside what could not be compiled.
      name: scope of the new ops.

    Returns:
      Structure like `fetches`. A fetch that would stay outside itself is given back as it is. Derivatives of the others
      are those of the originals.

    Raises:
      CompileError: nothing is left to compile; or `strict`, and something stays outside.
      ControlFlowError: the tensors are in a function body or a V1 loop.
      DtypeError, GraphMismatchError: as for `Lop`.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 2])
      >>> y = symgrad.compiled(tf.gradients(tf.reduce_sum(tf.tanh(x) ** 2), x)[0])
      >>> run(y, {x: [[0., 1.]]}).round(3)
      array([[0.  , 0.64]], dtype=float32)
    """
    tensors = [_tensors.output(y, f"fetches[{i}]") for i, y in enumerate(_tensors.symbolic(fetches))]
    graph = tensors[0].graph
    begins = [x.tensor for x in _tensors.inputs(inputs, graph, any_dtype=True)] if _tensors.flatten(inputs) else []
    _require_plain(graph, [*tensors, *begins])
    plan = planned(tensors, begins)
    _require_something(plan, strict=strict)
    inside, stops = set(plan.ops), {id(t) for t in begins}
    wanted = [t for t in tensors if t.op in inside and id(t) not in stops]
    with graph.as_default(), tf.control_dependencies(None), tf.name_scope(name):
        made = {id(t): new for t, new in zip(wanted, call(plan, wanted), strict=True)}
    return _tensors.pack(fetches, [made.get(id(t), t) for t in tensors])


def _require_plain(graph: tf.Graph, tensors: list[tf.Tensor]) -> None:
    if isinstance(graph, _tf.FuncGraph):
        raise ControlFlowError(
            "fetches are in a function body; let TensorFlow compile it: tf.function(jit_compile=True)"
        )
    if graph.finalized:
        raise GraphMismatchError("the graph is finalized; call compiled() before a session or supervisor finalizes it")
    for t in tensors:
        if t.graph is not graph:
            raise GraphMismatchError(f"{t.name!r} belongs to another graph than fetches[0]")
        if _is_inside(t.op):
            raise ControlFlowError(f"{t.name!r} is inside of a V1 loop or branch; give what leaves it")


def _is_inside(op: tf.Operation) -> bool:
    """True for an op of a V1 loop or branch; what leaves the outermost one is outside."""
    context = op._get_control_flow_context()
    return context is not None and not (op.type in EXITS and context.outer_context is None)


def _require_something(plan: Plan, *, strict: bool) -> None:
    found = plan.hindrances
    named = [
        f"{op.type} {op.name!r}: {why.value}" + (f" ({more})" if more else "") for op, (why, more) in found.items()
    ]
    said = "; ".join(named[:_SHOWN]) + (f"; and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
    if strict and found:
        raise CompileError(f"not all can be compiled: {said}. strict=False leaves it outside")
    if all(op.type in _TRIVIAL for op in plan.ops):
        raise CompileError(f"nothing is left to compile: {said or 'nothing is computed'}. Run the tensors as they are")
