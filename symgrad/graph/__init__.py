"""The gradient graph as a networkx graph: build, query, weigh, compare, draw."""

from .._model._along import along
from .._model._attributes import attributes
from .._model._build import build
from .._model._diff import diff
from .._model._fold import fold
from .._model._functions import bodies, walk
from .._model._lint import Lint, lint
from .._model._overrides import watch_overrides
from .._model._query import between
from .._model._summary import summary
from .._model._variables import regions, variables
from .._picture._dot import to_dot
from .._picture._export import to_graphml, to_json, to_pdf, to_png
from .._picture._html import show, to_html
from .._picture._svg import to_svg
from .._picture._tensorboard import to_tensorboard
from .._plots import gradient_magnitudes, heatmap, rows_as_images, spy
from .._weigh._cost import cost
from .._weigh._critical_path import critical_path
from .._weigh._measured import from_run_metadata
from ._gradient_graph import gradient_graph

__all__ = [
    "Lint",
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
