"""`symgrad diff` on files."""

import json

import pytest
import tensorflow.compat.v1 as tf

from symgrad.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, function in (("a", tf.sin), ("b", tf.cos)):
        with tf.Graph().as_default() as graph:
            function(tf.placeholder(tf.float32, [3], name="x"), name="y")
        (folder / f"{name}.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return folder / "a.pb", folder / "b.pb"


def run(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


def test_diff_json(files, capsys):
    code, out, _ = run(["diff", *files, "--json"], capsys)
    assert code == 0
    assert json.loads(out)["types"] == {"Sin": {"added": 0, "removed": 1}, "Cos": {"added": 1, "removed": 0}}


def test_diff_tables_and_exit_code(files, capsys):
    code, out, err = run(["diff", *files, "--exit-code"], capsys)
    assert (code, err) == (1, "")
    assert "1 added, 1 removed, 0 changed, 0 rewired, 1 ops the same" in out
    code, out, _ = run(["diff", files[0], files[0], "--exit-code"], capsys)
    assert code == 0
    assert "no difference: 2 ops" in out


def test_diff_of_a_missing_file(files, capsys):
    code, _, err = run(["diff", files[0], "nowhere.pb"], capsys)
    assert code == 1
    assert "nowhere.pb" in err
