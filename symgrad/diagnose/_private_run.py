"""One private run: the graph of the fetches, instrumented, fed with what the user's session holds and draws."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from .._op_types import V1_ENTRIES, VARIABLES, is_list, lives_one_run, writes_variable
from .._reach import reach
from ..errors import ControlFlowError, DtypeError, GraphMismatchError
from ._instrument import Instrumented

# Where a V1 loop or branch begins. The ops of a bare GraphDef do not know in which loop or branch they are.
# Stateful ops that the private session runs itself.
_OURS = frozenset({
    *VARIABLES, "Case", "CheckNumerics", "CheckNumericsV2", "If", "Placeholder", "ReadVariableOp", "ResourceGather",
    "ResourceGatherNd", "StatefulPartitionedCall", "VarIsInitializedOp", "While",
})  # fmt: skip


class PrivateRun:
    """What fetches are computed from, run once in a graph and a session of its own.

    What the private session cannot have is read from the user's session in one run, together with the fetches:
    variables, random numbers, elements of queues and datasets, entries of tables, results of Python functions. So all
    values are those of one step there, and nothing there is written.

    Attributes:
      instrumented: the graph that ran; its probes have recorded.
      given: values by tensor name of what was fed or read from the user's session.
      there: values of those fetches, by name, that the user's session could be asked for.
      results: the values of the fetches in the private run.
      variables: values by op name.
    """

    def __init__(self, fetches: Sequence[Any], session: Any, feed_dict: dict | None):
        self.graph = session.graph
        self.given = dict(_feeds(self.graph, feed_dict or {}))
        self._ops = self._ancestors(fetches)
        self._fed = self._wholly_given()
        reads = self._variable_reads()
        self.variables = _read(session, reads, feed_dict)
        tainted = self._tainted()
        outside = [t.name for op in self._outside(tainted) for t in op.outputs]
        results = [f.name for f in fetches if isinstance(f, tf.Tensor) and f.op not in tainted]
        values = _ask(session, outside, results, feed_dict)
        self.there = {name: values[name] for name in results if name in values}
        self.given.update((name, values[name]) for name in outside)
        self.instrumented = Instrumented(
            self._graph_def(),
            {name: self.graph.get_tensor_by_name(name).dtype.base_dtype.as_datatype_enum for name in self.given},
            self._wholly_given(),
            fed=self._fed,
        )
        self.results = self._run(fetches)

    def acting(self, op: tf.Operation) -> list[tf.Operation]:
        """What a fetched op does: the op itself, and every op before it that writes state."""
        return [o for o in self._ancestors([op]) if o is op or writes_variable(o.type)]

    def _ancestors(self, fetches: Iterable[Any]) -> dict[tf.Operation, None]:
        """The ops that fetches need, control dependencies included, as far as nothing is fed."""

        def needs(op: tf.Operation) -> list[tf.Operation]:
            fed = op.outputs and all(t.name in self.given for t in op.outputs)
            return [] if fed else [*(t.op for t in op.inputs), *op.control_inputs]

        return reach((f.op if isinstance(f, tf.Tensor) else f for f in fetches), needs)

    def _variable_reads(self) -> dict[str, tf.Tensor]:
        """For each variable (by op name) a tensor of the user's graph that reads it and does nothing else."""
        reads = {}
        for op in self._ops:
            if op.type == "VarHandleOp":
                reads[op.name] = _plain_read(op)
            elif op.type in VARIABLES and op.outputs[0].name not in self.given:
                reads[op.name] = op.outputs[0]
        return reads

    def _outside(self, tainted: set[tf.Operation]) -> list[tf.Operation]:
        """The ops whose outputs have to come from the user's session, as far as that changes nothing there."""
        foreign = {id(t) for op in self._ops if _is_foreign(op) for t in op.outputs}
        return [op for op in self._ops if op not in tainted and self._is_outside(op, foreign)]

    def _is_outside(self, op: tf.Operation, foreign: set[int]) -> bool:
        if not op.outputs or op.type in _OURS or _is_container(op) or any(map(_is_handle, op.outputs)):
            return False
        if op._get_control_flow_context() is not None or not all(map(self.graph.is_fetchable, op.outputs)):
            return False
        return _tf.is_stateful(op.type) or any(id(t) in foreign for t in op.inputs)

    def _tainted(self) -> set[tf.Operation]:
        """The ops that run only after something was written, or, where no context tells, perhaps inside of a loop."""
        consumers = defaultdict(list)
        for op in self._ops:
            for source in (*(t.op for t in op.inputs), *op.control_inputs):
                consumers[source].append(op)
        unknown = V1_ENTRIES if all(op._get_control_flow_context() is None for op in self._ops) else ()
        todo = [op for op in self._ops if writes_variable(op.type) or op.type in unknown]
        found = set(todo)
        while todo:
            fresh = [op for op in consumers[todo.pop()] if op not in found]
            found.update(fresh)
            todo += fresh
        return found

    def _wholly_given(self) -> set[str]:
        """The names of the ops all of whose outputs are given so far."""
        return {op.name for op in self._ops if op.outputs and all(t.name in self.given for t in op.outputs)}

    def _graph_def(self) -> Any:
        """The GraphDef of the ops that fetches need."""
        wanted = {op.name for op in self._ops}
        whole = self.graph.as_graph_def()
        part = tf.GraphDef(versions=whole.versions, library=whole.library)
        part.node.extend(node for node in whole.node if node.name in wanted)
        for node in part.node:
            if node.name in self._fed:
                del node.input[:]  # they are no part of the run
        return part

    def _run(self, fetches: Sequence[Any]) -> list[Any]:
        """The values of the fetches; None for an op."""
        config = tf.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(self.instrumented.graph_def, name="")
            values = {name: _placeholder(graph.get_operation_by_name(name)) for name in self.variables}
            assigned = [_assign(graph.get_operation_by_name(name), value) for name, value in values.items()]
            feeds = {f"{place}:0": self.given[ref] for ref, place in self.instrumented.placeholders.items()}
            with tf.Session(graph=graph, config=config) as session:
                session.run(assigned, {placeholder: self.variables[name] for name, placeholder in values.items()})
                return session.run([self._renamed(f) for f in fetches], feeds)

    def _renamed(self, fetch: Any) -> str:
        return self.instrumented.name_of(fetch.name) if isinstance(fetch, tf.Tensor) else fetch.name


def _feeds(graph: tf.Graph, feed_dict: dict) -> Iterator[tuple[str, Any]]:
    """(tensor name, array) of each feed."""
    if not isinstance(feed_dict, Mapping):
        raise DtypeError(f"feed_dict is a {type(feed_dict).__name__}; wanted a dict of tensors to what is fed for them")
    for key, value in _single(feed_dict):
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            raise GraphMismatchError(f"feed_dict: {key!r} is no tensor of the session's graph: {error}") from None
        yield tensor.name, _tensors.fed(tensor, value)


def _single(feed_dict: dict) -> Iterator[tuple[Any, Any]]:
    """The feeds, of a SparseTensor its three parts."""
    for key, value in feed_dict.items():
        if isinstance(key, tf.SparseTensor):
            yield from zip((key.indices, key.values, key.dense_shape), value, strict=False)
        else:
            yield key, value


def _plain_read(variable: tf.Operation) -> tf.Tensor:
    """A tensor that reads the variable and waits for nothing."""
    for op in variable.outputs[0].consumers():
        if op.type == "ReadVariableOp" and not op.control_inputs and variable.graph.is_fetchable(op.outputs[0]):
            return op.outputs[0]
    raise ControlFlowError(
        f"no op reads the variable {variable.name!r} by itself, so its value cannot be copied into a private run; "
        "build one before: variable.read_value() outside of control dependencies, loops and branches"
    )


def _read(session: Any, reads: dict[str, tf.Tensor], feed_dict: dict | None) -> dict[str, Any]:
    """The values of the variables; those that have none yet are left out."""
    try:
        return session.run(reads, feed_dict) if reads else {}
    except tf.errors.FailedPreconditionError:
        if len(reads) == 1:
            return {}
        return {name: value for one in reads.items() for name, value in _read(session, dict([one]), feed_dict).items()}


def _ask(session: Any, outside: list[str], results: list[str], feed_dict: dict | None) -> dict[str, Any]:
    """One run in the user's session; without the results if a check of the user's stops them."""
    wanted = {name: name for name in (*outside, *results)}
    try:
        return session.run(wanted, feed_dict) if wanted else {}
    except tf.errors.InvalidArgumentError:
        if not results:
            raise
        return _ask(session, outside, [], feed_dict)


def _is_handle(tensor: tf.Tensor) -> bool:
    return tensor.dtype in (tf.resource, tf.variant) or tensor.dtype._is_ref_dtype


def _is_container(op: tf.Operation) -> bool:
    return lives_one_run(op.type) or is_list(op.type)


def _is_foreign(op: tf.Operation) -> bool:
    """True for what makes a queue, table or dataset iterator: the private session has them, but empty."""
    if op.type in VARIABLES or _is_container(op) or op.inputs:
        return False
    return _tf.is_stateful(op.type) and any(map(_is_handle, op.outputs))


def _placeholder(variable: tf.Operation) -> tf.Tensor:
    return tf.placeholder(variable.get_attr("dtype"))


def _assign(variable: tf.Operation, value: tf.Tensor) -> tf.Operation:
    if variable.type == "VarHandleOp":
        return tf.raw_ops.AssignVariableOp(resource=variable.outputs[0], value=value)
    return tf.raw_ops.Assign(ref=variable.outputs[0], value=value, validate_shape=False).op
