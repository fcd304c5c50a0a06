"""The viewer's own tests, by Node's test runner, and the rules that let its modules become one script."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from viewer.picture_fixture import fixture

from symgrad._picture._html import bundle

HERE = Path(__file__).parent
VIEWER = HERE.parent.parent / "symgrad" / "graph" / "viewer"
NODE = shutil.which("node")
REQUIRED = bool(os.environ.get("SYMGRAD_NEEDS_BROWSER"))

needs_node = pytest.mark.skipif(NODE is None and not REQUIRED, reason="needs node: apt-get install nodejs")


@needs_node
def test_node_finds_no_fault(tmp_path):
    """Placement and lines agree with Python's; addresses, search, paths, views and colours do what they should."""
    (tmp_path / "fixture.json").write_text(json.dumps(fixture()))
    tests = sorted(map(str, HERE.glob("*.test.mjs")))
    assert tests
    run = subprocess.run(
        [NODE, "--test", *tests],
        env={**os.environ, "SYMGRAD_FIXTURE": str(tmp_path / "fixture.json")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    passed = int(re.search(r"^(?:#|ℹ) pass (\d+)", run.stdout, re.MULTILINE).group(1))
    assert passed >= 25


@needs_node
def test_the_bundle_is_a_module_without_imports(tmp_path):
    """A name that two modules declare would be a syntax error in the bundle."""
    script = bundle()
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    (tmp_path / "bundle.mjs").write_text(script)
    subprocess.run([NODE, "--check", str(tmp_path / "bundle.mjs")], check=True)


def test_every_module_is_in_the_bundle():
    script = bundle()
    for module in VIEWER.glob("*.mjs"):
        first = next(line for line in module.read_text().splitlines() if line.startswith("//"))
        assert first in script, module.name


def test_text_from_the_graph_never_becomes_markup():
    """The viewer has none of the ways in which text turns into elements or code."""
    script = bundle()
    ways = (
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser",
        "createContextualFragment", ".href", ".src", 'setAttribute("on',
    )  # fmt: skip
    for way in ways:
        assert way not in script, way
