"""`symgrad jacobian`: what it writes is the Jacobian; what cannot be is one line on standard error."""

import numpy as np
import pytest
import scipy.sparse
import tensorflow.compat.v1 as tf

from symgrad.cli import main

WEIGHTS = np.linspace(-1, 1, 12).reshape(3, 4)


@pytest.fixture
def model(tmp_path):
    """y = tanh(x w) in a MetaGraph with a checkpoint, and a point x."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 3], name="x")
        w = tf.get_variable("w", initializer=WEIGHTS, use_resource=True)
        tf.tanh(x @ w, name="y")
        session.run(w.initializer)
        tf.train.Saver().save(session, str(tmp_path / "model"))
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]]))
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as exit_:
        main([str(a) for a in arguments])
    return exit_.value.code or 0


@pytest.mark.parametrize("size", [[], ["--block-size", "3"]])
def test_by_an_input(model, size, capsys):
    out = model / "J.npy"
    feed = f"x={model / 'x.npy'}"
    assert run("jacobian", model / "model.meta", "--ys", "y", "--xs", "x", "--feed", feed, "--out", out, *size) == 0
    assert "shape [2, 4, 2, 3]" in capsys.readouterr().out
    x = np.load(model / "x.npy")
    slope = 1 - np.tanh(x @ WEIGHTS) ** 2  # dy[b, j] / dx[b, i] = w[i, j] (1 - y[b, j]^2)
    want = np.einsum("bj,ij,bc->bjci", slope, WEIGHTS, np.eye(2))
    np.testing.assert_allclose(np.load(out), want, rtol=1e-12, atol=1e-12)
    assert not list(model.glob("*.part"))


def test_by_a_variable(model):
    out = model / "J.npy"
    feed = f"x={model / 'x.npy'}"
    assert run("jacobian", model / "model.meta", "--ys", "y", "--xs", "w", "--feed", feed, "--out", out) == 0
    x = np.load(model / "x.npy")
    slope = 1 - np.tanh(x @ WEIGHTS) ** 2
    np.testing.assert_allclose(np.load(out), np.einsum("bj,bi,jk->bjik", slope, x, np.eye(4)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--ys": "nothing"}, "'nothing' names nothing in the model; its inputs are"),
        ({"--feed": "x"}, "wanted NAME=FILE.npy"),
        ({"--feed": "x=absent.npy"}, "absent.npy"),
        ({"--xs": "y", "--ys": "x"}, "depends on no x"),
    ],
)
def test_what_cannot_be_is_one_line(model, changed, message, capsys):
    options = {"--ys": "y", "--xs": "x", "--feed": f"x={model / 'x.npy'}", "--out": model / "J.npy", **changed}
    assert run("jacobian", model / "model.meta", *(word for pair in options.items() for word in pair)) != 0
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert message in error[0]
    assert not (model / "J.npy").exists()


def test_a_sparse_one(model, capsys):
    out = model / "J.npz"
    feed = f"x={model / 'x.npy'}"
    call = ["jacobian", model / "model.meta", "--ys", "y", "--xs", "x", "--feed", feed, "--out", out, "--sparse"]
    assert run(*call) == 0
    assert "24 entries of [8, 6], from 3 products" in " ".join(capsys.readouterr().out.split())
    x = np.load(model / "x.npy")
    slope = 1 - np.tanh(x @ WEIGHTS) ** 2
    want = np.einsum("bj,ij,bc->bjci", slope, WEIGHTS, np.eye(2)).reshape(8, 6)
    np.testing.assert_allclose(scipy.sparse.load_npz(out).toarray(), want, rtol=1e-12, atol=1e-12)
