"""`symgrad.graph.show` and plots in a notebook that is executed, without pyplot."""

import base64
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent

CELL = """
import networkx as nx
from symgrad.graph import show
show(nx.MultiDiGraph([("a", "b")]), height=300)
"""
PLOT = """
from symgrad.graph import heatmap
heatmap([[1.0, 0.0], [0.0, 1.0]])
"""


def test_a_cell_displays_the_picture(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (CELL, PLOT)])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    (output,), (plot,) = (
        [each for each in cell.outputs if each.output_type == "execute_result"] for cell in notebook.cells
    )
    assert base64.b64decode(plot.data["image/png"]).startswith(b"\x89PNG")
    html = output.data["text/html"]
    assert html.startswith("<iframe srcdoc=")
    assert "height: 300px" in html
    assert "symgradViewer" in html
