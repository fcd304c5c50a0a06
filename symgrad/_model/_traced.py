"""The graph of what holds one or makes one when it is traced: functions of TensorFlow 2, Keras models."""

from typing import Any

from ..errors import LoadError


def graph_of(source: Any) -> Any:
    """The `tf.Graph` of a concrete function, a `tf.function` or a Keras model; None for everything else.

    Raises:
      LoadError: it does not say for which inputs it is to be traced.
    """
    import tensorflow.compat.v1 as tf

    if callable(source) and isinstance(getattr(source, "graph", None), tf.Graph):
        return source.graph
    if hasattr(source, "get_concrete_function"):
        return _of_function(source)
    if callable(source) and hasattr(source, "get_weights"):
        return _of_model(source)
    return None


def _of_function(function: Any) -> Any:
    try:
        return function.get_concrete_function().graph
    except (TypeError, ValueError) as error:
        raise LoadError(
            f"{function!r:.80} does not say for which inputs it is to be traced; give "
            "f.get_concrete_function(tf.TensorSpec(shape, dtype), ...).graph, or an input_signature to tf.function"
        ) from error


def _of_model(model: Any) -> Any:
    import tensorflow.compat.v1 as tf

    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise LoadError(
            f"the model {model!r:.80} does not know its inputs yet; call it once on data, or give "
            "tf.function(model).get_concrete_function(tf.TensorSpec(shape, dtype)).graph"
        )
    inputs = list(inputs)
    if isinstance(getattr(inputs[0], "graph", None), tf.Graph):  # it was made in a graph
        return inputs[0].graph
    specs = [tf.TensorSpec(tuple(t.shape), t.dtype) for t in inputs]
    call = tf.function(lambda *given: model(given[0] if len(given) == 1 else list(given)), autograph=False)
    return call.get_concrete_function(*specs).graph
