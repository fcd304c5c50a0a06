"""`symgrad.graph.show` in a notebook that is executed."""

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


def test_a_cell_displays_the_picture(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    (output,) = [each for each in notebook.cells[0].outputs if each.output_type == "execute_result"]
    html = output.data["text/html"]
    assert html.startswith("<iframe srcdoc=")
    assert "height: 300px" in html
    assert "symgradViewer" in html
