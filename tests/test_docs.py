"""Every Python block of the README and of the documentation runs as it stands.

The blocks of a page share one namespace and run in order, in a scratch folder, as a reader would type them in.
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
BLOCK = re.compile(r"^```python[ \t]*(?P<info>[^\n]*)\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def python_blocks(page):
    """(line number, code) of each block that is to run; a block marked `notest` is not."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if "notest" not in match["info"].split():
            yield text.count("\n", 0, match.start("code")), match["code"]


def written():
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if "_build" not in page.parts]


def pages():
    return [page for page in written() if any(python_blocks(page))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    try:
        for line, code in python_blocks(page):
            # Blank lines in front make a traceback name the line of the page.
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
    finally:
        namespace.clear()  # a graph that a page has entered is left now, not when garbage is collected in another test


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_top_pages_lead_somewhere(name):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", written(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_reads_well_where_nobody_builds_it(page):
    """Every link has a text, no role of Sphinx stands in a sentence, and links within the project lead somewhere."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"(?<!!)\[\]\(|\{(?:doc|ref|any)\}`", text)
    targets = re.findall(r"\]\(((?!https?:|#|mailto:)[^)#\s]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_index_lists_every_page_once():
    listed = re.findall(r"^([a-z][\w/-]*)$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    written = [str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(page for page in written if page != "index" and not page.startswith("_build"))
