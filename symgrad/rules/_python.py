"""The rule of tf.py_function.

TensorFlow keeps the tape of the function's run and lets its gradient read it, once: a second gradient in the same run
of a session finds none, and the gradient is given the incoming gradient alone, so that its own derivative does not see
what the function was given: a second derivative is zero without a word. Here the gradient is a function of both: it
runs the function again under a tape, and is differentiated like any other tf.py_function.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from .. import _tensors, _tf
from ..errors import MissingRuleError
from ._registry import transpose

# What a function gives twice for the same arguments agrees to rounding, or it draws or keeps something.
_TOLERANCE = 1e-4


@transpose("EagerPyFunc", corrects=True)
def _of_py_function(op, *cotangents):
    function = _function_of(op)
    moving = [i for i, t in enumerate(op.inputs) if _tensors.is_floating(t)]
    driven = [
        k
        for k, (y, u) in enumerate(zip(op.outputs, cotangents, strict=True))
        if u is not None and _tensors.is_floating(y)
    ]
    if not moving or not driven:
        return [None] * len(op.inputs)

    def pulled(*arrays):
        arguments, given = arrays[: len(op.inputs)], arrays[len(op.inputs) :]
        outputs, vectors = given[: len(driven)], given[len(driven) :]
        with tf.compat.v2.GradientTape() as tape:
            tape.watch([arguments[i] for i in moving])
            found = function(*arguments)
            found = list(found) if isinstance(found, list | tuple) else [found]
            found = [tf.convert_to_tensor(found[k], op.outputs[k].dtype) for k in driven]
        _require_same(op.name, found, outputs)
        gradients = tape.gradient(found, [arguments[i] for i in moving], vectors)
        if all(g is None for g in gradients):
            raise ValueError(
                f"no derivative comes out of the function of EagerPyFunc {op.name!r}: what it gives is not computed "
                "from its arguments by TensorFlow ops. Give it a gradient with tf.custom_gradient, or put "
                "tf.stop_gradient behind it"
            )
        dense = (None if g is None else tf.convert_to_tensor(g) for g in gradients)
        return [tf.zeros_like(arguments[i]) if g is None else g for i, g in zip(moving, dense, strict=True)]

    reads = [*op.inputs, *(op.outputs[k] for k in driven), *(cotangents[k] for k in driven)]
    found = tf.py_function(pulled, reads, [op.inputs[i].dtype.base_dtype for i in moving], name="py_function_gradient")
    result: list[tf.Tensor | None] = [None] * len(op.inputs)
    for i, gradient in zip(moving, found, strict=True):
        gradient.set_shape(op.inputs[i].shape)
        result[i] = gradient
    return result


def _function_of(op):
    function, is_gradient = _tf.python_function(op)
    if function is None:
        raise MissingRuleError(
            f"EagerPyFunc {op.name!r} calls a Python function that this process does not have; build it here, or wrap "
            "its result in tf.stop_gradient"
        )
    if is_gradient:
        raise MissingRuleError(
            f"EagerPyFunc {op.name!r} is TensorFlow's gradient of a tf.py_function, which is not given what that "
            "function was given and so has no derivative; take the gradient with symgrad.Lop, or both with symgrad.hvp"
        )
    return function


def _require_same(name, again, before):
    for a, b in zip(again, before, strict=True):
        first, second = np.asarray(a), np.asarray(b)
        if not np.allclose(first, second, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            raise ValueError(
                f"the function of EagerPyFunc {name!r} gives other values when it runs again, so its derivative is not "
                "that of the values that there are. Draw random numbers, and read what changes, outside of it"
            )
