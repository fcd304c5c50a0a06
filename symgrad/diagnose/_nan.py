"""Where a value that is not finite is born."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _where
from .._finding import Finding
from ..errors import DtypeError, GraphMismatchError, ShapeError
from ._locate import Locator
from ._nan_causes import GIVEN_ADVICE, Birth, advice
from ._private_run import PrivateRun
from ._record import SHOWN
from ._trace import Origin, Trace


def nan_origin(fetches: Any, *, session: Any, feed_dict: dict | None = None) -> list[Finding]:
    """The ops at which NaN or infinity first appears in what `fetches` are computed from, by one instrumented run.

    An op is named if its inputs were finite, its output was not, and values that are not finite lead from it to a fetch
    that is not finite. What is fetched runs once in `session`, as far as it writes nothing; the instrumented run takes
    place in a private copy of the graph, in which variables, random numbers, elements of queues and datasets and
    results of Python functions are those of the run in `session`. Its graph and its variables stay as they are.

    Args:
      fetches: tensor, variable, op, name or structure of them; of an op what it reads is looked at.
      session: a `tf.Session` with the graph of the fetches, its variables initialised.
      feed_dict: as for `session.run`.

    Returns:
      A list of `Finding` in the order of execution, empty if all fetches are finite. Where loops are around the op,
      `iterations` tells in which iteration it was.

    Raises:
      GraphMismatchError: there is no session, or a fetch or a feed does not belong to its graph.
      DtypeError: a fetch is no tensor, or what is fed does not become the dtype of the tensor.
      ShapeError: what is fed has another shape than the tensor, or there are no fetches.
      ControlFlowError: the value of a variable cannot be read without a side effect.
      tf.errors.OpError: the run fails, as it would in the session.

    Example:
      >>> x = tf.placeholder(tf.float32, [2], name="x")
      >>> g, = tf.gradients(tf.sqrt(x, name="root"), x)
      >>> with tf.Session() as session:
      ...     found = symgrad.diagnose.nan_origin(g, session=session, feed_dict={x: [0., 1.]})
      >>> [(f.cause.name, f.op_type, f.forward, f.indices) for f in found]
      [('INFINITY', 'SqrtGrad', 'root', ((0,),))]
    """
    graph = _graph_of(session)
    wanted = [_element(graph, fetch, i) for i, fetch in enumerate(_leaves(fetches))]
    run = PrivateRun(wanted, session, feed_dict)
    locator = Locator(graph)
    found: dict[Any, tuple[int, Finding]] = {}
    for fetch, result in zip(wanted, run.results, strict=True):
        for origin in _origins(run, fetch, result):
            key = (origin.scope, origin.node)
            order = origin.sample.order if origin.sample else 0
            if key not in found or order < found[key][0]:  # of the iterations of a loop the first
                found[key] = (order, _finding(fetch.name, origin, locator))
    return [finding for _, finding in sorted(found.values(), key=lambda pair: pair[0])]


def _graph_of(session: Any) -> tf.Graph:
    """The graph of a session, or of what holds one, such as a MonitoredSession."""
    graph = getattr(session, "graph", None)
    if not isinstance(graph, tf.Graph) or not hasattr(session, "run"):
        raise GraphMismatchError(
            f"session is {session!r:.80}; wanted an open tf.Session on the graph of fetches, its variables initialised"
        )
    return graph


def _leaves(fetches: Any) -> list[Any]:
    sparse = (tf.IndexedSlices, tf.SparseTensor)
    leaves = [leaf.values if isinstance(leaf, sparse) else leaf for leaf in _tensors.flatten(fetches)]
    if not leaves:
        raise ShapeError("fetches is empty; give at least one tensor, variable, op or name")
    return leaves


def _element(graph: tf.Graph, fetch: Any, index: int) -> tf.Tensor | tf.Operation:
    fetch = _tensors.unwrap(fetch)
    try:
        return graph.as_graph_element(fetch)
    except TypeError:
        raise DtypeError(
            f"fetches[{index}] is a {type(fetch).__name__}; wanted a tensor, variable, op or name"
        ) from None
    except (ValueError, KeyError) as error:
        raise GraphMismatchError(f"fetches[{index}] is not in the graph of the session: {error}") from None


def _origins(run: PrivateRun, fetch: tf.Tensor | tf.Operation, result: Any) -> list[Origin]:
    """Where what is not finite in one fetch began; where nothing began, what turned infinities into NaN."""
    root = run.instrumented.root
    if isinstance(fetch, tf.Operation):
        start = [p for op in run.acting(fetch) for p in root.inputs(op.name) if root.output(p).is_floating]
    elif not _tensors.is_floating(fetch) or np.isfinite(run.there.get(fetch.name, result)).all():
        return []
    else:
        start = [(fetch.op.name, fetch.value_index)]
    if result is not None and np.isfinite(result).all():
        return [Origin(root, fetch.op.name, Birth.ELSEWHERE, (fetch.op.name,), values=run.there[fetch.name])]
    trace = Trace(run, start)
    made = [o for o in trace.origins if o.birth is not Birth.CONSTANT]
    found = made or trace.turned or trace.origins
    if found or isinstance(fetch, tf.Operation):
        return found
    return [Origin(root, fetch.op.name, Birth.UNTRACED, (fetch.op.name,), values=result)]


def _finding(x: str, origin: Origin, locator: Locator) -> Finding:
    scope, name, sample = origin.scope, origin.node, origin.sample
    node = scope.nodes[name]
    op = locator.op(scope, name)
    forward = locator.forward(scope, name)
    seen = _seen(np.asarray(origin.values)) if sample is None else (sample.indices, sample.values, sample.count)
    half = any(output.dtype == tf.float16.as_datatype_enum for output in scope.outputs(name))
    shown = forward.op or (None if forward.name else op)
    return Finding(
        x,
        origin.birth,
        name if op is None else op.name,
        node.op,
        within=scope.within,
        where=None if op is None else _where.made_at(op),
        detail=_detail(origin, forward, seen),
        advice=advice(node.op, shown, half=half) if sample is not None else GIVEN_ADVICE.get(origin.birth, ""),
        forward=forward.name,
        iterations=sample.iterations if sample else (),
        indices=seen[0],
        values=seen[1],
        inputs=sample.inputs if sample else (),
        trail=lambda: origin.path,
    )


def _seen(values: np.ndarray) -> tuple[tuple, tuple, tuple[int, int]]:
    """Indices, values and count of what is not finite in an array."""
    bad = ~np.isfinite(values)
    indices = tuple(tuple(map(int, place)) for place in np.argwhere(bad)[:SHOWN])
    return indices, tuple(values[i].item() for i in indices), (int(bad.sum()), int(bad.size))


def _detail(origin: Origin, forward: Any, seen: tuple) -> str:
    """The numbers, the iteration and the forward op, in words."""
    indices, values, (count, size) = seen
    said = [f"{count} of {size} elements, {values[0]} at {list(indices[0])}"]
    if origin.sample is not None and origin.sample.inputs:
        said.append("from " + ", ".join(_input(v, len(indices)) for v in origin.sample.inputs))
    if origin.sample is not None and origin.sample.iterations:
        said.append("in " + ", ".join(f"iteration {n} of {loop!r}" for loop, n in origin.sample.iterations))
    if forward.name:
        made = f", made at {_where.made_at(forward.op)}" if forward.op is not None and forward.op.traceback else ""
        kind = f"{forward.op.type} " if forward.op is not None else ""
        said.append(f"in the gradient of {kind}{forward.name!r}{made}")
    return "; ".join(said)


def _input(values: tuple, count: int) -> str:
    return f"{values[0]:.6g}" if len(values) == count and values else f"{values}"
