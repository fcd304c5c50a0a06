"""What a loaded file is: its graph, its inputs and outputs, its variables, and how their values come back."""

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._files import GraphFile
from .._op_types import VARIABLES
from ..errors import LoadError

# How many names and rows are shown.
_SHOWN, _ROWS = 4, 40


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A model file, imported into a graph of its own.

    Attributes:
      graph: the `tf.Graph`.
      graph_def: the GraphDef as it was stored.
      inputs: tensors by name: those of the signature, or every placeholder by its op's name.
      outputs: tensors by name: those of the signature, or every tensor that nobody consumes by its op's name.
      variables: the variables, each of the kind (reference or resource) that the graph holds.
      file: kind, path and MetaGraph of the file.

    Example:
      >>> import symgrad
      >>> import tensorflow.compat.v1 as tf
      >>> with tf.Graph().as_default():
      ...     x = tf.placeholder(tf.float32, [None, 2], name="x")
      ...     y = tf.identity(3.0 * x, name="y")
      ...     _ = tf.train.write_graph(x.graph, ".", "model.pb", as_text=False)
      >>> model = symgrad.loaders.load("model.pb")
      >>> sorted(model.inputs), sorted(model.outputs)
      (['x'], ['y'])
    """

    graph: Any
    graph_def: Any
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    variables: list[Any]
    file: GraphFile

    def __repr__(self) -> str:
        ends = f"inputs {_listed(self.inputs)}; outputs {_listed(self.outputs)}; {len(self.variables):,} variables"
        return f"<Model of {self.file.label}: {len(self.graph_def.node):,} ops; {ends}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: inputs, outputs and variables with dtype and shape."""
        rows = [("input", name, t) for name, t in self.inputs.items()]
        rows += [("output", name, t) for name, t in self.outputs.items()]
        rows += [("variable", variable.name, variable) for variable in self.variables]
        more = f"<p>and {len(rows) - _ROWS:,} more</p>" if len(rows) > _ROWS else ""
        lines = [
            f"<tr><td>{kind}</td><td>{html.escape(name)}</td><td>{t.dtype.base_dtype.name}</td><td>{t.shape}</td></tr>"
            for kind, name, t in rows[:_ROWS]
        ]
        head = f"<p><b>{html.escape(self.file.label)}</b>: {len(self.graph_def.node):,} ops</p>"
        return f"{head}<table>{''.join(lines)}</table>{more}"

    def restore(self, session: Any, checkpoint: str | None = None) -> None:
        """Give the variables the values they were saved with.

        Args:
          session: a `tf.Session` on `graph`.
          checkpoint: prefix of a checkpoint; None takes the one that lies beside the file.

        Raises:
          LoadError: there is no checkpoint, or it does not fit the graph.
        """
        import tensorflow.compat.v1 as tf

        if session.graph is not self.graph:
            raise LoadError("the session belongs to another graph; open it as tf.Session(graph=model.graph)")
        prefix = checkpoint or self.file.checkpoint
        if prefix is not None and tf.train.checkpoint_exists(prefix):
            self._restore_values(session, prefix)
        elif self.variables or checkpoint or self._handles():
            raise LoadError(_no_checkpoint(self.file, prefix, len(self.variables) or self._handles()))
        self._initialize_tables(session)

    def _handles(self) -> int:
        """How many variables the graph holds, those too for which no variable object could be made."""
        return sum(op.type in VARIABLES for op in self.graph.get_operations())

    def _restore_values(self, session: Any, prefix: str) -> None:
        import tensorflow.compat.v1 as tf

        meta = self.file.meta_graph
        try:
            with self.graph.as_default():
                if meta is not None and meta.HasField("saver_def"):
                    saver = tf.train.Saver(saver_def=meta.saver_def)
                elif self.variables:
                    saver = tf.train.Saver(self.variables)
                else:
                    return
                saver.restore(session, prefix)
        except (tf.errors.OpError, ValueError, KeyError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise LoadError(f"checkpoint {prefix} does not fit the graph of {self.file.label}: {reason}") from error

    def _initialize_tables(self, session: Any) -> None:
        """Run the init op that a SavedModel names, its asset files fed by path."""
        from .._tf import get_asset_tensors, get_init_op

        meta, directory = self.file.meta_graph, self.file.directory
        if directory is None:
            return
        with self.graph.as_default():
            init = get_init_op(meta)
        if init is not None:
            assets = get_asset_tensors(str(directory), meta)
            for name in assets:
                self._check_asset(name)
            self._run_init(session, init, assets)

    def _check_asset(self, name: str) -> None:
        try:
            self.graph.get_tensor_by_name(name)
        except (ValueError, KeyError, TypeError) as error:
            raise LoadError(f"{self.file.label}: an asset of it names a tensor that is not there: {error}") from error

    def _run_init(self, session: Any, init: Any, feeds: dict[str, Any]) -> None:
        import tensorflow.compat.v1 as tf

        try:
            session.run(init, feeds)
        except tf.errors.OpError as error:
            reason = str(error).splitlines()[0]
            raise LoadError(f"{self.file.label}: its initialising op {init.name!r} fails: {reason}") from error


def _no_checkpoint(file: GraphFile, prefix: str | None, count: int) -> str:
    if prefix is None:
        return (
            f"{file.label}: a bare {file.kind} names no checkpoint, and the graph has {count} variables; "
            "give one: model.restore(session, checkpoint=prefix), on the command line --checkpoint PREFIX"
        )
    return f"no checkpoint at {prefix} (.index and .data files) for the {count} variables of {file.label}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more
