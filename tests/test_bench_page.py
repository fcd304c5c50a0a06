"""The pages with measured figures say what the committed figures say."""

import json
import pathlib
import runpy

ROOT = pathlib.Path(__file__).parent.parent


def test_the_page_is_made_from_the_figures():
    page = runpy.run_path(str(ROOT / "scripts" / "bench_page.py"))
    assert page["PAGE"].read_text() == page["render"](json.loads(page["FIGURES"].read_text()))


def test_the_table_of_clusters_is_made_from_its_figures():
    made = runpy.run_path(str(ROOT / "benchmarks" / "cluster.py"))
    page = made["PAGE"].read_text()
    assert "| 4 |" in page
    assert made["with_table"](page, json.loads(made["FIGURES"].read_text())) == page
