"""`symgrad demo`: what a newcomer runs first."""

import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import symgrad
from symgrad.cli import main

ROOT = pathlib.Path(__file__).parent.parent.parent


def test_demo_trains_checks_and_draws(tmp_path):
    command = [sys.executable, "-m", "symgrad", "demo", "--out", str(tmp_path / "new" / "folder")]
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.stderr == "", "no progress bar and no notes when the output is no terminal"
    assert done.returncode == 0
    accuracy = float(re.search(r"It reads ([\d.]+)% of 360 other digits", done.stdout).group(1))
    assert accuracy > 90  # a tenth would be chance
    assert done.stdout.count("holds") == 4
    wrote = tmp_path / "new" / "folder"
    assert ET.parse(wrote / "gradient_graph.svg").getroot().tag.endswith("svg")
    assert (wrote / "gradient_graph.html").read_bytes().startswith(b"<!doctype html>")
    assert (wrote / "jacobian.png").read_bytes().startswith(b"\x89PNG")
    assert (wrote / "model.ckpt.meta").exists()


def test_a_wrong_derivative_fails_the_demo(tmp_path, monkeypatch, capsys):
    right = symgrad.operators.Rop
    monkeypatch.setattr(symgrad.operators, "Rop", lambda *arguments: 1.001 * right(*arguments))
    with pytest.raises(SystemExit) as end:
        main(["demo", "--out", str(tmp_path), "--steps", "1"])
    assert end.value.code == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("symgrad: these checks failed: <u, Rop(v)> = <Lop(u), v>; Rop(v) = central")
    # 0.1 % planted, 0.1 % found; only u^T J does without Rop
    found = [float(figure) for figure in re.findall(r"│ +(\d\.\de[-+]\d\d) +│", captured.out)]
    np.testing.assert_allclose(found[:3], 1e-3, rtol=0.06)
    assert captured.out.count("FAILS") == 3


def test_demo_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit) as end:
        main(["demo", "--out", str(tmp_path / "unused")])
    assert end.value.code == 1
    assert capsys.readouterr().err.endswith("install it by: pip install 'symgrad[demo]'\n")
    assert not (tmp_path / "unused").exists()
