"""Help that fits, streams in and out, pipes that close, exit codes to ask for, interruptions."""

import io
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.cli import _app, _main, main

NAMES = [command.__name__ for command in _app.COMMANDS]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A GraphDef whose y has no derivative by x, and is infinite where x is 0."""
    path = tmp_path_factory.mktemp("models") / "model.pb"
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.cast(tf.argmax(1 / x, name="best"), tf.float32, name="y")
        tf.reciprocal(x, name="z")
        tf.reduce_sum(tf.placeholder(tf.float32, None, name="any") @ [[1.0]], name="unknown")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    np.save(path.with_name("x.npy"), np.float32([0, 1]))
    return path


@pytest.fixture
def run(capsysbinary, monkeypatch):
    """Exit code, standard output and standard error of a command, in this process."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return end.value.code or 0, out, err.decode()

    return run


@pytest.mark.parametrize("width", [60, 200])
@pytest.mark.parametrize("name", NAMES)
def test_help_fits_the_terminal_and_ends_with_an_example(name, width, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(name, "-h")
    said = out.decode()
    assert code == 0
    assert max(map(len, said.splitlines())) <= width
    assert f"Example: symgrad {name}" in said
    assert run(name, "--help")[1] == out
    assert "<list" not in said  # what to write there is a word for people


def test_the_short_options(run):
    assert run("-V")[1] == run("--version")[1]
    assert run("-h")[1] == run("--help")[1]


def test_a_terminal_gets_colours_unless_it_wants_none():
    """In a real terminal; without NO_COLOR the frame of the help is drawn with escape codes."""

    def shown(**environment):
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "symgrad", "--help"]
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
        with subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, env=environment) as process:
            os.close(slave)
            said = b""
            try:
                while part := os.read(master, 65536):
                    said += part
            except OSError:  # the other end is closed
                pass
        os.close(master)
        return process.returncode, said

    environment = os.environ.copy()
    environment.pop("NO_COLOR", None)
    code, colourful = shown()
    assert code == 0
    assert b"\x1b[" in colourful
    code, plain = shown(NO_COLOR="1")
    assert code == 0
    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]", plain)  # bold is no colour


def test_a_reader_that_goes_away_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-m", "symgrad", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_an_interruption_is_one_line_and_130(run, monkeypatch):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_main, "app", interrupted)
    assert run("anything") == (130, b"", "symgrad: interrupted\n")


def test_a_model_from_standard_input(stored, run):
    for arguments in (["inspect", "{}", "--json"], ["diff", stored, "{}"], ["render", "{}", "-o", "-"]):
        code, out, _ = run(*[a if a != "{}" else "-" for a in arguments], stdin=stored.read_bytes())
        assert code == 0
        want = run(*[a if a != "{}" else stored for a in arguments])[1]
        assert out.replace(b'"-"', b"MODEL") == want.replace(b'"%s"' % str(stored).encode(), b"MODEL")
    assert run("render", stored, "-o", "-")[1].startswith(b"<svg")
    assert run("diff", "-", "-", stdin=b"")[0] == 2


def test_a_jacobian_to_standard_output(stored, run):
    feed = f"x={stored.with_name('x.npy')}"
    code, out, err = run("jacobian", stored, "--ys", "z", "--xs", "x", "--feed", feed, "--out", "-")
    assert code == 0
    assert "float32, shape [2, 2]" in err
    assert np.load(io.BytesIO(out)).tolist() == [[-np.inf, 0], [0, -1]]


def test_exit_codes_are_asked_for(stored, run):
    feed = f"x={stored.with_name('x.npy')}"
    found = {
        "inspect": ["inspect", stored, "--lint"],
        "explain": ["explain", stored, "--ys", "y", "--xs", "x"],
        "nan": ["nan", stored, "--fetch", "z", "--feed", feed],
    }
    nothing = {
        "explain": ["explain", stored, "--ys", "z", "--xs", "x"],
        "nan": ["nan", stored, "--fetch", "x", "--feed", feed],
    }
    for name, arguments in found.items():
        asked = run(*arguments, "--json")[1].strip() not in (b"[]", b"{}")
        assert run(*arguments)[0] == 0
        if name != "inspect":
            assert asked
            assert run(*arguments, "--exit-code")[0] == 1
            assert run(*arguments, "--exit-code", "--json")[0] == 1
    for arguments in nothing.values():
        assert run(*arguments, "--exit-code")[0] == 0
    assert run("inspect", stored, "--exit-code")[0] == 2


def test_a_missing_feed_is_one_line_with_what_to_give(stored, run):
    code, out, err = run("jacobian", stored, "--ys", "z", "--xs", "x", "--out", stored.with_name("j.npy"))
    assert (code, out) == (1, b"")
    assert err == "symgrad: the placeholder 'x' has no value; give --feed x=FILE.npy\n"


def test_what_has_no_size_is_named(stored, run):
    err = run("render", stored, "-o", stored.with_suffix(".svg"), "--color", "cost")[2]
    assert re.search(r"^symgrad: the results? of .*'matmul'.* of unknown size, counted as 0", err)
