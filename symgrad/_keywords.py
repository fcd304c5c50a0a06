"""The decorator of public operators: what they are called with elsewhere gets an error that says the word used here."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import tensorflow.compat.v1 as tf

F = TypeVar("F", bound=Callable[..., Any])

# Keywords of Theano's and PyTensor's grad, Lop, Rop, jacobian and hessian, and of tf.GradientTape, with ours.
_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "wrt": ("xs",),
    "sources": ("xs",),
    "f": ("ys", "y"),
    "cost": ("y", "ys"),
    "expression": ("ys",),
    "target": ("ys", "y"),
    "eval_points": ("tangents", "grad_ys", "vectors"),
    "output_gradients": ("grad_ys",),
    "known_grads": ("grad_ys",),
    "consider_constant": ("stop_gradients",),
    "disconnected_inputs": ("disconnected",),
    "disconnected_outputs": ("disconnected",),
    "return_disconnected": ("disconnected",),
    "unconnected_gradients": ("disconnected",),
    "parallel_iterations": ("block_size",),
    "experimental_use_pfor": ("block_size",),
}


def operator(function: F) -> F:
    """An operator that AutoGraph leaves as it is, and that knows what its arguments are called elsewhere."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name in _ELSEWHERE and name not in known:
                raise TypeError(_said(function.__name__, name, [ours for ours in _ELSEWHERE[name] if ours in known]))
        return function(*args, **kwargs)

    return tf.autograph.experimental.do_not_convert(called)


def _said(function: str, name: str, ours: list[str]) -> str:
    if ours:
        return f"{function}() has no argument {name!r}; it is called {ours[0]!r} here"
    return f"{function}() has no argument {name!r}, and none that does the same"
