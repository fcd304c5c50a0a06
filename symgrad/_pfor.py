"""TensorFlow's vectoriser, strictly: what it cannot convert is an error and not a loop inside."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from . import _tf


def strict_pfor(function: Callable, count: Any) -> list:
    """The results of `function(j)` for j below `count`, stacked; ValueError if some op does not convert."""
    with _without_dumps():  # AutoGraph has nothing to convert in functions that build ops, and takes its time
        return _tf.pfor(tf.autograph.experimental.do_not_convert(function), count, fallback_to_while_loop=False)


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
    """The first line of what the vectoriser says."""
    return str(error).strip().splitlines()[0]
