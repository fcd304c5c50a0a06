"""Sphinx configuration; `make docs` builds with warnings as errors."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import symgrad

project = "symgrad"
author = "The symgrad authors"
copyright = "The symgrad authors, Apache-2.0"
version = release = symgrad.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Reference", "notes_style")]

html_theme = "furo"
html_title = f"symgrad {version}"
