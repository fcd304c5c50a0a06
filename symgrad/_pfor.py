"""TensorFlow's vectoriser, strictly: what it cannot convert is an error and not a loop inside."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf


def strict_pfor(function: Callable, count: Any, *, in_frames: bool = False) -> list:
    """The results of `function(j)` for j below `count`, stacked; ValueError if some op does not convert.

    Loops and branches that the vectoriser makes are those of V2, whatever is on for the process, but for V1 loops
    (`in_frames`), where the caller says: of V1 branches it expects a list where `tf.cond` gives a tensor.
    """
    control_flow = contextlib.nullcontext() if in_frames else _v2_control_flow()
    # AutoGraph has nothing to convert in functions that build ops, and takes its time.
    function = tf.autograph.experimental.do_not_convert(function)
    with _without_dumps(), control_flow:
        return _tf.pfor(function, count, fallback_to_while_loop=False)


@contextlib.contextmanager
def _v2_control_flow() -> Iterator[None]:
    switch = not tf.control_flow_v2_enabled()
    if switch:
        tf.enable_control_flow_v2()
    try:
        yield
    finally:
        if switch:
            tf.disable_control_flow_v2()


@contextlib.contextmanager
def _without_dumps() -> Iterator[None]:
    """Keep pfor from printing the whole op and its history before it raises."""
    logger = logging.getLogger("tensorflow")

    def other(record):
        return record.filename != "pfor.py"

    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def reason(error: Exception) -> str:
    """The first line of what the vectoriser says; the kind of the error if it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
