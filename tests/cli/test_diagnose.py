"""`symgrad explain`, `symgrad nan` and `symgrad doctor` on files as users have them."""

import json

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from symgrad.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a cut and a pole, as model.meta with a checkpoint, and inputs, good and bad."""
    folder = tmp_path_factory.mktemp("models")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [1.0]], use_resource=False)
        tf.stop_gradient(tf.log(x, name="log") @ w, name="y")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, str(folder / "model"))
    np.save(folder / "zero.npy", np.array([[1.0, 0.0]], np.float32))
    np.save(folder / "one.npy", np.ones([3, 2], np.float32))
    np.save(folder / "wide.npy", np.ones([3, 3]))
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    (folder / "empty.npy").touch()
    return folder


def run(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


def test_explain(folder, capsys):
    code, out, _ = run(["explain", folder / "model.meta", "--ys", "y", "--xs", "w", "--xs", "log:0"], capsys)
    assert code == 0
    assert out.splitlines()[0].startswith("w:0: stop_gradient (StopGradient 'y')")
    assert out.splitlines()[1] == "    w > w/read > matmul > y"
    assert "log:0: stop_gradient" in out


def test_explain_json(folder, capsys):
    code, out, _ = run(["explain", folder / "model.meta", "--ys", "y", "--xs", "x", "--json"], capsys)
    (found,) = json.loads(out)
    assert code == 0
    assert (found["cause"], found["op"], found["path"]) == ("stop_gradient", "y", ["x", "log", "matmul", "y"])


def test_explain_of_a_gradient_that_arrives(folder, capsys):
    arguments = ["explain", folder / "model.meta", "--ys", "matmul", "--xs", "w"]
    assert run(arguments, capsys)[:2] == (0, "A gradient arrives at each x.\n")
    assert run([*arguments, "--json"], capsys)[:2] == (0, "[]\n")


def test_nan(folder, capsys):
    code, out, _ = run(["nan", folder / "model.meta", "--fetch", "y", "--feed", f"x={folder}/zero.npy"], capsys)
    assert code == 0
    assert out.startswith("y:0: finite values in, an infinity out (Log 'log'): 1 of 2 elements, -inf at [0, 1]; from 0")


def test_nan_json(folder, capsys):
    arguments = ["nan", folder / "model.meta", "--fetch", "y", "--json", "--feed"]
    code, out, _ = run([*arguments, f"x={folder}/zero.npy"], capsys)
    (found,) = json.loads(out)
    assert (code, found["cause"], found["op"], found["indices"]) == (0, "infinity", "log", [[0, 1]])
    assert run([*arguments, f"x={folder}/one.npy"], capsys)[:2] == (0, "[]\n")


def test_nan_of_a_finite_model(folder, capsys):
    arguments = ["nan", folder / "model.meta", "--fetch", "y", "--feed", f"x={folder}/one.npy"]
    assert run(arguments, capsys)[:2] == (0, "Everything that was fetched is finite.\n")


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["explain", "model.meta", "--ys", "nothing", "--xs", "w"], "'nothing' names nothing", 2),
        (["explain", "absent.pb", "--ys", "y", "--xs", "w"], "absent.pb", 1),
        (["nan", "model.meta", "--fetch", "y", "--feed", "x"], "NAME=FILE.npy", 2),
        (["nan", "model.meta", "--fetch", "y", "--feed", "x=absent.npy"], "absent.npy", 1),
        (["nan", "model.meta", "--fetch", "y", "--feed", "x=empty.npy"], "no .npy array", 2),
        (["nan", "model.meta", "--fetch", "y", "--feed", "x=wide.npy"], "'x:0' has shape (None, 2)", 1),
        (["nan", "model.meta", "--fetch", "y", "--feed", "x=words.npy"], "'x:0' is float32", 1),
        (["nan", "model.meta", "--fetch", "y"], "the placeholder 'x' has no value; give --feed x=FILE.npy", 1),
    ],
)
def test_an_error_is_one_line(folder, arguments, said, code, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    got, out, err = run(arguments, capsys)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert said in err


def test_doctor(capsys):
    code, out, _ = run(["doctor"], capsys)
    assert code == ("FIX " in out)
    assert f"TensorFlow: {tf.__version__}" in out
    assert "tf.contrib.opt.ScipyOptimizerInterface: symgrad.optimizers.ScipyOptimizer" in out
    code, out, _ = run(["doctor", "--json"], capsys)
    assert code == (not all(check["ok"] for check in json.loads(out)["checks"]))
