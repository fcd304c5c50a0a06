"""The gradient graph as a networkx graph: build, query, draw."""

from ._attributes import attributes
from ._build import build
from ._dot import to_dot
from ._fold import fold
from ._gradient_graph import gradient_graph
from ._html import show, to_html
from ._query import between
from ._summary import summary
from ._svg import to_svg

__all__ = ["attributes", "between", "build", "fold", "gradient_graph", "show", "summary", "to_dot", "to_html", "to_svg"]
