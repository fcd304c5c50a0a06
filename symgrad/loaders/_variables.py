"""The variables of an imported graph: from its collections, or from the ops where no collection was stored."""

from typing import Any

from .._op_types import REFERENCE_VARIABLES, VARIABLES


def variables_of(graph: Any) -> list[Any]:
    """Every variable of `graph`, in the order of creation.

    Args:
      graph: a `tf.Graph` just imported.

    Returns:
      The collected variables (global and local), and a new variable object for each variable op that no collection
      names and that has an initialiser in the graph (a bare GraphDef), or that a checkpoint restores (a SavedModel of
      TensorFlow 2, where functions read it by its handle).
    """
    import tensorflow.compat.v1 as tf

    from .._tf import ResourceVariable

    found = {}
    for key in (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.LOCAL_VARIABLES):
        found.update({_op_name(variable): variable for variable in graph.get_collection(key)})
    result = []
    for op in graph.get_operations():
        if op.name in found:
            result.append(found.pop(op.name))
        elif op.type in VARIABLES:
            definition = _definition(op)
            if definition is not None:
                with graph.as_default():
                    kind = ResourceVariable if definition.is_resource else tf.Variable
                    result.append(kind.from_proto(definition))
            elif op.type == "VarHandleOp" and _is_kept(op):
                result.append(_without_initialiser(op))
    return result + list(found.values())


def _is_kept(op: Any) -> bool:
    """True for the handle of a variable that has a name by which functions and checkpoints find it."""
    from .._tf import anonymous_name

    return op.get_attr("shared_name") not in (b"", anonymous_name().encode()) and bool(op.outputs[0].consumers())


def _without_initialiser(op: Any) -> Any:
    """The variable behind a handle that only a checkpoint gives a value, as TensorFlow 2 stores it."""
    import tensorflow.compat.v1 as tf

    from .._tf import BaseResourceVariable

    dtype, shape = tf.as_dtype(op.get_attr("dtype")), tf.TensorShape(op.get_attr("shape"))
    handle = op.outputs[0]
    with op.graph.as_default(), tf.control_dependencies(None):
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype, name=f"{op.name}/Read/ReadVariableOp")
        read.set_shape(shape)
        return BaseResourceVariable(
            trainable=dtype.is_floating or dtype.is_complex,
            shape=shape,
            dtype=dtype,
            handle=handle,
            name=op.name,
            handle_name=op.name,
            unique_id=op.name,
            graph_element=read,
            in_graph_mode=True,
        )


def _op_name(variable: Any) -> str:
    """The variable's own op; a partitioned variable is no single op and keeps its name."""
    return variable.op.name if hasattr(variable, "op") else variable.name


def _definition(op: Any) -> Any:
    """A VariableDef from the ops around a variable op: its initial Assign and its first read."""
    import tensorflow.compat.v1 as tf

    from .._tf import VariableDef

    reference = op.type in REFERENCE_VARIABLES
    assign_type, read_type = ("Assign", "Identity") if reference else ("AssignVariableOp", "ReadVariableOp")
    consumers = op.outputs[0].consumers()
    assigns = [c for c in consumers if c.type == assign_type and c.inputs[0] is op.outputs[0]]
    assigns = [c for c in assigns if c.inputs[1].op.type not in ("RestoreV2", "Restore")]
    reads = [c for c in consumers if c.type == read_type]
    if not assigns or not (reads or reference):
        return None
    assigns.sort(key=lambda c: c.name != f"{op.name}/Assign")  # a later tf.assign is not the initialiser
    dtype = tf.as_dtype(op.get_attr("dtype"))
    return VariableDef(
        variable_name=op.outputs[0].name,
        initializer_name=assigns[0].name,
        initial_value_name=assigns[0].inputs[1].name,
        snapshot_name=(reads or [op])[0].outputs[0].name,
        is_resource=not reference,
        trainable=dtype.is_floating or dtype.is_complex,
    )
