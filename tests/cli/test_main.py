"""The command line's frame: help, version, one line and the right exit code for every error."""

import os
import pathlib
import subprocess
import sys

import pytest
import typer

import symgrad
from symgrad.cli import _app, _main, main

ROOT = pathlib.Path(__file__).parent.parent.parent


def exit_code_of(arguments):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code or 0


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_every_command(arguments, capsys):
    assert exit_code_of(arguments) == 0
    out = capsys.readouterr().out
    for command in _app.COMMANDS:
        assert command.__name__.strip("_") in out


@pytest.mark.parametrize("command", _app.COMMANDS, ids=lambda command: command.__name__)
def test_every_command_has_a_section_in_the_documentation(command):
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert f"\n## `symgrad {command.__name__.strip('_')}`\n" in page


def test_version(capsys):
    assert exit_code_of(["--version"]) == 0
    assert capsys.readouterr().out == f"symgrad {symgrad.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--colour"], "No such option"), (["differentiate"], "No such command 'differentiate'")]
)
def test_wrong_command_line_is_one_line_and_exit_code_2(arguments, said, capsys):
    assert exit_code_of(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("symgrad: ")
    assert said in captured.err


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (symgrad.errors.LoadError("x.pb: not a graph\n  but a zip file"), "x.pb: not a graph but a zip file", 1),
        (FileNotFoundError(2, "No such file", "x.pb"), "x.pb: No such file", 1),
        (OSError("disk full"), "disk full", 1),
        (symgrad.errors.ShapeError(), "ShapeError", 1),
        (typer.Abort(), "interrupted", 130),
    ],
)
def test_an_error_is_one_line_and_a_code(error, line, code, monkeypatch, capsys):
    def raise_it(**_):
        raise error

    monkeypatch.setattr(_main, "app", raise_it)
    assert exit_code_of(["anything"]) == code
    assert capsys.readouterr().err == f"symgrad: {line}\n"


def test_a_bug_keeps_its_traceback(monkeypatch):
    def raise_it(**_):
        raise ZeroDivisionError

    monkeypatch.setattr(_main, "app", raise_it)
    with pytest.raises(ZeroDivisionError):
        main(["anything"])


def test_python_m_symgrad():
    command = [sys.executable, "-m", "symgrad", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == f"symgrad {symgrad.__version__}\n"


def test_notes_of_native_code_are_held_back_unless_something_breaks(monkeypatch, capfd):
    def write_note_then(error):
        def app(**_):
            os.write(2, b"a note of native code\n")
            print("for the user", file=sys.stderr)
            raise error

        return app

    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    monkeypatch.setattr(_main, "app", write_note_then(symgrad.errors.LoadError("bad file")))
    assert exit_code_of(["anything"]) == 1
    assert capfd.readouterr().err == "for the user\nsymgrad: bad file\n"
    monkeypatch.setattr(_main, "app", write_note_then(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["anything"])
    assert capfd.readouterr().err == "for the user\na note of native code\n"
    assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ


def test_native_notes_are_shown_to_who_asks_for_them(monkeypatch, capfd):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setattr(_main, "app", lambda **_: os.write(2, b"a note\n") and None)
    assert exit_code_of(["anything"]) == 0
    assert capfd.readouterr().err == "a note\n"
