"""The gradient graph as a networkx graph: build, query, weigh, compare, draw."""

from ._along import along
from ._attributes import attributes
from ._build import build
from ._cost import cost, critical_path
from ._diff import diff
from ._dot import to_dot
from ._export import to_graphml, to_json, to_pdf, to_png
from ._fold import fold
from ._functions import bodies, walk
from ._gradient_graph import gradient_graph
from ._html import show, to_html
from ._lint import lint
from ._measured import from_run_metadata
from ._overrides import watch_overrides
from ._plots import gradient_magnitudes, heatmap, rows_as_images, spy
from ._query import between
from ._summary import summary
from ._svg import to_svg
from ._tensorboard import to_tensorboard
from ._variables import regions, variables

__all__ = [
    "along",
    "attributes",
    "between",
    "bodies",
    "build",
    "cost",
    "critical_path",
    "diff",
    "fold",
    "from_run_metadata",
    "gradient_graph",
    "gradient_magnitudes",
    "heatmap",
    "lint",
    "regions",
    "rows_as_images",
    "show",
    "spy",
    "summary",
    "to_dot",
    "to_graphml",
    "to_html",
    "to_json",
    "to_pdf",
    "to_png",
    "to_svg",
    "to_tensorboard",
    "variables",
    "walk",
    "watch_overrides",
]
