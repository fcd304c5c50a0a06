"""How much memory a Jacobian may take."""

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass, replace

import tensorflow.compat.v1 as tf

from ..errors import ShapeError

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Bytes allowed.

    Attributes:
      block_bytes: for what depends on the seeds of one vectorised block and is alive at once, by static shapes.
      result_bytes: for one result whose shape is known while building.
    """

    block_bytes: int = 32 * MIB
    result_bytes: int = 4096 * MIB


_current: contextvars.ContextVar[Limits] = contextvars.ContextVar("symgrad limits", default=Limits())  # noqa: B039 (frozen)


def current() -> Limits:
    """The limits that hold here."""
    return _current.get()


@contextlib.contextmanager
def limits(*, block_bytes: int | None = None, result_bytes: int | None = None) -> Iterator[None]:
    """Within the block, Jacobians and Hessians are built for other limits of memory.

    Args:
      block_bytes: bytes of seed-dependent tensors in one vectorised block, from which `block_size=None` follows;
        32 MiB by default.
      result_bytes: bytes above which a result of known shape is refused while building; 4096 MiB by default.

    Example:
      >>> x = tf.ones([1000])
      >>> with symgrad.operators.limits(block_bytes=2**20):
      ...     J = symgrad.jacobian(tf.sin(x), x)
      >>> J.shape.as_list()
      [1000, 1000]
    """
    changes = {"block_bytes": block_bytes, "result_bytes": result_bytes}
    for name, value in changes.items():
        if value is not None and value < 1:
            raise ValueError(f"{name}={value!r}; wanted a number of bytes, at least 1, or None to keep what holds")
    token = _current.set(replace(current(), **{name: int(v) for name, v in changes.items() if v is not None}))
    try:
        yield
    finally:
        _current.reset(token)


def check_result(static: tf.TensorShape, dtype: tf.DType, what: str) -> None:
    """Raise ShapeError if a result of this shape is larger than allowed; an unknown shape passes."""
    elements = static.num_elements()
    allowed = current().result_bytes
    if elements is not None and elements * dtype.size > allowed:
        raise ShapeError(
            f"{what} has shape {static.as_list()}, {elements * dtype.size / MIB:,.0f} MiB of {dtype.name}; "
            f"the limit is {allowed / MIB:,.0f} MiB. Take it in blocks with symgrad.jacobian_blocks, take products "
            "with symgrad.Lop, symgrad.Rop or symgrad.hvp, or raise the limit with symgrad.operators.limits"
        )
