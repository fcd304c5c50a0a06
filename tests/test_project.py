"""The project's own promises: lazy imports, one version, a stub that agrees with the module."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

import symgrad

pytestmark = pytest.mark.core

ROOT = pathlib.Path(__file__).parent.parent
HEAVY = ("tensorflow", "networkx", "scipy", "matplotlib", "sklearn")


def in_a_fresh_process(code):
    """The standard output of Python code run by itself."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def heavy_modules_after(code):
    """Which of the heavy libraries a fresh process has loaded after it ran `code`."""
    report = f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    return ast.literal_eval(in_a_fresh_process(code + report).splitlines()[-1])


def test_import_loads_no_tensorflow():
    assert heavy_modules_after("import symgrad; dir(symgrad); symgrad.__version__; symgrad.errors") == []


def test_the_graph_package_loads_no_tensorflow():
    assert heavy_modules_after("import symgrad.graph") == []


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_command_line_answers_without_tensorflow(option):
    code = f"""
import symgrad.cli
try:
    symgrad.cli.main([{option!r}])
except SystemExit as end:
    assert not end.code, end.code
"""
    assert heavy_modules_after(code) == []


def test_a_name_loads_tensorflow_when_it_is_used():
    assert "tensorflow" in heavy_modules_after("import symgrad; symgrad.operators; import tensorflow")


@pytest.mark.parametrize("name", symgrad.__all__)
def test_public_name_exists(name):
    assert getattr(symgrad, name) is not None
    assert name in dir(symgrad)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Pop'"):
        symgrad.Pop  # noqa: B018


def test_stub_lists_the_names_of_the_module():
    tree = ast.parse((ROOT / "symgrad" / "__init__.pyi").read_text())
    imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    annotated = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert imported | annotated - {"__all__"} == set(symgrad.__all__)


def test_makefile_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE).group(1).split()
    described = re.findall(r"^([a-z0-9-]+):.*## ", makefile, re.MULTILINE)
    assert sorted(phony) == sorted(described)


def test_the_map_of_the_house_leads_somewhere():
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    places = [place for row in rows for cell in row for place in re.findall(r"`((?:symgrad|tests)/[\w/.]+)`", cell)]
    assert len(places) > 30
    assert [place for place in places if not (ROOT / place).exists()] == []
    rooms = {path.name for path in (ROOT / "symgrad").iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms - {place.split("/")[1] for place in places if place.startswith("symgrad/")} <= {"graph", "testing"}


def test_no_folder_is_crowded():
    folders = [path for path in (ROOT / "symgrad").rglob("*") if path.is_dir() and (path / "__init__.py").exists()]
    assert {str(folder): n for folder in folders if (n := len(list(folder.glob("*.py"))) - 1) > 20} == {}
