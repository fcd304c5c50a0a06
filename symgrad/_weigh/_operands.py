"""The shapes and attributes of one op, as the formula of its operations asks for them."""

from collections.abc import Callable
from typing import Any

Shape = tuple[int, ...]


class UnknownShape(LookupError):
    """A formula needs a shape that is not known."""


class Operands:
    """The shapes and attributes of one op, as its formula asks for them."""

    __slots__ = ("attribute", "inputs", "outputs")

    def __init__(self, inputs: list, outputs: list, attribute: Callable[[str], Any]):
        self.inputs, self.outputs, self.attribute = inputs, outputs, attribute

    def input(self, index: int) -> Shape:
        return _known(self.inputs, index)

    def output(self, index: int = 0) -> Shape:
        return _known(self.outputs, index)


def _known(shapes: list, index: int) -> Shape:
    shape = shapes[index] if index < len(shapes) else None
    if shape is None or None in shape:
        raise UnknownShape
    return shape
