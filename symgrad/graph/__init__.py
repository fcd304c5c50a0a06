"""The gradient graph as a networkx graph: build, query, draw."""

from ._build import build
from ._query import between
from ._svg import to_svg

__all__ = ["between", "build", "to_svg"]
