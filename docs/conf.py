"""Sphinx configuration; `make docs` builds with warnings as errors."""

import os
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import latex2mathml.converter
from docutils import nodes

import symgrad

project = "symgrad"
author = "The symgrad authors"
copyright = "The symgrad authors, Apache-2.0"
version = release = symgrad.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# A word in single backticks is code, as in Markdown.
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Reference", "notes_style")]

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"symgrad {version}"


def escape_formulas(app, what, name, obj, options, lines):
    """Docstrings are plain text with formulas (|x|, v*, x_): keep reStructuredText from reading markup into them."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            pieces = line.split("`")
            pieces[::2] = [re.sub(r"(\||\*(?=\S)|(?<=\w)_(?!\w))", r"\\\1", piece) for piece in pieces[::2]]
            lines[i] = "`".join(pieces)


def write_inline_formula(translator, node):
    """MathML, which browsers draw by themselves: the pages need no script and no network."""
    translator.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def write_formula(translator, node):
    """A formula on lines of its own."""
    translator.body.append(f"<div>{latex2mathml.converter.convert(node.astext(), display='block')}</div>")
    raise nodes.SkipNode


def setup(app):
    """Formulas are escaped before napoleon, which has the default priority, reads the docstring."""
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)
    app.add_html_math_renderer("mathml", (write_inline_formula, None), (write_formula, None))
