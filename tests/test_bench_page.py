"""The page of measured costs says what the committed figures say."""

import json
import pathlib
import runpy

ROOT = pathlib.Path(__file__).parent.parent


def test_the_page_is_made_from_the_figures():
    page = runpy.run_path(str(ROOT / "scripts" / "bench_page.py"))
    assert page["PAGE"].read_text() == page["render"](json.loads(page["FIGURES"].read_text()))
